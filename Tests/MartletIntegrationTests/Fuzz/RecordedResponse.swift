#if os(Linux)
  import Foundation

  @testable import Martlet

  /// A valid response as a server writes it, from which mutants are made.
  struct RecordedResponse: Sendable {
    let name: String
    private(set) var bytes: [UInt8]
    let status: Int
    let body: String
    /// Whether the response marks its own end, so a truncated one cannot pass as complete.
    var isDelimited = true
    let isCoded: Bool

    init(_ name: String, _ head: [String], _ status: Int = 200, body: String, sent: Data? = nil, chunked: Bool = false)
    {
      self.name = name
      self.status = status
      self.body = body
      isCoded = head.contains { $0.hasPrefix("Content-Encoding") }
      var bytes = Array((head + ["", ""]).joined(separator: "\r\n").utf8)
      let sent = sent ?? Data(body.utf8)
      bytes += chunked ? Self.chunks(sent) : Array(sent)
      self.bytes = bytes
    }

    /// One response of each kind that the engine parses.
    static let all: [RecordedResponse] = plain + chunked + odd + coded

    /// A few hundred bytes that decompress to 600,000, in chunks with trailers.
    static let large: RecordedResponse = {
      let body = String(repeating: "0123456789", count: 60_000)
      let coded = (try? Compressor.compress(Data(body.utf8), .gzip)) ?? Data()
      let head = [ok, "Content-Encoding: gzip", "Transfer-Encoding: chunked"]
      var large = RecordedResponse("large", head, body: body, sent: coded, chunked: true)
      large.bytes = large.bytes.dropLast(2) + Array("X-One: 1\r\nX-Two: 2\r\n\r\n".utf8)
      return large
    }()

    private static let ok = "HTTP/1.1 200 OK"

    private static let plain: [RecordedResponse] = [
      RecordedResponse(
        "length", [ok, "Date: Sat, 21 Nov 2026 12:00:00 GMT", "Content-Type: text/plain", "Content-Length: 12"],
        body: "hello, world"),
      RecordedResponse("no bytes", [ok, "Content-Length: 0"], body: ""),
      RecordedResponse("204", ["HTTP/1.1 204 No Content", "ETag: \"a\""], 204, body: ""),
      RecordedResponse(
        "304", ["HTTP/1.1 304 Not Modified", "ETag: W/\"a\"", "Content-Length: 500", "Vary: Accept"], 304, body: ""),
      RecordedResponse(
        "redirect", ["HTTP/1.1 302 Found", "Location: /1?a=b#c", "Content-Length: 4"], 302, body: "gone"),
      RecordedResponse(
        "range", ["HTTP/1.1 206 Partial Content", "Content-Range: bytes 2-5/10", "Content-Length: 4"], 206, body: "2345"
      ),
      RecordedResponse(
        "challenges",
        [
          "HTTP/1.1 401 Unauthorized", "WWW-Authenticate: Basic realm=\"a \\\"b\\\"\", charset=\"UTF-8\"",
          "WWW-Authenticate: Digest realm=\"x\", qop=\"auth, auth-int\", nonce=\"abc==\", algorithm=SHA-256",
          "WWW-Authenticate: Negotiate", "Content-Length: 2",
        ], 401, body: "no"),
      RecordedResponse(
        "cookies",
        [
          ok, "Set-Cookie: a=b; Path=/; Max-Age=3600; HttpOnly", "Set-Cookie: c=\"d e\"; Expires=Sat, 21 Nov 2026",
          "set-cookie: é=1; Domain=.example.test; SameSite=None; Secure", "Content-Length: 1",
        ], body: "x"),
      RecordedResponse("503", ["HTTP/1.1 503 Wait", "Retry-After: 120", "Content-Length: 4"], 503, body: "busy"),
    ]

    private static let chunked: [RecordedResponse] = [
      RecordedResponse("chunks", [ok, "Transfer-Encoding: chunked"], body: "hello, chunked world", chunked: true),
      RecordedResponse(
        "chunk extensions and trailers",
        [ok, "Trailer: X-Sum", "Transfer-Encoding: chunked", "", "5;a=b;c=\"d e\"", "hello", "0;last"]
          + ["X-Sum: 5", "X-More: a b"], body: "hello", sent: Data()),
      RecordedResponse(
        "large chunk sizes", [ok, "Transfer-Encoding: chunked"],
        body: String(repeating: "0123456789abcdef", count: 600),
        chunked: true),
    ]

    private static let odd: [RecordedResponse] = [
      RecordedResponse(
        "interim",
        [
          "HTTP/1.1 100 Continue", "", "HTTP/1.1 103 Early Hints", "Link: </a.css>; rel=preload", "", ok,
          "Content-Length: 5",
        ], body: "after"),
      RecordedResponse("folded", [ok, "X-A: one", "\ttwo", "   three", "Content-Length: 6"], body: "folded"),
      RecordedResponse("HTTP/1.0", ["HTTP/1.0 200 OK", "Content-Type: text/html"], body: "to the end").open,
      RecordedResponse("no length", [ok, "Connection: close"], body: "as far as it goes").open,
      RecordedResponse(
        "long fields",
        [ok] + (0..<30).map { "X-\($0): " + String(repeating: "v\($0)", count: 200) } + ["Content-Length: 1"], body: "x"
      ),
      RecordedResponse(
        "many fields", [ok] + (0..<300).map { "N\($0):\($0)" } + ["Content-Length: 3"], body: "yes"),
      RecordedResponse("spelling", ["HTTP/1.1 299 ", "content-LENGTH:3 ", "A:", "keep-alive: x"], 299, body: "abc"),
      RecordedResponse("Latin-1 and UTF-8", [ok, "X-A: caf\u{e9} \u{1F600}", "Content-Length: 2"], body: "é"),
    ]

    private static let coded: [RecordedResponse] = CodedBodies.usable.flatMap { coded in
      [
        RecordedResponse(
          coded.name, [ok, "Content-Encoding: \(coded.name)", "Content-Length: \(coded.body.count)"],
          body: CodedBodies.text, sent: coded.body),
        RecordedResponse(
          "\(coded.name) in chunks", [ok, "Transfer-Encoding: chunked", "Content-Encoding: \(coded.name)"],
          body: CodedBodies.text, sent: coded.body, chunked: true),
        RecordedResponse(
          "\(coded.name) to the end", [ok, "Content-Encoding: \(coded.name)"],
          body: CodedBodies.text, sent: coded.body
        ).open,
      ]
    }

    private var open: RecordedResponse {
      var copy = self
      copy.isDelimited = false
      return copy
    }

    private static func chunks(_ data: Data) -> [UInt8] {
      var bytes: [UInt8] = []
      var rest = data[...]
      var size = 7
      while !rest.isEmpty {
        let piece = rest.prefix(size)
        rest = rest.dropFirst(size)
        bytes += Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [13, 10]
        size *= 6
      }
      return bytes + Array("0\r\n\r\n".utf8)
    }
  }
#endif
