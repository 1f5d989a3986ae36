#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import MartletBase
  @testable import Martlet
  @testable import MartletTool

  /// Code that parses or prints a peer's text takes a number of steps that grows with the text's length, whatever it
  /// contains.
  ///
  /// `MaskingWorkTests` counts the steps of masking secrets. Here, steps are instructions, including those of called
  /// functions.
  @Suite(.enabled(if: Steps.areCounted, "instructions are counted by .ci/work"), .hangLimit) struct ParsingWorkTests {
    /// The size of a text in bytes, and four times that size.
    private static let sizes = [16 << 10, 64 << 10]

    struct Reader: CustomTestStringConvertible, Sendable {
      var testDescription: String
      /// The units, each of which is repeated up to the size.
      let units: [String]
      let read: @Sendable (String) -> Void

      init(_ name: String, _ units: [String], _ read: @escaping @Sendable (String) -> Void) {
        testDescription = name
        self.units = units
        self.read = read
      }
    }

    private static let now = Date(timeIntervalSince1970: 1_700_000_000)
    private static let lists = [
      "a", "a,", ",", ";", "a;", "a=b;", "a=b,", "\"", "\\", " ", "\"\\", "a ", ",\"", "\t", "=", "a=\"b\", ", "é", "%",
      "%41", "/", "-", "1", "1,", ".", ":", "'", "*", "W/\"a\",", "\"a\" ",
    ]
    private static let paths = [
      "a", "/", "../", "./", "a/../", "%2e%2e/", "%2e", "%", "?", "#", "@", ":", "&", "a=b&", ";", "\\", "é", " ", "[",
      ".",
      "/..", "a.", "1.", "0x", "//",
    ]
    private static let lines = [
      "data: a\n", "data:a\r", "\n", "\r", "\r\n", "id: a\n", "event: a\n\n", "data\n\n", ":", "retry: 9\n", "a",
      "\u{FEFF}",
      "{\"a\":1}\n", " \n",
    ]
    private static let texts = [
      "a", "\n", "\r", "\r\n", "\"", "é", "👩‍👩‍👧‍👦", "🇦", "a\u{301}", "\u{301}", "\u{202E}", "\\", "=", "a=b ", "token=a&",
      "://a@",
      "'", "$", "/", ".", " ", "%",
    ]
    private static let json = [
      "[", "[1,", "{\"a\":", "{\"token\":\"a\",", "\"", "\"\\u0041", "\\", "1", "[],", "\"a\",", " ", "{", "-", "1e",
    ]

    private static var snakeCase: JSONDecoder {
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      return decoder
    }

    private static let readers: [Reader] = [
      Reader("lists", lists) { _ = FieldSyntax.listMembers(of: $0) },
      Reader("challenges", lists + ["Basic realm=\"a\", ", "Digest "]) { text in
        _ = Challenge.parse([text])
        _ = Challenge.parse(text.split(separator: ",").map(String.init))
      },
      Reader("Digest challenges", lists + ["nonce=a, realm=a, ", "qop=\"auth,"]) { text in
        for prefix in ["Digest ", "Digest realm=a, nonce=b, qop=\"", "Digest realm=a, nonce=b, algorithm="] {
          _ = Challenge.parse([prefix + text]).map { DigestChallenge($0) }
        }
      },
      Reader("heads of responses", lists + ["A: b\r\n", "a:\r\n", " a\r\n", "HTTP/1.1 100 a\r\n\r\n", "\r\n"]) { text in
        for prefix in ["", "HTTP/1.1 200 ", "HTTP/1.1 200 a\r\n", "HTTP/1.1 200 a\r\nb: "] {
          var reader = ResponseHeadReader()
          for line in (prefix + text).utf8.split(separator: 10) {
            let isRead = Array(line + [10]).withUnsafeBufferPointer { (try? reader.read($0)) != nil }
            if !isRead { break }
          }
        }
      },
      Reader("ends of chunks", ["1\r\na\r\n", "1;a=b\r\na\r\n", "0\r\n", "a: b\r\n", "0", ";", "1", "\r\n"]) { text in
        for prefix in ["", "0\r\n", "1;"] {
          var end = ChunkEnd()
          Array((prefix + text).utf8).withUnsafeBytes { end.read($0) }
        }
      },
      Reader("Cache-Control", lists + ["max-age=1,", "no-cache=\"a,"]) { text in
        let control = CacheControl([text])
        _ = (control.seconds("max-age"), control.isUnqualified("no-cache"), control.fields("no-cache"))
      },
      Reader("Vary", lists) { _ = Selection.names(["Vary": $0]) },
      Reader("media types", lists + ["a/b;", ";charset="]) { text in
        for prefix in ["", "text/html;"] { _ = MediaType(prefix + text).map { ($0.description, $0.charset) } }
      },
      Reader("Content-Disposition", lists) { text in
        for prefix in ["", "attachment; filename=", "attachment; filename*=UTF-8''"] {
          for name in ContentDisposition.filenames(prefix + text) { _ = SafeFilename.make(of: name) }
        }
      },
      Reader("links", lists + ["<", ">", "<a>;rel=a,", "<>;rel=a;rel=a,"]) { text in
        var parser = LinkParser(text)
        while let link = parser.next() { _ = link.parameters["rel"] }
        _ = HTTPResponse(status: .ok, headers: ["Link": text], request: .get("http://h/a?b")).links
      },
      Reader("JSON of any shape", json + ["[\"\",", "\"\\u", "\"é"]) { text in
        for prefix in ["", "[", "\"", String(repeating: "[", count: 100)] {
          _ = try? JSONParser.value(of: Data((prefix + text).utf8))
        }
      },
      Reader("JSON of any shape in a model", json + ["{\"a\":[],", "1.5,\"a\","]) { text in
        struct Wrap: Decodable { var v: JSONValue? }
        for prefix in ["", "[", String(repeating: "[", count: 60)] {
          // The text must be complete, because a malformed text ends before any value is decoded.
          let elements = text.last == "," ? text + "0" : text
          let whole = prefix + elements + String(repeating: "]", count: prefix.utf8.count)
          for body in [whole, "{\"v\":\(whole)}", "{\"a_b\":\(whole)}"] {
            let response = HTTPResponse(status: .ok, body: Data(body.utf8))
            _ = try? response.json(Wrap.self)
            _ = try? response.json([JSONValue].self)
            _ = try? response.json([String: JSONValue].self, decoder: snakeCase)
            _ = try? ServerSentEvents.Event(data: body).json(Wrap.self)
          }
        }
      },
      Reader("problem details", json) { text in
        for prefix in ["", "{\"title\":", "{\"a\":["] {
          let response = HTTPResponse(
            status: 400, headers: ["Content-Type": "application/problem+json"], body: Data((prefix + text).utf8))
          let error = HTTPError(.status, "no", request: .get("http://h/"), response: response)
          _ = (error.problemDetails, error.decoded(as: [String: JSONValue].self), response.text)
        }
      },
      Reader("file names", texts) { _ = SafeFilename.make(of: $0) },
      Reader("Set-Cookie", lists + ["; Expires=", "; Path=/a", "; Domain=.a"]) { text in
        for prefix in ["", "a=b;"] { _ = SetCookie(prefix + text, now: now) }
      },
      Reader("cookie dates", lists + ["1:", "1:1:1 ", "jan ", "1 ", "99999 "]) { _ = CookieDate.parse($0.utf8) },
      Reader("cookies.txt", ["\t", "\n", "#", "a\tFALSE\t/\tFALSE\t0\tb\tc\n", "a"]) { text in
        var table = CookieTable()
        for cookie in NetscapeCookies.parse(text, now: now) { table.put(cookie, now: now) }
      },
      Reader("dates", lists + ["Sun, "]) { text in
        for prefix in ["", "Sun, 06 Nov 1994 08:49:37 "] { _ = HTTPDate(prefix + text) }
      },
      Reader("numbers", lists) { text in
        _ = (ContentRange(text), ContentRange("bytes " + text), ByteRange(["bytes=" + text]))
        _ = (FieldSyntax.deltaSeconds(text), StrictTransportSecurity(text), EntityTag.isSame(text, text))
      },
      Reader("header fields", ["a", "é", ","]) { text in
        let count = text.utf8.count / 16
        var headers = HTTPHeaders((0..<count).map { HTTPHeaders.Field(name: "a\($0 % 1000)", value: "b") })
        headers.replace(with: HTTPHeaders((0..<count).map { HTTPHeaders.Field(name: "A\($0)", value: "c") }))
        _ = (headers.values(of: "a1"), headers.description, headers.contentLength)
      },
      Reader("URLs", paths) { text in
        for prefix in ["", "/", "http://", "http://h/", "http://h?", "http://[", "http://u:", "http://h:", "http:"] {
          _ = try? AbsoluteURL.parse(prefix + text)
          _ = try? RequestTarget(text: prefix + text).resolve(against: "http://h/a/b")
          _ = URLRedaction.redact(prefix + text)
        }
      },
      Reader("references", paths) { text in
        guard let base = try? AbsoluteURL.parse("http://h/a/b?c#d") else { return }
        for prefix in ["", "/", "//", "?", "http://h/"] { _ = try? base.resolving(octets: Array((prefix + text).utf8)) }
        _ = try? (AbsoluteURL.parse("http://h/" + text)).resolving(octets: Array("../a".utf8))
      },
      Reader("hosts", ["a", "a.", "1.", ".", ":", "::", "0:", "é", "é.", "-", "%41", "a-", "xn--", "ß"]) { text in
        _ = try? URLHost.parse(Array(text.utf8)[...])
        _ = try? URLHost.parse(Array("[\(text)]".utf8)[...])
        _ = (IPAddress(text), HSTSTable.name(text))
      },
      Reader("text of bodies", texts + ["\u{0}", "あ"]) { text in
        let data = Data(text.utf8)
        let charsets = [
          "utf-8", "us-ascii", "iso-8859-1", "utf-16", "shift_jis", "euc-jp", "gb18030", "windows-1252", "koi8-r",
          "none",
        ]
        for charset in charsets {
          let type = MediaType(type: "text", subtype: "plain", parameters: [.init(name: "charset", value: charset)])
          _ = TextDecoding.decode(data, contentType: type)
        }
      },
      Reader("event streams", lines) { text in
        for size in [1, 1000, .max] { ParsingWorkTests.pieces(of: text, size).forEachEvent() }
      },
      Reader("lines", lines) { text in
        for size in [1, 1000, .max] { ParsingWorkTests.pieces(of: text, size).forEachLine() }
      },
      Reader("names of parts", texts) { text in
        _ = (MultipartSyntax.escaped(text), MultipartSyntax.withCRLF(text), MultipartSyntax.isMediaType(text))
        _ = MultipartSyntax.contains(Array("\r\n--aaaaaaaaaaaaaaaaaaaaaa".utf8), in: Data(text.utf8))
      },
      Reader("logs", texts + json + lists) { text in
        _ = (LogText.line(text.utf8), InvalidInput.printable(text), InvalidInput.printable(text, limit: .max))
        for redaction in [Redaction.standard, .strict] {
          _ = redaction.text(text)
          _ = LogText.field(HTTPHeaders.Field(name: "Location", value: text), redaction)
          _ = LogText.field(HTTPHeaders.Field(name: text, value: "a"), redaction)
          for type in ["application/json", "application/x-www-form-urlencoded", "text/plain"] {
            _ = BodyMask.masked(Data(text.utf8), contentType: type, redaction)
          }
        }
        _ = (try? ShellText.word(text), ShellText.printf(text.utf8))
      },
      Reader("JSON on a terminal", json + texts) { text in
        for prefix in ["", "[", "\""] {
          _ = JSONScanner.problem(in: prefix + text)
          _ = JSONFormatter().format(prefix + text)
        }
        _ = JSONFormatter().format("[\"\(text)\"]")
      },
      Reader(
        "certificates",
        ["-----BEGIN A-----\n", "-----END A-----\n", "a\n", "-----BEGIN A-----\nMAA=\n-----END A-----\n"]
      ) {
        _ = PEM.blocks(in: Data($0.utf8))
      },
    ]

    private static func pieces(of text: String, _ size: Int) -> Pieces { Pieces(data: Data(text.utf8), size: size) }

    private static func text(_ unit: String, _ size: Int) -> String {
      String(repeating: unit, count: max(1, size / unit.utf8.count))
    }

    struct Row: CustomTestStringConvertible, Sendable {
      let reader: Reader
      let unit: String

      var testDescription: String { "\(reader.testDescription): \(unit.debugDescription)" }
    }

    @Test(arguments: readers.flatMap { reader in reader.units.map { Row(reader: reader, unit: $0) } })
    func `the number of steps grows about linearly with the text`(_ row: Row) {
      // The first run differs from all later ones, so it is not counted.
      row.reader.read(Self.text(row.unit, 100))
      let counts = Self.sizes.map { size in
        let text = Self.text(row.unit, size)
        return Steps.count { row.reader.read(text) }
      }
      #expect(counts[0] > 0 && counts[1] < 6 * counts[0], "\(counts)")
    }

    @Test func `detects quadratic work`() {
      let counts = [200, 800].map { size in
        let octets = Array(repeating: UInt8(1), count: size)
        return Steps.count {
          var sum = 0
          for first in octets { for second in octets where first == second { sum &+= 1 } }
        }
      }
      #expect(counts[0] > 0 && counts[1] > 12 * counts[0])
    }
  }

  /// Bytes in chunks of a given size.
  private struct Pieces {
    let data: Data
    let size: Int

    private func forEach(_ body: (Data) -> Void) {
      var start = 0
      while start < data.count {
        let end = start + min(size, data.count - start)
        body(data[start..<end])
        start = end
      }
    }

    func forEachEvent() {
      var parser = EventParser(lastEventID: "", upTo: .max)
      forEach {
        parser.push($0)
        while let event = try? parser.next() { _ = event }
      }
    }

    func forEachLine() {
      var splitter = LineSplitter(.lineFeed, upTo: .max)
      forEach {
        splitter.push($0)
        while let count = try? splitter.next({ $0.count }) { _ = count }
      }
    }
  }
#endif
