#if os(Linux)
  import Testing

  @testable import CurlEngine
  @testable import MartletBase
  @testable import Martlet

  /// Which response heads are accepted, whatever the library below lets through.
  @Suite struct ResponseHeadReaderTests {
    typealias Problem = ResponseHeadReader.Problem

    /// Reads lines up to the final head.
    private static func read(_ lines: [String]) throws(Problem) -> ResponseHeadReader.Head? {
      var reader = ResponseHeadReader()
      var head: ResponseHeadReader.Head?
      for line in lines { if case .final(let found) = try read(line, &reader) { head = found } }
      return head
    }

    private static func read(
      _ line: String, _ reader: inout ResponseHeadReader, at now: Int64 = 0
    ) throws(Problem) -> ResponseHeadReader.Step {
      let result: Result<ResponseHeadReader.Step, Problem> = Array((line + "\r\n").utf8).withUnsafeBufferPointer {
        bytes in
        do throws(Problem) { return .success(try reader.read(bytes, at: now)) } catch { return .failure(error) }
      }
      return try result.get()
    }

    private static func expectProblem(
      _ words: String, _ lines: [String], _ location: SourceLocation = #_sourceLocation
    ) {
      let problem = #expect(throws: Problem.self, sourceLocation: location) { try read(lines) }
      #expect(problem?.message.contains(words) == true, "\(problem?.message ?? "none")", sourceLocation: location)
    }

    private static func bodyLength(_ fields: String...) throws(Problem) -> Int64? {
      try read(["HTTP/1.1 200 OK"] + fields + [""])?.bodyLength()
    }

    @Test(arguments: [
      (fields: ["Content-Length: 7"], isHTTP1: true, end: TransferStateMachine.BodyEnd.length(7)),
      (["Content-Length: 7"], false, .length(7)), (["Transfer-Encoding: chunked"], true, .chunks),
      (["Transfer-Encoding: chunked", "Content-Length: 7"], true, .chunks),
      (["Transfer-Encoding: chunked"], false, .stream), ([], true, .connection), ([], false, .stream),
    ])
    func `derives the end of the body from the head`(
      _ row: (fields: [String], isHTTP1: Bool, end: TransferStateMachine.BodyEnd)
    ) throws {
      let head = try #require(try Self.read(["HTTP/1.1 200 OK"] + row.fields + [""]))

      #expect(try head.bodyEnd(isHTTP1: row.isHTTP1) == row.end)
    }

    // MARK: Limits

    @Test func `accepts up to 1000 fields including trailers`() throws {
      let fields = Array(repeating: "A: b", count: 999)

      #expect(try Self.read(["HTTP/1.1 200 OK"] + fields + ["A: b", ""])?.fields.count == 1000)
      #expect(try Self.read(["HTTP/1.1 200 OK"] + fields + ["", "A: b", ""])?.fields.count == 999)
      Self.expectProblem("more than 1000", ["HTTP/1.1 200 OK"] + fields + ["A: b", "A: b"])
      Self.expectProblem("more than 1000", ["HTTP/1.1 200 OK"] + fields + ["", "A: b", "A: b"])
      // Fields of interim responses and folded lines count too.
      Self.expectProblem("more than 1000", ["HTTP/1.1 103 Early"] + fields + ["", "HTTP/1.1 200 OK", "A: b", " b"])
    }

    @Test func `accepts heads and trailers of up to 256 KiB`() throws {
      let line = "A: " + String(repeating: "b", count: 1019)
      let fields = Array(repeating: line, count: 255)
      let rest = 1024 - "HTTP/1.1 200 OK\r\n\r\n".utf8.count - "A: \r\n".utf8.count
      let last = "A: " + String(repeating: "b", count: rest)

      #expect(try Self.read(["HTTP/1.1 200 OK"] + fields + [last, ""])?.fields.count == 256)
      Self.expectProblem("more than 262144 bytes", ["HTTP/1.1 200 OK"] + fields + [last + "b", ""])
      Self.expectProblem(
        "more than 262144 bytes", ["HTTP/1.1 200 OK", "A: " + String(repeating: "b", count: 256 << 10)])
      Self.expectProblem("more than 262144 bytes", ["HTTP/1.1 200 OK", ""] + fields + [line])
    }

    @Test func `counts interim responses as header fields, and rejects a 101`() throws {
      let interim = Array(repeating: ["HTTP/1.1 103 Early", ""], count: 1000).flatMap { $0 }

      #expect(try Self.read(interim + ["HTTP/1.1 200 OK", ""])?.status == 200)
      Self.expectProblem("more than 1000", interim + ["HTTP/1.1 100 Continue", ""])
      Self.expectProblem("more than 1000", interim + ["HTTP/1.1 200 OK", "A: b"])
      Self.expectProblem("protocol that was not requested", ["HTTP/1.1 101 Switching Protocols", ""])
    }

    /// A number of equal interim responses with a pause in milliseconds between them.
    struct Interim {
      var count: Int
      var pause: Int64
      var fields: [String]
      var isAccepted = true

      static let all = [
        // A day of 102 responses, an hour of upload progress, and ten minutes of progress ten times a second.
        Interim(count: 4320, pause: 20_000, fields: []),
        Interim(count: 3600, pause: 1000, fields: ["Upload-Offset: 123456789", "Date: Sat, 28 Nov 2026 01:00:00 GMT"]),
        Interim(count: 6000, pause: 100, fields: ["Upload-Offset: 123456789"]),
        // As fast as the limits recover, and faster.
        Interim(count: 5000, pause: 10, fields: []),
        Interim(count: 5000, pause: 9, fields: [], isAccepted: false),
        Interim(count: 3000, pause: 1000, fields: [String](repeating: "A: b", count: 99)),
        Interim(count: 3000, pause: 1000, fields: [String](repeating: "A: b", count: 110), isAccepted: false),
        Interim(count: 3000, pause: 1000, fields: ["A: " + String(repeating: "b", count: 16_000)]),
        Interim(count: 3000, pause: 1000, fields: ["A: " + String(repeating: "b", count: 17_000)], isAccepted: false),
        Interim(count: 1000, pause: 0, fields: ["A: b"], isAccepted: false),
        // A clock that steps back restores nothing.
        Interim(count: 2000, pause: -1000, fields: [], isAccepted: false),
        Interim(count: 2, pause: .max / 1000, fields: [String](repeating: "A: b", count: 999)),
      ]
    }

    @Test(arguments: Interim.all)
    func `limits the rate of interim responses, not their number`(_ interim: Interim) {
      var reader = ResponseHeadReader()
      var isAccepted = true

      do {
        for number in 0..<Int64(interim.count) {
          for line in ["HTTP/1.1 104 Progress"] + interim.fields + [""] {
            _ = try Self.read(line, &reader, at: 1_000 * number * interim.pause)
          }
        }
      } catch { isAccepted = false }

      #expect(isAccepted == interim.isAccepted)
    }

    // MARK: Trailers

    private static func trailers(_ lines: String...) throws(Problem) -> HTTPHeaders {
      var reader = ResponseHeadReader()
      for line in ["HTTP/1.1 200 OK", "X-Head: 1", ""] + lines { _ = try read(line, &reader) }
      return reader.trailers.map { HTTPHeaders($0) } ?? [:]
    }

    @Test func `keeps trailers separate from the header fields`() throws {
      #expect(try Self.trailers() == [:])
      #expect(try Self.trailers("X-A: 1", "x-b:2 ", "X-A: 3", "") == ["X-A": "1", "x-b": "2", "X-A": "3"])
      #expect(try Self.trailers("X-A: 1", " 2", "\t3")["X-A"] == "1 2 3")
      // An incomplete head has no trailers.
      var reader = ResponseHeadReader()
      for line in ["HTTP/1.1 200 OK", "X-Head: 1"] { _ = try Self.read(line, &reader) }
      #expect(reader.trailers == nil)
    }

    @Test func `drops disallowed trailers with their folded lines`() throws {
      let kept: HTTPHeaders = ["X-A": "1"]

      #expect(try Self.trailers(" 0", "X-A: 1") == kept)
      #expect(
        try Self.trailers("X-A: 1", "Content-Length: 5", " 6", "content-TYPE: a/b", "no colon", " x", ": x") == kept)
      #expect(try Self.trailers("Set-Cookie: a=b", "Host: h", "X-A: 1", "Transfer-Encoding: chunked") == kept)
    }

    // MARK: Lines

    @Test(arguments: [
      "", "HTTP/1.1", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 099 X", "HTTP/1.1 2x0 OK", "A: b",
    ])
    func `rejects a first line that is not a status line`(line: String) {
      #expect(throws: Problem.self) { try Self.read([line, ""]) }
    }

    @Test func `rejects NUL, CR and LF within a line`() throws {
      for octet in ["\0", "\r", "\n"] {
        for line in ["A: b\(octet)c", "A\(octet)B: c", "A: b\(octet) "] {
          Self.expectProblem("illegal octet", ["HTTP/1.1 200 OK", line])
        }
        Self.expectProblem("illegal octet", ["HTTP/1.1 200 \(octet)OK"])
      }
    }

    @Test(arguments: ["no colon", ": b", "A B: c", "A : b", "\u{E4}: b", "A"])
    func `rejects a field without a valid name`(line: String) {
      Self.expectProblem("no name", ["HTTP/1.1 200 OK", line])
    }

    @Test func `accepts folded lines except as the first field line`() throws {
      #expect(try Self.read(["HTTP/1.1 200 OK", "A: b", "  c ", ""])?.fields.values(of: "A") == ["b c"])
      Self.expectProblem("is folded", ["HTTP/1.1 200 OK", " b"])
      Self.expectProblem("is folded", ["HTTP/1.1 103 Early", "A: b", "", "HTTP/1.1 200 OK", "\tb"])
    }

    // MARK: Lengths

    @Test func `accepts one Content-Length value, even if repeated`() throws {
      #expect(try Self.bodyLength() == nil)
      #expect(try Self.bodyLength("Content-Length: 2") == 2)
      #expect(try Self.bodyLength("Content-Length: 2", "content-length:2, 2") == 2)
      #expect(try Self.bodyLength("Content-Length: \(Int64.max)") == .max)
    }

    @Test(arguments: ["", "+2", "-1", "2 2", "0x2", "2,", ",2", "2;", "9223372036854775808", "1e3", "\u{0662}"])
    func `rejects an invalid Content-Length`(value: String) {
      #expect(throws: Problem.self) { try Self.bodyLength("Content-Length: \(value)") }
    }

    @Test func `rejects different Content-Length values`() {
      #expect(throws: Problem.self) { try Self.bodyLength("Content-Length: 2", "Content-Length: 3") }
      #expect(throws: Problem.self) { try Self.bodyLength("Content-Length: 2, 3") }
      #expect(throws: Problem.self) { try Self.bodyLength("Content-Length: 2", "A: b", "CONTENT-LENGTH: 02, 3") }
      // The field continues on the next line.
      #expect(throws: Problem.self) { try Self.bodyLength("Content-Length: 2", " 3") }
      #expect(throws: Problem.self) { try Self.bodyLength("Content-Length: 2", " , 3") }
    }

    @Test func `accepts only a single chunked transfer coding`() throws {
      #expect(try Self.bodyLength("Transfer-Encoding: Chunked") == nil)
      #expect(try Self.bodyLength("Transfer-Encoding: chunked", "Content-Length: 2") == nil)
      for value in [
        "gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "xchunked", "identity", "chunked;a=b",
      ] {
        #expect(throws: Problem.self, "\(value)") { try Self.bodyLength("Transfer-Encoding: \(value)") }
      }
      #expect(throws: Problem.self) { try Self.bodyLength("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") }
    }
  }
#endif
