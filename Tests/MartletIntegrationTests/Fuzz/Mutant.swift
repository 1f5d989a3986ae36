#if os(Linux)
  import Foundation
  import TestSupport

  /// A damaged response and its delivery; the same for the same seed and number.
  struct Mutant: Sendable {
    private static let maximumBytes = 256 << 10
    /// A response that belongs to no request.
    private static let foreign = DeliveryLine.named(
      Array("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforeign".utf8), -1)
    /// Bytes after a complete response, in the same segment.
    private static let strays = [
      Array("X".utf8), Array("\r\n".utf8), Array("HTTP/1.1 200 OK\r\nContent-Le".utf8), foreign,
    ]
    /// Bytes after a damaged response, which cannot complete it, whatever is missing.
    private static let garbage = [UInt8](repeating: 0x3F, count: 301)

    let method: String
    let script: DeliveryPlan
    let reader: DeliveryReader
    /// Whether another request is sent at the same time: to the same server, unless the response may end early.
    let hasNeighbor: Bool
    /// The original response if nothing was damaged.
    let whole: RecordedResponse?

    /// Damages one or two recorded responses in one to four ways.
    init(seed: UInt64, number: Int) {
      var generator = SeededGenerator(seed: seed &+ UInt64(number) &* 0xA24B_AED4_963E_E407)
      let (sample, other) = (Self.sample(&generator), Self.sample(&generator))
      var damage = Damage(
        DeliveryLine.named(sample.bytes, number), DeliveryLine.named(other.bytes, number), generator)
      // Some responses stay intact, because neither neighbors nor stray bytes may disturb a valid response.
      let mayHaveStray = Int.random(in: 0..<6, using: &generator) == 0
      let isWhole = Int.random(in: 0..<(mayHaveStray ? 2 : 20), using: &generator) == 0
      let count = isWhole ? 0 : Int.random(in: 1...4, using: &generator)
      whole = count == 0 ? sample : nil
      for _ in 0..<count where damage.bytes.count < Self.maximumBytes { damage.apply() }
      let bytes = Array(damage.bytes.prefix(Self.maximumBytes))
      let end: DeliveryPlan.End? =
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<8: .reset
        case 8..<16: nil
        case 16..<20: .keep
        default: .close
        }
      if mayHaveStray, bytes.count < 16 << 10 {
        let stray = isWhole ? Self.strays[Int.random(in: 0..<Self.strays.count, using: &generator)] : Self.garbage
        var script = DeliveryPlan(pieces: [bytes + stray], end: .keep)
          .followed(by: Self.foreign, after: .milliseconds(4))
        script.outlivesRequests = true
        self.script = script
      } else {
        var script = DeliveryPlan.random(bytes, end: end ?? .close, using: &generator)
        // The delivery pauses before it ends.
        if end == nil { script.rest(.milliseconds(60)) }
        self.script = script
      }
      hasNeighbor = Int.random(in: 0..<4, using: &generator) == 0
      let choice = Int.random(in: 0..<8, using: &generator)
      reader = choice < 4 ? DeliveryReader.allCases[choice] : .quick
      method =
        switch Int.random(in: 0..<20, using: &generator) {
        case 0: "HEAD"
        case 1, 2: "POST"
        default: "GET"
        }
    }

    /// Whether success is the only right result.
    var isRight: Bool {
      guard let whole else { return false }
      return script.end == .close || script.end == .keep && whole.isDelimited
    }

    /// Whether bytes may still arrive after the response has ended for the client.
    ///
    /// The client cannot distinguish the remaining bytes from the response to a request that it sends meanwhile.
    var mayEndEarly: Bool { !script.outlivesRequests && (!isRight || method == "HEAD") }

    /// Everything needed to replay the mutant by hand.
    var description: String { "\(method), read by \(reader): \(script.description)" }

    private static func sample(_ generator: inout SeededGenerator) -> RecordedResponse {
      let all = RecordedResponse.all
      // Sometimes chooses a response that exceeds a reader's buffer.
      let index = Int.random(in: 0..<all.count + 1, using: &generator)
      return index < all.count ? all[index] : RecordedResponse.large
    }

    /// Returns the bytes as a C or Swift literal, with runs of one byte abbreviated.
    static func escaped(_ bytes: [UInt8]) -> String {
      var text = ""
      var index = 0
      while index < bytes.count {
        let byte = bytes[index]
        let end = bytes[index...].firstIndex { $0 != byte } ?? bytes.count
        let one =
          switch byte {
          case 0x0A: "\\n"
          case 0x0D: "\\r"
          case 0x22: "\\\""
          case 0x5C: "\\\\"
          case 0x20..<0x7F: String(UnicodeScalar(byte))
          default: String(format: "\\x%02x", byte)
          }
        text += end - index > 8 ? "<\(one)*\(end - index)>" : String(repeating: one, count: end - index)
        index = end
      }
      return text
    }
  }

  /// The ways to damage bytes.
  private struct Damage {
    private static let numbers = [
      "0", "-1", "1", "00000000000000000005", "+5", "5 5", "0x5", "1e9", "ffffffff", "fffffffffffffffff", "2147483648",
      "4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551615",
      "1" + String(repeating: "0", count: 400),
      "", "999", "100", "101", "199", "099", "1000", "65536", "7fffffffffffffff",
    ]
    private static let lineEnds: [[UInt8]] = [
      [10], [13], [13, 13, 10], [10, 13], [13, 10, 32], [13, 10, 9], [0, 13, 10], [13, 10, 13, 10], [], [13, 0, 10],
    ]
    private static let fields = [
      "Content-Length: 3", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip", "Content-Encoding: gzip",
      "Content-Encoding: br, gzip, zstd", "Connection: close", "Connection: keep-alive", "Content-Length: 3, 3",
      "HTTP/1.1 101 Switching Protocols", "HTTP/1.1 100 Continue\r\n", "HTTP/2 200", "Upgrade: h2c", " folded",
      "Content-Encoding: identity", "Alt-Svc: h2=\":1\"", "Strict-Transport-Security: max-age=1",
    ]

    private(set) var bytes: [UInt8]
    private let other: [UInt8]
    private var generator: SeededGenerator

    init(_ bytes: [UInt8], _ other: [UInt8], _ generator: SeededGenerator) {
      self.bytes = bytes
      self.other = other
      self.generator = generator
    }

    mutating func apply() {
      guard !bytes.isEmpty else { return bytes = other }
      switch random(14) {
      case 0: bytes[random(bytes.count)] ^= UInt8(1 << random(8))
      case 1: bytes[random(bytes.count)] = element([0, 9, 10, 13, 32, 44, 45, 48, 58, 59, 102, 127, 128, 255])
      case 2: bytes.removeSubrange(range(8))
      case 3:
        let count = random(8) + 1
        bytes.insert(contentsOf: (0..<count).map { _ in UInt8(random(256)) }, at: random(bytes.count + 1))
      case 4: bytes.insert(contentsOf: bytes[range(64)], at: random(bytes.count + 1))
      case 5: bytes = Array(bytes[..<random(bytes.count + 1)]) + other[random(other.count + 1)...]
      case 6, 7: blowUpNumber()
      case 8: bytes.removeSubrange(random(bytes.count + 1)...)
      case 9, 10: replaceLineEnd()
      case 11: bytes.insert(contentsOf: [UInt8](repeating: 255, count: 1 << random(14)), at: random(bytes.count + 1))
      case 12: repeatLine()
      default: insertField()
      }
    }

    private mutating func random(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }

    private mutating func element<Element>(_ elements: [Element]) -> Element { elements[random(elements.count)] }

    private mutating func range(_ maximum: Int) -> Range<Int> {
      let start = random(bytes.count)
      return start..<min(bytes.count, start + random(maximum) + 1)
    }

    /// Replaces a run of digits, including hexadecimal ones, with a number that is hard to process.
    private mutating func blowUpNumber() {
      func isDigit(_ byte: UInt8) -> Bool { 48...57 ~= byte || 97...102 ~= byte }
      let start = random(bytes.count)
      guard let first = bytes[start...].firstIndex(where: { 48...57 ~= $0 }) else { return }
      let end = bytes[first...].firstIndex { !isDigit($0) } ?? bytes.count
      bytes.replaceSubrange(first..<end, with: Array(element(Self.numbers).utf8))
    }

    private var lineEnds: [Int] { bytes.indices.dropLast().filter { bytes[$0] == 13 && bytes[$0 + 1] == 10 } }

    private mutating func replaceLineEnd() {
      let places = lineEnds
      guard !places.isEmpty else { return }
      let place = element(places)
      bytes.replaceSubrange(place..<(place + 2), with: element(Self.lineEnds))
    }

    private mutating func repeatLine() {
      let places = lineEnds
      guard places.count > 1 else { return }
      let index = random(places.count - 1)
      let line = Array(bytes[(places[index] + 2)..<(places[index + 1] + 2)])
      let count = element([1, 1, 2, 20, 1500])
      var copies: [UInt8] = []
      for _ in 0..<count where copies.count < 100_000 { copies += line }
      bytes.insert(contentsOf: copies, at: element(places) + 2)
    }

    private mutating func insertField() {
      let places = lineEnds
      guard !places.isEmpty else { return }
      bytes.insert(contentsOf: Array((element(Self.fields) + "\r\n").utf8), at: element(places) + 2)
    }
  }
#endif
