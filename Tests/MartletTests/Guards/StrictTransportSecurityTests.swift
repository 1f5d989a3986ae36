import TestSupport
import Testing

@testable import Martlet

@Suite struct StrictTransportSecurityTests {
  struct Case: Sendable, CustomStringConvertible {
    let value: String
    let policy: StrictTransportSecurity?

    var description: String { value }

    init(_ value: String, _ maxAge: Int64?, _ includesSubdomains: Bool = false) {
      self.value = value
      policy = maxAge.map { StrictTransportSecurity(maxAge: $0, includesSubdomains: includesSubdomains) }
    }
  }

  static let longest = StrictTransportSecurity.maximumAge

  @Test(arguments: [
    // RFC 6797 §6.2
    Case("max-age=31536000", 31_536_000),
    Case("max-age=15768000 ; includeSubDomains", 15_768_000, true),
    Case("max-age=\"31536000\"", 31_536_000),
    Case("max-age=0", 0),
    Case("max-age=0; includeSubDomains", 0, true),
    // §6.1: directives in any order and case; unknown and empty directives are ignored.
    Case("includeSubDomains; max-age=1", 1, true),
    Case("INCLUDESUBDOMAINS;MAX-AGE=1", 1, true),
    Case("max-age=1; preload", 1),
    Case("max-age=1; new=value; other=\"a;b\"", 1),
    Case(";; max-age=1 ;; includeSubDomains;", 1, true),
    Case("max-age = 1", 1),
    Case("\tmax-age=\"1\"\t", 1),
    Case("max-age=\"\\1\"", 1),
    Case("max-age=007", 7),
    // Larger values are clamped to the maximum.
    Case("max-age=315360001", longest),
    Case("max-age=9223372036854775807", longest),
    Case("max-age=18446744073709551616", longest),
    Case("max-age=99999999999999999999999999999999999999999", longest),
    // A single mistake invalidates the whole field.
    Case("", nil),
    Case(";", nil),
    Case("includeSubDomains", nil),
    Case("max-age", nil),
    Case("max-age=", nil),
    Case("max-age=\"\"", nil),
    Case("max-age=-1", nil),
    Case("max-age=+1", nil),
    Case("max-age=1.5", nil),
    Case("max-age=1s", nil),
    Case("max-age=0x10", nil),
    Case("max-age=١", nil),
    Case("max-age=1 2", nil),
    Case("max-age=\"1", nil),
    Case("max-age=\"1\"2", nil),
    Case("max-age=1, max-age=2", nil),
    Case("max-age=1; max-age=1", nil),
    Case("max-age=1; MAX-AGE=2", nil),
    Case("max-age=1; includeSubDomains; includesubdomains", nil),
    Case("max-age=1; a=1; a=2", nil),
    Case("max-age=1; includeSubDomains=1", nil),
    Case("max-age=1; includeSubDomains=\"\"", nil),
    Case("max-age=1; a b", nil),
    Case("max-age=1; =b", nil),
    Case("max-age=1; a=b c", nil),
    Case("max-age=1; a=\"b", nil),
    Case("max-age=1 includeSubDomains", nil),
    Case("max age=1", nil),
  ])
  func `reads a valid value, and ignores a malformed one entirely`(_ line: Case) {
    #expect(StrictTransportSecurity(line.value) == line.policy)
  }

  @Test func `reads random text without crashing`() {
    var generator = SeededGenerator(seed: 6797)
    let alphabet = Array("max-age=includeSubDomains;\" \t\\,019\u{e9}\u{0}".unicodeScalars)
    var read = 0
    for _ in 0..<5_000 {
      var text = Bool.random(using: &generator) ? "max-age=1;" : ""
      for _ in 0..<Int.random(in: 0..<30, using: &generator) {
        if let scalar = alphabet.randomElement(using: &generator) { text.unicodeScalars.append(scalar) }
      }
      if let policy = StrictTransportSecurity(text) {
        read += 1
        #expect(policy.maxAge >= 0 && policy.maxAge <= Self.longest)
      }
    }

    #expect(read > 0)
  }
}
