import Foundation
import Martlet

extension TransportConformance {
  private typealias Bench = ConformanceBench

  /// Connections that cannot be made.
  static let connectFailureCases: [Case] = [
    Case("reports a refused connection") { bench in
      let port = try MockServer.refusedPort()
      let outcome = try await bench.outcome(of: .get(RequestTarget("http://127.0.0.1:\(port)/")))
      try bench.expectError([.cannotConnect], in: outcome)
    },
    Case("reports an unknown host") { bench in
      // RFC 6761 §6.4: no name under .invalid exists.
      let outcome = try await bench.outcome(of: .get("http://nonexistent.invalid/"))
      try bench.expectError([.cannotConnect], in: outcome)
    },
  ]

  /// Connections that end too early (RFC 9112 §8).
  static let cutCases: [Case] = [
    Case("reports a reset before the head") { bench in
      try await bench.expect(.connectionLost, from: .steps([.reset]))
    },
    Case("reports a reset in the head") { bench in
      try await bench.expect(
        .connectionLost, from: .steps([.text(Bench.ok + "X-A: 1\r\n"), .delay(.milliseconds(50)), .reset]))
    },
    Case("reports a reset in the body") { bench in
      try await bench.expect(
        .connectionLost,
        from: .steps([.text(Bench.ok + "Content-Length: 10\r\n\r\nhello"), .delay(.milliseconds(50)), .reset]))
    },
    Case("reports a connection that ends at once") { bench in
      try await bench.expect(.connectionLost, from: .steps([.cut]))
    },
    Case("reports a connection that ends in the status line") { bench in
      for text in ["HTTP", "HTTP/1.1 2", "HTTP/1.1 200 OK"] {
        // An incomplete line, which is not HTTP either.
        try await bench.expect(.connectionLost, .protocolViolation, from: .raw(text))
      }
    },
    Case("reports a connection that ends in the head") { bench in
      for text in ["\r\n", "\r\nContent-Type: text/pl", "\r\nContent-Type: text/plain\r\n"] {
        try await bench.expect(.connectionLost, from: .raw("HTTP/1.1 200 OK" + text))
      }
    },
    Case("reports a connection that ends in the head after an interim response") { bench in
      try await bench.expect(
        .connectionLost, from: .raw("HTTP/1.1 100 Continue\r\n\r\n" + Bench.ok + "Content-Type: text/plain\r\n"))
    },
    Case("reports a connection that ends after an interim response") { bench in
      try await bench.expect(.connectionLost, from: .raw("HTTP/1.1 100 Continue\r\n\r\n"))
    },
    Case("reports a connection that ends between head and body") { bench in
      try await bench.expect(.connectionLost, from: .raw(Bench.ok + "Content-Length: 10\r\n\r\n"))
    },
    Case("reports a body that is shorter than its length") { bench in
      try await bench.expect(.connectionLost, from: .raw(Bench.ok + "Content-Length: 10\r\n\r\nhello"))
    },
    Case("reports a chunked body that ends in the line of a size") { bench in
      try await bench.expect(.connectionLost, from: .raw(chunked + "5\r\nhello\r\n5"))
    },
    Case("reports a chunked body that ends in a chunk") { bench in
      try await bench.expect(.connectionLost, from: .raw(chunked + "5\r\nhel"))
    },
    Case("reports a chunked body without the last chunk") { bench in
      try await bench.expect(.connectionLost, from: .raw(chunked + "5\r\nhello\r\n"))
    },
  ]

  /// Responses that are not HTTP or contradict themselves (RFC 9112 §2.2, §6.3, §7.1).
  static let framingCases: [Case] = [
    Case("refuses what is not HTTP") { bench in
      for text in ["SSH-2.0-OpenSSH_9.2\r\n", "garbage\r\n\r\n", "<html></html>\r\n", "\u{1}\u{2}\u{3}\u{4}\r\n\r\n"] {
        try await bench.expect(.protocolViolation, from: .raw(text))
      }
    },
    Case("refuses a status line without a status") { bench in
      for line in ["HTTP/1.1 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1 20 OK", "HTTP/9.9 200 OK"] {
        try await bench.expect(.protocolViolation, from: .raw(line + "\r\nContent-Length: 2\r\n\r\nok"))
      }
    },
    Case("refuses chunk sizes that are not hexadecimal numbers") { bench in
      for size in ["xyz", "-5", "", "fffffffffffffffff"] {
        try await bench.expect(.protocolViolation, from: .raw(chunked + "\(size)\r\nhello\r\n0\r\n\r\n"))
      }
    },
    Case("refuses a chunk that is longer than its size") { bench in
      try await bench.expect(.protocolViolation, from: .raw(chunked + "3\r\nhello\r\n0\r\n\r\n"))
    },
    Case("does not trust a negative Content-Length") { bench in
      try await expectDistrust(bench, of: "-1")
    },
    Case("does not trust a Content-Length that is no number") { bench in
      for value in ["five", "5x", "0x5", "5.0"] { try await expectDistrust(bench, of: value) }
    },
    Case("does not trust a Content-Length of 2⁶³ − 1") { bench in
      try await expectDistrust(bench, of: "9223372036854775807")
    },
    Case("does not trust a Content-Length of 2⁶⁴") { bench in
      try await expectDistrust(bench, of: "18446744073709551616")
    },
    Case("does not trust a Content-Length of 10⁴⁰") { bench in
      try await expectDistrust(bench, of: "1" + String(repeating: "0", count: 40))
    },
    Case("refuses two different values of Content-Length") { bench in
      try await bench.expect(
        .protocolViolation, .connectionLost,
        from: .raw(Bench.ok + "Content-Length: 5\r\nContent-Length: 7\r\n\r\nhello, world"))
    },
    Case("does not trust Content-Length beside Transfer-Encoding") { bench in
      let text = Bench.ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
      try await bench.expectErrorOrBody(of: Data("hello".utf8), whole: true, from: .raw(text))
    },
  ]

  /// Endless responses (RFC 9110 §5.4).
  static let limitCases: [Case] = [
    Case("refuses a header field of 1 MiB") { bench in
      let field = MockResponse.Step.repeating(Data(repeating: UInt8(ascii: "a"), count: 1 << 10), count: 1 << 10)
      try await bench.expect(
        .protocolViolation, .connectionLost, from: .steps([.text(Bench.ok + "X-A: "), field, .text("\r\n\r\n"), .cut]))
    },
    Case("refuses 100 000 header fields") { bench in
      let fields = MockResponse.Step.repeating(Data("X-A: b\r\n".utf8), count: 100_000)
      try await bench.expect(
        .protocolViolation, .connectionLost, from: .steps([.text(Bench.ok), fields, .text("\r\n"), .cut]))
    },
  ]

  private static let chunked = Bench.ok + "Transfer-Encoding: chunked\r\n\r\n"

  private static func expectDistrust(_ bench: ConformanceBench, of length: String) async throws {
    let text = Bench.ok + "Content-Length: \(length)\r\n\r\nhello"
    try await bench.expectErrorOrBody(of: Data("hello".utf8), from: .raw(text))
  }
}
