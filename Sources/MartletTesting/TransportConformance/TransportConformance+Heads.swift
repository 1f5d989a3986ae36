import Foundation
import Martlet

extension TransportConformance {
  /// The status line and interim responses (RFC 9112 §4, RFC 9110 §15.2).
  static let headCases: [Case] = [
    .reads(
      "accepts an empty reason phrase", "ok", from: .raw("HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok"), status: .ok),
    .reads(
      "accepts a status line without the space before the reason phrase", "ok",
      from: .raw("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok"), status: .ok),
    Case("reports the reason phrase and version as received, or not at all") { bench in
      let response = try await bench.answer("HTTP/1.1 200 Just So\r\nContent-Length: 0\r\n\r\n")
      try bench.expect("the reason phrase", response.reasonPhrase ?? "Just So", is: "Just So")
      try bench.expect("the version", response.httpVersion?.description ?? "1.1", is: "1.1")
    },
    Case("delivers unregistered statuses") { bench in
      for status in [299, 399, 499, 599, 799] {
        let response = try await bench.answer("HTTP/1.1 \(status) Odd\r\nContent-Length: 3\r\n\r\nodd")
        try bench.expect("the status", response.status.rawValue, is: status)
        try bench.expect("the body of \(status)", response.text, is: "odd")
      }
    },
    .reads(
      "skips 100 Continue before the response", "ok",
      from: .raw("HTTP/1.1 100 Continue\r\n\r\n" + Bench.ok + "Content-Length: 2\r\n\r\nok"), status: .ok),
    Case("keeps the fields of 103 Early Hints out of the response") { bench in
      let response = try await bench.answer(
        "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n" + Bench.ok + "X-A: 1\r\nContent-Length: 2\r\n\r\nok")
      try bench.expect("the status", response.status, is: .ok)
      try bench.expect("Link", response.headers["Link"], is: nil)
      try bench.expect("X-A", response.headers["X-A"], is: "1")
      try bench.expect("the body", response.text, is: "ok")
    },
    Case("skips several interim responses") { bench in
      let response = try await bench.answer(
        .steps([
          .text("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nX-A: 0\r\n\r\n"), .delay(.milliseconds(20)),
          .text("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"), .delay(.milliseconds(20)),
          .text("HTTP/1.1 201 Created\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok"),
        ]))
      try bench.expect("the status", response.status, is: 201)
      try bench.expect("X-A", response.headers[all: "X-A"], is: ["1"])
      try bench.expect("the body", response.text, is: "ok")
    },
    Case("understands HTTP/1.0") { bench in
      let response = try await bench.answer("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold but gold")
      try bench.expect("the version", response.httpVersion?.description ?? "1.0", is: "1.0")
      try bench.expect("the body", response.text, is: "old but gold")
    },
  ]

  /// The header fields of a response (RFC 9110 §5, RFC 9112 §5).
  static let headerFieldCases: [Case] = [
    Case("keeps the case of header names") { bench in
      let response = try await answer(bench, "ETag: \"1\"\r\nx-lower: 1\r\nCONTENT-MD5: 1\r\nwEiRd: 1\r\n")
      let names = response.headers.map(\.name)
      for name in ["ETag", "x-lower", "CONTENT-MD5", "wEiRd"] {
        try bench.expect("the name \(name) as it was sent", names.contains(name), actual: "\(names)")
      }
    },
    Case("keeps the order of header fields") { bench in
      let response = try await answer(bench, "X-C: 1\r\nX-A: 2\r\nX-D: 3\r\nX-B: 4\r\n")
      let fields = response.headers.filter { $0.name.lowercased().hasPrefix("x-") }
      try bench.expect("the order of the values", fields.map(\.value), is: ["1", "2", "3", "4"])
    },
    Case("keeps repeated header fields apart and in order") { bench in
      let response = try await answer(bench, "X-A: 1, one\r\nX-B: 2\r\nx-a: 3\r\nX-A: 4\r\n")
      try bench.expect("the values of X-A", response.headers[all: "X-A"], is: ["1, one", "3", "4"])
    },
    Case("keeps Set-Cookie fields apart, with commas in their dates") { bench in
      let cookies = [
        "a=1; Expires=Wed, 21 Oct 2065 07:28:00 GMT; Path=/", "b=2; HttpOnly",
        "c=3; Expires=Thu, 22 Oct 2065 07:28:00 GMT",
      ]
      let response = try await answer(bench, cookies.map { "Set-Cookie: \($0)\r\n" }.joined())
      try bench.expect("the values of Set-Cookie", response.headers[all: "Set-Cookie"], is: cookies)
    },
    Case("trims blanks around header values") { bench in
      let response = try await answer(bench, "X-A:   one two \t \r\nX-B: \tthree\r\n")
      try bench.expect("X-A", response.headers["X-A"], is: "one two")
      try bench.expect("X-B", response.headers["X-B"], is: "three")
    },
    Case("accepts a header field without a space after the colon") { bench in
      let response = try await answer(bench, "X-A:one\r\n")
      try bench.expect("X-A", response.headers["X-A"], is: "one")
    },
    Case("keeps header fields with an empty value") { bench in
      let response = try await answer(bench, "X-A: \r\nX-B:\r\nX-C: 1\r\n")
      try bench.expect("X-A", response.headers["X-A"], is: "")
      try bench.expect("X-B", response.headers["X-B"], is: "")
      try bench.expect("X-C", response.headers["X-C"], is: "1")
    },
    Case("keeps header fields whose value contains only blanks") { bench in
      let response = try await answer(bench, "X-A:  \r\nX-B: \t \r\n")
      try bench.expect("X-A", response.headers["X-A"], is: "")
      try bench.expect("X-B", response.headers["X-B"], is: "")
    },
    Case("reads header bytes that are not UTF-8 as Latin-1") { bench in
      let head = Data("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: caf".utf8) + [0xE9] + Data("\r\n\r\nok".utf8)
      let response = try await bench.answer(.steps([.bytes(head), .cut]))
      try bench.expect("X-A", response.headers["X-A"], is: "caf\u{E9}")
      try bench.expect("the body", response.text, is: "ok")
    },
    Case("survives cookies with non-ASCII names") { bench in
      let response = try await answer(bench, "Set-Cookie: 😀😀=a\r\nSet-Cookie: e\u{301}=b; 😀\r\n")
      try bench.expect("the body", response.text, is: "ok")
    },
  ]

  /// Requests a 200 response with some header fields, written out with their line ends.
  private static func answer(_ bench: ConformanceBench, _ fields: String) async throws -> HTTPResponse {
    try await bench.answer(Bench.ok + fields + "Content-Length: 2\r\n\r\nok")
  }
}
