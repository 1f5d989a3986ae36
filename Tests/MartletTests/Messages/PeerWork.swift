import Foundation
import TestSupport
import Testing

@testable import Martlet
@testable import MartletBase
@testable import MartletHAR
@testable import MartletTesting

/// The most expensive texts that a peer can send to each parser, in any size.
struct PeerWork: CustomTestStringConvertible, Sendable {
  let testDescription: String
  /// Creates a text of about this many bytes.
  let text: @Sendable (Int) -> Data
  /// The maximum work, as a multiple of the work for a JSON array of the same size.
  var bound = 25
  let read: @Sendable (Data) -> Void

  /// The size of the smaller text in bytes, for manual measurements.
  static let bytes = ProcessInfo.processInfo.environment["MARTLET_WORK_BYTES"].flatMap { Int($0) }

  static let all: [PeerWork] = [
    json, lines, events, problems, archives, cassettes, cookies, challenges, links, names, boundaries, fields,
  ].flatMap { $0 }

  private static func rows(
    _ parser: String, _ texts: [(name: String, text: @Sendable (Int) -> String)], bound: Int = 25,
    _ read: @escaping @Sendable (Data) -> Void
  ) -> [PeerWork] {
    texts.map { text in
      PeerWork(
        testDescription: "\(parser): \(text.name)", text: { Data(text.text($0).utf8) }, bound: bound, read: read)
    }
  }

  // MARK: Shapes of texts

  /// Repeats a unit up to the size, between a prefix and a suffix.
  private static func repeated(
    _ unit: String, separator: String = "", after start: String = "", before end: String = ""
  ) -> @Sendable (Int) -> String {
    { size in
      let count = max(1, size / (unit.utf8.count + separator.utf8.count))
      return start + Array(repeating: unit, count: count).joined(separator: separator) + end
    }
  }

  /// Repeats units that contain their numbers.
  private static func numbered(
    separator: String = "", after start: String = "", before end: String = "",
    _ unit: @escaping @Sendable (Int) -> String
  ) -> @Sendable (Int) -> String {
    { size in
      let count = max(1, size / (unit(size / 10).utf8.count + separator.utf8.count))
      return start + (0..<count).map(unit).joined(separator: separator) + end
    }
  }

  /// Fills half of the size with one unit and the other half with another unit.
  private static func halves(
    _ first: String, _ second: String, after start: String = "", between: String, before end: String = ""
  ) -> @Sendable (Int) -> String {
    { size in
      start + String(repeating: first, count: max(1, size / 2 / first.utf8.count)) + between
        + String(repeating: second, count: max(1, size / 2 / second.utf8.count)) + end
    }
  }

  private static func nested(_ element: String, _ separator: String = ",", depth: Int = 60) -> @Sendable (Int) -> String
  {
    repeated(
      element, separator: separator, after: String(repeating: "[", count: depth),
      before: String(repeating: "]", count: depth))
  }

  private static let documents: [(name: String, text: @Sendable (Int) -> String)] = [
    ("numbers at depth 60", nested("1.5")),
    ("texts and numbers at depth 60", nested("1.5,\"a\",true")),
    ("objects at depth 60", nested("{\"a\":1},{\"a\":\"b\"}")),
    ("different names", numbered(separator: ",", after: "{", before: "}") { "\"key\($0)\":\($0)" }),
    ("one name", repeated("\"a_b\":1", separator: ",", after: "{", before: "}")),
    ("a long name", repeated("a_b_", after: "{\"", before: "\":1}")),
    ("a long text", repeated("\\u00e9", after: "[\"", before: "\"]")),
    ("a long number", repeated("1", after: "[", before: "]")),
    ("a misfit at the end", nested("1", depth: 1)),
    ("malformed at the end", repeated("1", separator: ",", after: "[", before: ",")),
    ("open arrays", repeated("[")), ("open objects", repeated("{\"a\":")),
  ]

  // MARK: JSON

  private struct Wrap: Decodable, Sendable { var v: JSONValue }
  private struct WrapAny: Decodable, Sendable { var v: JSONValue? }

  private static let json = rows("a JSONValue in a model", documents) { text in
    let response = HTTPResponse(status: .ok, body: Data("{\"v\":".utf8) + text + Data("}".utf8))
    _ = try? response.json(Wrap.self)
    _ = try? response.json([String: JSONValue].self)
    let snakeCase = JSONDecoder()
    snakeCase.keyDecodingStrategy = .convertFromSnakeCase
    _ = try? response.json(WrapAny.self, decoder: snakeCase)
    _ = try? HTTPResponse(status: .ok, body: text).json([JSONValue].self)
    _ = try? HTTPResponse(status: .ok, body: text).json([String: Int].self)
  }

  private static let lines =
    rows(
      "JSON Lines",
      [
        ("short lines", repeated("{}\n")), ("blank lines", repeated("\n")), ("one line", repeated(" ", before: "1")),
        ("models", repeated("{\"v\":[1,\"a\",{}]}\n")),
        ("nested models", repeated("{\"v\":\(nested("1.5")(300))}\n")),
        ("a large model", { "{\"v\":\(nested("1.5")($0))}\n" }),
        ("different names", numbered { "{\"v\":{\"key\($0)\":1}}\n" }),
      ],
      // Each line is a separate document, and decoding a document has a fixed cost beyond its bytes.
      bound: 80
    ) { text in
      let decoder = JSONDecoder()
      var splitter = LineSplitter(.lineFeed, upTo: .max)
      for piece in Self.pieces(of: text, 100) {
        splitter.push(piece)
        while let line = try? splitter.next({ Data($0) }) {
          // Like `JSONLines`, this loop ends at the first error.
          if line.allSatisfy({ $0 == 0x20 }) { continue }
          guard (try? DecodingProblem.decode([String: JSONValue].self, from: line, with: decoder)) != nil else {
            return
          }
        }
      }
    }

  private static let events =
    rows(
      "events",
      [
        ("empty events", repeated("data\n\n")), ("lines of data", repeated("data\n", before: "\n")),
        ("a long identifier", halves("a", "\n", after: "id: ", between: "\n")),
        ("events below a long identifier", halves("a", "data\n\n", after: "id: ", between: "\n")),
        ("identifiers", numbered { "id: \($0)\ndata\n\n" }),
        ("a long type", halves("a", "data\n", after: "event: ", between: "\n")),
        ("types", repeated("event: a\n")), ("comments", repeated(":\n")), ("pauses", repeated("retry: 9\n")),
        ("a long pause", repeated("9", after: "retry: ", before: "\n\n")), ("one line", repeated("data")),
        ("carriage returns", repeated("\r")), ("JSON", repeated("data: {\"v\":[1,\"a\"]}\n\n")),
        ("large JSON", { "data: {\"v\":\(nested("1.5,\"a\"")($0))}\n\n" }),
      ],
      bound: 80
    ) { text in
      var parser = EventParser(lastEventID: "", upTo: .max)
      for piece in Self.pieces(of: text, 100) {
        parser.push(piece)
        while let event = try? parser.next() { _ = try? event.json(Wrap.self) }
      }
      _ = (parser.lastEventID, parser.pause)
    }

  private static let problems = rows(
    "errors", documents + [("a detail", repeated("token=a ", after: "{\"detail\":\"", before: "\"}"))]
  ) { text in
    let response = HTTPResponse(status: 400, headers: ["Content-Type": "application/problem+json"], body: text)
    let error = HTTPError(.status, "400", request: .get("http://h/"), response: response)
    _ = (error.problemDetails?.detail, error.decoded(as: Wrap.self), error.description, response.text)
  }

  // MARK: Recordings

  private static let start = #"{"log":{"version":"1.2","creator":{"name":"Martlet"},"entries":["#
  private static let entry = #"{"request":{"method":"GET","url":"http://h/"},"response":{"status":200}}"#

  /// Returns the beginning of a file that ends within the request of an entry.
  private static func request(_ rest: String) -> String {
    #"{"log":{"entries":[{"request":{"method":"GET","url":"http://h/"\#(rest)"#
  }

  private static let recordings: [(name: String, text: @Sendable (Int) -> String)] = [
    ("equal entries", repeated(entry, separator: ",", after: start, before: "]}}")),
    (
      "different entries",
      numbered(separator: ",", after: start, before: "]}}") {
        #"{"request":{"method":"GET","url":"http://h/\#($0)"},"response":{"status":200}}"#
      }
    ),
    ("a bad entry at the end", repeated(entry, separator: ",\n", after: start, before: ",{}]}}")),
    (
      "header fields",
      numbered(
        separator: ",", after: request(#","headers":["#), before: #"]},"response":{"status":200}}]}}"#
      ) { #"{"name":"a\#($0)","value":"b"}"# }
    ),
    (
      "cookies",
      repeated(
        "a=b; ", after: request(#"},"response":{"status":200,"headers":[{"name":"Set-Cookie","value":""#),
        before: #""}]}}]}}"#)
    ),
    (
      "a query",
      repeated(
        "a=b&", after: #"{"log":{"entries":[{"request":{"method":"GET","url":"http://h/?"#,
        before: #""},"response":{"status":200}}]}}"#)
    ),
    (
      "a date",
      repeated(
        "1", after: #"{"log":{"entries":[{"startedDateTime":""#,
        before: #"","request":{"method":"GET","url":"http://h/"},"response":{"status":200}}]}}"#)
    ),
    (
      "a form",
      repeated(
        #"{"name":"a","value":"%"}"#, separator: ",", after: request(#","postData":{"params":["#),
        before: #"]}},"response":{"status":200}}]}}"#)
    ),
    (
      "base64",
      repeated(
        "YQ==", after: request(#"},"response":{"status":200,"content":{"encoding":"base64","text":""#),
        before: #""}}}]}}"#)
    ),
    ("open arrays", repeated("[")),
  ]

  private static let archives = rows("HAR", recordings) { text in
    guard let file = try? HARFile(text, name: "a.har") else { return }
    _ = file.data()
  }

  /// A body that is almost identical to its boundary.
  private static let longBoundary: @Sendable (Int) -> String = { size in
    let text = String(repeating: "a", count: size / 2)
    let type = "multipart/form-data; boundary=\(text)b"
    let data = #"{"mimeType":"\#(type)","text":"\#(text)"}"#
    return #"\#(start){"request":{"method":"POST","url":"http://h/","postData":\#(data)},"response":{"status":200}}]}}"#
  }

  private static let cassettes = rows(
    "cassettes", recordings + [("a long boundary", longBoundary)]
  ) { text in
    guard let folder = try? TemporaryFolder(), let file = try? folder.write(text, to: "a.har") else { return }
    var tape = CassetteTape(file, .replay, .standard)
    let redaction = Redaction.standard
    let keys = ((try? HARFile(text, name: "a.har"))?.entries ?? []).map { HARKey($0, headers: [], redaction) }
    for key in keys + [HARKey(HTTPRequest(.delete, "http://h/none"), nil, headers: [], redaction)] {
      _ = try? tape.next(key, redaction)
    }
    _ = tape.unused()
  }

  // MARK: Header fields

  private static let now = Date(timeIntervalSince1970: 1_700_000_000)

  private static let cookies =
    rows(
      "cookies",
      [
        ("many", numbered(separator: "\n") { "a\($0)=b" }), ("long", repeated("a", after: "a=")),
        ("attributes", repeated("Path=/a;", after: "a=b;")), ("equals signs", repeated("=")),
        ("dates", repeated("1:", after: "a=b; Expires=")),
        ("domains", numbered(separator: "\n") { "a=b; Domain=a\($0).b" }),
        ("a long domain", repeated("a.", after: "a=b; Domain=")), ("a long path", repeated("/a", after: "a=b; Path=")),
        ("paths", numbered(separator: "\n") { "a=b; Path=/a\($0)" }),
        // A jar can store all cookies of a small file, so this file is larger.
        (
          "cookies.txt",
          { numbered(separator: "\n") { "h\($0).b\tFALSE\t/\tFALSE\t0\ta\tb" }($0 * (Stress.isOn ? 1 : 16)) }
        ),
      ]
    ) { text in
      guard let url = try? AbsoluteURL.parse("http://a.b/") else { return }
      var table = CookieTable()
      let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
      for line in lines.prefix(SetCookie.maximumLines) {
        guard let cookie = SetCookie(line, now: now) else { continue }
        table.receive(cookie, from: url, now: now)
      }
      table.put(NetscapeCookies.parse(String(decoding: text, as: UTF8.self), now: now), now: now)
      _ = Cookie.field(table.select(for: url, .same, now: now))
    }

  private static let challenges =
    rows(
      "challenges",
      [
        ("schemes", numbered(separator: ", ") { "Scheme\($0)" }),
        ("parameters", numbered(separator: ", ", after: "Basic ") { "a\($0)=b" }),
        ("blanks", repeated(" a", after: "Basic ")), ("an open quote", repeated("\\a", after: "Digest realm=\"")),
        ("token68", repeated("=", after: "Negotiate a")), ("semicolons", repeated(";a=b;", after: "Digest ")),
        ("lines", numbered(separator: "\n") { "Digest realm=\"a\($0)\", nonce=\"b\", qop=\"auth,auth,auth\"" }),
        ("qop", repeated("auth,", after: "Digest realm=\"a\", nonce=\"b\", qop=\"", before: "\"")),
      ]
    ) { text in
      let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
      let challenges = Challenge.parse(lines)
      _ = challenges.map { DigestChallenge($0) }
      _ = DigestChallenge.problem(of: challenges, among: [.digest])
    }

  private static let links =
    rows(
      "Link",
      [
        ("links", numbered(separator: ", ") { "<a\($0)>; rel=a" }),
        ("lines", numbered(separator: "\n") { "<a\($0)>; rel=a" }),
        ("parameters", numbered(after: "<a>; rel=a") { "; a\($0)=b" }),
        ("relations", repeated("a ", after: "<a>; rel=\"", before: "\"")),
        ("a long target", repeated("../", after: "<", before: ">; rel=a")), ("open brackets", repeated("<")),
        ("an open quote", repeated("\\", after: "<a>; rel=\"")),
        ("coded titles", repeated("; title*=UTF-8''%41", after: "<a>; rel=a")),
        ("no relation", repeated("<a>,")),
      ]
    ) { text in
      var headers: HTTPHeaders = [:]
      for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
        headers.append(String(line), for: "Link")
      }
      let response = HTTPResponse(status: .ok, headers: headers, request: .get("http://h/a/b?c"))
      _ = (response.links, response.link("next"))
    }

  private static let names =
    rows(
      "Content-Disposition",
      [
        ("parameters", numbered(after: "attachment") { "; a\($0)=b" }),
        ("names", repeated("; filename=a", after: "attachment")),
        ("an open quote", repeated("\\\"", after: "attachment; filename=\"")),
        ("coded octets", repeated("%C3%A9", after: "attachment; filename*=UTF-8''")),
        ("malformed octets", repeated("%C3", after: "attachment; filename*=UTF-8''")),
        ("apostrophes", repeated("'", after: "attachment; filename*=UTF-8")),
        ("dots", repeated(".", after: "attachment; filename=")),
        ("slashes", repeated("../", after: "attachment; filename=\"")),
        ("marks", repeated("\u{301}", after: "attachment; filename=\"a")),
        ("blanks", repeated(" ", after: "attachment; filename=\"a")), ("semicolons", repeated(";")),
      ]
    ) { text in
      let response = HTTPResponse(status: .ok, headers: ["Content-Disposition": String(decoding: text, as: UTF8.self)])
      _ = response.suggestedFilename
    }

  private static let boundaries =
    rows(
      "boundaries",
      [
        ("dashes", repeated("-")), ("beginnings", repeated("\r\n------MartletFormBoundary")),
        ("nearly the boundary", repeated("a", after: "b")), ("letters", repeated("a")),
      ]
    ) { text in
      _ = MultipartSyntax.contains(Array(repeating: UInt8(ascii: "a"), count: 70), in: text)
      _ = MultipartSyntax.contains([UInt8(ascii: "b")] + Array(repeating: UInt8(ascii: "a"), count: 69), in: text)
      _ = MultipartSyntax.contains(Array("\r\n------MartletFormBoundary0".utf8), in: text)
      for boundary in [
        "", String(repeating: "a", count: 70), String(decoding: text.prefix(text.count / 2), as: UTF8.self),
      ] {
        _ = HARKey.Body.digest(of: text, "multipart/form-data; boundary=\"\(boundary)\"")
      }
    }

  private static let fields =
    rows(
      "other fields",
      [
        ("digits", repeated("1")), ("commas", repeated(",")), ("members", numbered(separator: ",") { "a\($0)=1" }),
        ("digests", repeated("sha-256=:YQ==:,")), ("colons", repeated(":", after: "sha-256=")),
        ("semicolons", repeated(";r=0", after: "\"a\"")), ("quotes", repeated("\"")),
        ("blanks", repeated(" ", before: "1")),
      ]
    ) { text in
      let text = String(decoding: text, as: UTF8.self)
      var headers: HTTPHeaders = [:]
      for name in ["Retry-After", "RateLimit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Location", "Age"] {
        headers.append(text, for: name)
      }
      _ = (ServerLimits.pause(503, headers, now: now), headers.retryAfter(now: now), DigestField.sha256([text]))
      _ = (CacheControl([text]).seconds("max-age"), StrictTransportSecurity(text), ContentRange(text))
    }

  // MARK: Chunks

  private static func pieces(of text: Data, _ size: Int) -> [Data] {
    guard size < text.count else { return [text] }
    return stride(from: 0, to: text.count, by: size).map { text[$0..<min($0 + size, text.count)] }
  }
}
