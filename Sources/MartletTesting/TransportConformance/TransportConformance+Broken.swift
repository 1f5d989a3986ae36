import Foundation
import Martlet

extension TransportConformance {
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
    .fails("reports a reset before the head", .connectionLost, from: [.steps([.reset])]),
    .fails(
      "reports a reset in the head", .connectionLost,
      from: [.steps([.text(Bench.ok + "X-A: 1\r\n"), .delay(.milliseconds(50)), .reset])]),
    .fails(
      "reports a reset in the body", .connectionLost,
      from: [.steps([.text(Bench.ok + "Content-Length: 10\r\n\r\nhello"), .delay(.milliseconds(50)), .reset])]),
    .fails("reports a connection that ends at once", .connectionLost, from: [.steps([.cut])]),
    // An incomplete status line is not HTTP either, so both errors are allowed.
    .fails(
      "reports a connection that ends in the status line", .connectionLost, .protocolViolation,
      from: [.raw("HTTP"), .raw("HTTP/1.1 2"), .raw("HTTP/1.1 200 OK")]),
    .fails(
      "reports a connection that ends in the head", .connectionLost,
      from: ["\r\n", "\r\nContent-Type: text/pl", "\r\nContent-Type: text/plain\r\n"].map {
        .raw("HTTP/1.1 200 OK" + $0)
      }),
    .fails(
      "reports a connection that ends in the head after an interim response", .connectionLost,
      from: [.raw("HTTP/1.1 100 Continue\r\n\r\n" + Bench.ok + "Content-Type: text/plain\r\n")]),
    .fails(
      "reports a connection that ends after an interim response", .connectionLost,
      from: [.raw("HTTP/1.1 100 Continue\r\n\r\n")]),
    .fails(
      "reports a connection that ends between head and body", .connectionLost,
      from: [.raw(Bench.ok + "Content-Length: 10\r\n\r\n")]),
    .fails(
      "reports a body that is shorter than its length", .connectionLost,
      from: [.raw(Bench.ok + "Content-Length: 10\r\n\r\nhello")]),
    .fails(
      "reports a chunked body that ends in a size line", .connectionLost,
      from: [.raw(chunked + "5\r\nhello\r\n5")]),
    .fails("reports a chunked body that ends in a chunk", .connectionLost, from: [.raw(chunked + "5\r\nhel")]),
    .fails("reports a chunked body without the last chunk", .connectionLost, from: [.raw(chunked + "5\r\nhello\r\n")]),
  ]

  /// Responses that are not HTTP or contradict themselves (RFC 9112 §2.2, §6.3, §7.1).
  static let framingCases: [Case] = [
    .fails(
      "refuses a non-HTTP response", .protocolViolation,
      from: [
        .raw("SSH-2.0-OpenSSH_9.2\r\n"), .raw("garbage\r\n\r\n"), .raw("<html></html>\r\n"),
        .raw("\u{1}\u{2}\u{3}\u{4}\r\n\r\n"),
      ]),
    .fails(
      "refuses a status line without a status", .protocolViolation,
      from: ["HTTP/1.1 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1 20 OK", "HTTP/9.9 200 OK"].map {
        .raw($0 + "\r\nContent-Length: 2\r\n\r\nok")
      }),
    .fails(
      "refuses chunk sizes that are not hexadecimal numbers", .protocolViolation,
      from: ["xyz", "-5", "", "fffffffffffffffff"].map { .raw(chunked + "\($0)\r\nhello\r\n0\r\n\r\n") }),
    .fails(
      "refuses a chunk that is longer than its size", .protocolViolation,
      from: [.raw(chunked + "3\r\nhello\r\n0\r\n\r\n")]),
    Case("does not trust a negative Content-Length") { bench in
      try await expectDistrust(bench, of: "-1")
    },
    Case("does not trust a Content-Length that is not a number") { bench in
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
    .fails(
      "refuses two different values of Content-Length", .protocolViolation, .connectionLost,
      from: [.raw(Bench.ok + "Content-Length: 5\r\nContent-Length: 7\r\n\r\nhello, world")]),
    Case("does not trust Content-Length together with Transfer-Encoding") { bench in
      let text = Bench.ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
      try await bench.expectErrorOrBody(of: Data("hello".utf8), whole: true, from: .raw(text))
    },
  ]

  /// Endless responses (RFC 9110 §5.4).
  static let limitCases: [Case] = [
    .fails(
      "refuses a header field of 1 MiB", .protocolViolation, .connectionLost,
      from: [
        .steps([
          .text(Bench.ok + "X-A: "), .repeating(Data(repeating: UInt8(ascii: "a"), count: 1 << 10), count: 1 << 10),
          .text("\r\n\r\n"), .cut,
        ])
      ]),
    .fails(
      "refuses 100,000 header fields", .protocolViolation, .connectionLost,
      from: [
        .steps([.text(Bench.ok), .repeating(Data("X-A: b\r\n".utf8), count: 100_000), .text("\r\n"), .cut])
      ]),
  ]

  private static let chunked = Bench.ok + "Transfer-Encoding: chunked\r\n\r\n"

  private static func expectDistrust(_ bench: ConformanceBench, of length: String) async throws {
    let text = Bench.ok + "Content-Length: \(length)\r\n\r\nhello"
    try await bench.expectErrorOrBody(of: Data("hello".utf8), from: .raw(text))
  }
}
