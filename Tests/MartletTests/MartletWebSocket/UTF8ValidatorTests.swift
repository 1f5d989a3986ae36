import MartletBase
import TestSupport
import Testing

@testable import MartletWebSocket

@Suite struct UTF8ValidatorTests {
  /// The number of octets that are accepted one at a time.
  private static func acceptedCount(_ octets: Data) -> Int {
    var validator = UTF8Validator()
    for (count, octet) in octets.enumerated() {
      guard withUnsafeBytes(of: octet, { validator.append($0) }) else { return count }
    }
    return octets.count
  }

  private static func isValid(_ octets: Data) -> Bool {
    var validator = UTF8Validator()
    return octets.withUnsafeBytes { validator.append($0) } && validator.isComplete
  }

  @Test(arguments: [
    "00", "7f", "c280", "dfbf", "e0a080", "ed9fbf", "ee8080", "efbfbf", "f0908080", "f48fbfbf", "efbfbe",
    "cebae1bdb9cf83cebcceb5", "48656c6c6f2dc2b540c39fc3b6c3a4c3bcc3a0c3a12d5554462d382121",
  ])
  func `accepts valid text`(_ text: String) {
    for prefix in 0...40 {
      let octets = Data(repeating: 0x61, count: prefix) + hex(text) + Data(repeating: 0x62, count: prefix / 2)
      #expect(Self.isValid(octets))
      #expect(Self.acceptedCount(octets) == octets.count)
    }
  }

  @Test(arguments: [
    ("80", 0), ("bf", 0), ("c080", 0), ("c1bf", 0), ("c220", 1), ("e09f80", 1), ("e08080", 1), ("eda080", 1),
    ("edbfbf", 1), ("e1a020", 2), ("f08f8080", 1), ("f4908080", 1), ("f0902080", 2), ("f0908020", 3),
    ("f5808080", 0), ("f888808080", 0), ("fc8480808080", 0), ("fe", 0), ("ff", 0), ("cebae1bdb9cf83cebcceb5eda080", 12),
  ])
  func `rejects the first impossible octet`(_ text: String, _ accepted: Int) {
    for prefix in 0...40 {
      let octets = Data(repeating: 0x61, count: prefix) + hex(text)
      #expect(!Self.isValid(octets + Data(repeating: 0x62, count: 40)))
      #expect(Self.acceptedCount(octets) == prefix + accepted)
    }
  }

  @Test(arguments: ["c2", "e0a0", "ef", "f0", "f090", "f09080"])
  func `reports incomplete text`(_ text: String) {
    var validator = UTF8Validator()
    #expect(hex("6161" + text).withUnsafeBytes { validator.append($0) })
    #expect(!validator.isComplete)
    #expect(validator.partial == hex(text).count)
  }

  @Test func `decides like the standard library`() {
    var generator = SeededGenerator(seed: 5)
    let octets: [UInt8] = [0x20, 0x7F, 0x80, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF4, 0xF5]
    for _ in 0..<20_000 {
      let count = Int.random(in: 0..<12, using: &generator)
      let text = Data((0..<count).compactMap { _ in octets.randomElement(using: &generator) })
      #expect(Self.isValid(text) == (String(validating: text, as: UTF8.self) != nil))
    }
  }
}
