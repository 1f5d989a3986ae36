import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite(.hangLimit) struct ResponseLinesTests {
  /// A body with these chunks.
  static func body(_ pieces: [Data]) -> ResponseBody {
    let rest = Locked(pieces)
    return ResponseBody { rest.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
  }

  /// Splits bytes into two chunks at each position in turn, and into chunks of one byte.
  static func cuts(_ bytes: Data) -> [[Data]] {
    (0...bytes.count).map { [bytes.prefix($0), bytes.dropFirst($0)] } + [bytes.map { Data([$0]) }]
  }

  private static func lines(_ body: ResponseBody, upTo limit: Int = 1 << 20) async throws -> [String] {
    var lines: [String] = []
    for try await line in body.lines(upTo: limit) { lines.append(line) }
    return lines
  }

  @Test(
    arguments: [
      ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]),
      ("a\rb\r", ["a", "b"]), ("a\n\r\nb\r\rc", ["a", "", "b", "", "c"]), ("a\n\n", ["a", ""]),
      ("\r\n\r\n", ["", ""]), ("größe\n日本\u{1F600}\n", ["größe", "日本\u{1F600}"]),
      ("\u{FEFF}a\n\u{FEFF}b", ["a", "\u{FEFF}b"]), ("\u{FEFF}", []), ("\u{FEFF}\n", [""]),
    ] as [(String, [String])])
  func `splits a body into lines regardless of chunk boundaries`(text: String, expected: [String]) async throws {
    for pieces in Self.cuts(Data(text.utf8)) {
      #expect(try await Self.lines(Self.body(pieces)) == expected, "\(pieces.map { [UInt8]($0) })")
    }
  }

  @Test func `replaces invalid UTF-8 regardless of chunk boundaries`() async throws {
    let bytes = Data([0x61, 0xFF, 0x0A, 0xE2, 0x82, 0x0A, 0xE2, 0x82, 0xAC])

    for pieces in Self.cuts(bytes) {
      #expect(try await Self.lines(Self.body(pieces)) == ["a\u{FFFD}", "\u{FFFD}", "€"])
    }
  }

  @Test func `yields a line as soon as its end arrives`() async throws {
    let pulls = Locked(0)
    let body = ResponseBody {
      pulls.withLock { pulls in
        pulls += 1
        return pulls == 1 ? Data("a\r".utf8) : Data("\nb\n".utf8)
      }
    }
    var lines = body.lines.makeAsyncIterator()

    #expect(try await lines.next() == "a")
    #expect(pulls.withLock { $0 } == 1)
    #expect(try await lines.next() == "b")
  }

  @Test(arguments: ["123456", "123456\n", "1\n123456\n"])
  func `rejects a line above the limit regardless of chunk boundaries`(text: String) async throws {
    for pieces in Self.cuts(Data(text.utf8)) {
      let error = await #expect(throws: HTTPError.self) { try await Self.lines(Self.body(pieces), upTo: 5) }
      #expect(error?.kind == .bodyTooLarge)
      #expect(try await Self.lines(Self.body(pieces), upTo: 6).last == "123456")
    }
  }

  @Test func `stops reading a body without line ends at the limit`() async throws {
    let pulls = Locked(0)
    let body = ResponseBody {
      pulls.withLock { $0 += 1 }
      return Data(repeating: 0x61, count: 1000)
    }
    var lines = body.lines(upTo: 10_000).makeAsyncIterator()

    await #expect(throws: HTTPError.self) { try await lines.next() }

    #expect(pulls.withLock { $0 } == 11)
    #expect(try await lines.next() == nil)
  }

  // MARK: JSON

  struct Point: Decodable, Equatable, Sendable { var x: Int }

  private static func points(_ text: String) async throws -> [Point] {
    let transport = StubTransport { _ in .text(text) }
    let client = HTTPClient.onTestClock { $0.transport = transport }
    return try await client.stream(.get("http://example.test/")) { response in
      var points: [Point] = []
      for try await point in response.jsonLines(as: Point.self) { points.append(point) }
      return points
    }
  }

  @Test func `reads JSON Lines and skips blank lines`() async throws {
    let points = try await Self.points("{\"x\":1}\n\n{\"x\":\r2}\r\n \t\n{\"x\":3}")

    #expect(points == [Point(x: 1), Point(x: 2), Point(x: 3)])
  }

  @Test func `a decoding error names the line but not its content`() async throws {
    let error = await #expect(throws: HTTPError.self) { try await Self.points("{\"x\":1}\n\n{\"x\":\"secret\"}\n") }

    #expect(error?.kind == .decoding)
    #expect(error?.message.hasPrefix("line 3 cannot be decoded as Point") == true, "\(error?.message ?? "")")
    #expect(error?.description.contains("secret") == false)
    #expect(error?.redactedURL == "http://example.test/")
  }

  @Test func `a decoding error distinguishes a number that does not fit from a malformed line`() async throws {
    let number = await #expect(throws: HTTPError.self) { try await Self.points("{\"x\":1.5}\n") }
    let malformed = await #expect(throws: HTTPError.self) { try await Self.points("{\"x\":tru}\n") }

    #expect(number?.message.contains("a number does not fit its type") == true, "\(number?.message ?? "")")
    #expect(malformed?.message.contains("malformed: expected a value") == true, "\(malformed?.message ?? "")")
  }

  @Test func `decodes JSON Lines with the client's decoder`() async throws {
    struct Moment: Decodable, Sendable { var at: Date }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    let client = HTTPClient.onTestClock { [decoder] in
      $0.transport = StubTransport { _ in .text(#"{"at":60}"#) }
      $0.decoder = decoder
    }

    let times = try await client.stream(.get("http://example.test/")) { response in
      var times: [Date] = []
      for try await moment in response.jsonLines(as: Moment.self) { times.append(moment.at) }
      return times
    }

    #expect(times == [Date(timeIntervalSince1970: 60)])
  }

  // MARK: Text

  @Test func `decodes text by its charset, up to a limit`() async throws {
    let client = HTTPClient.onTestClock {
      $0.transport = StubTransport { _ in
        .status(.ok, headers: ["Content-Type": "text/plain; charset=iso-8859-15"], body: Data([0xA4, 0x31]))
      }
    }

    let text = try await client.stream(.get("http://example.test/")) { try await $0.text }
    let error = await #expect(throws: HTTPError.self) {
      try await client.stream(.get("http://example.test/")) { try await $0.text(upTo: 1) }
    }

    #expect(text == "€1")
    #expect(error?.kind == .bodyTooLarge)
  }
}
