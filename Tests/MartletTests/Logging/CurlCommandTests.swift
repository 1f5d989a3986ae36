import Foundation
import MartletBase
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite struct CurlCommandTests {
  /// Returns a new client each time, because derived clients share their cookies.
  private static var bare: HTTPClient {
    HTTPClient {
      $0.userAgent = "t"
      $0.options.decompression = .off
    }
  }

  @Test(
    arguments: [
      (.get("http://a.test/x?q=a%20b&token=canary"), "curl 'http://a.test/x?q=a%20b&token=***'"),
      (.head("http://a.test/"), "curl --head http://a.test/"),
      (.get("http://[::1]:8/"), "curl --globoff 'http://[::1]:8/'"),
      (.get("http://u:canary@a.test/#canary"), "curl --header 'Authorization: ***' http://a.test/"),
      (
        .get("http://a.test/", headers: ["A": "it's", "B": "", "C": "1", "C": "2"]),
        #"curl --header 'A: it'\''s' --header 'B;' --header 'C: 1' --header 'C: 2' http://a.test/"#
      ),
      (
        .get("http://a.test/", headers: ["A": "\tx\u{202E}"]),
        #"curl --header "$(printf 'A: \011x\342\200\256')" http://a.test/"#
      ),
      (
        .post("http://a.test/", body: .text("@canary's", contentType: "text/plain")),
        #"curl --request POST --header 'Content-Type: text/plain' --data-raw '@canary'\''s' http://a.test/"#
      ),
      (
        .put("http://a.test/", body: .data(Data(), contentType: nil)),
        "curl --request PUT --header Content-Type: --data-raw '' http://a.test/"
      ),
      (
        .put("http://a.test/", body: .data(Data([0, 0x0A, 0x27, 0xFF, 0x25]), contentType: nil)),
        "curl --request PUT --header Content-Type: --data-binary @- http://a.test/"
      ),
      (
        .put("http://a.test/", body: .file(URL(filePath: "/tmp/a b"), contentType: nil)),
        "curl --request PUT --header Content-Type: --header Expect: --data-binary '@/tmp/a b' http://a.test/"
      ),
      (
        .post("http://a.test/", body: .form(["password": "canary", "a": "b"])),
        "curl --request POST --header 'Content-Type: application/x-www-form-urlencoded' --data-raw 'password=***&a=b' "
          + "http://a.test/"
      ),
      (HTTPRequest("P$`'", "http://a.test/"), #"curl --request 'P$`'\''' http://a.test/"#),
    ] as [(HTTPRequest, String)])
  func `formats a request as a curl command`(_ request: HTTPRequest, _ command: String) throws {
    #expect(try request.curlCommand() == command)
  }

  @Test(arguments: [
    ("multipart/form-data; boundary=b", ""), ("application/json", "gzip"), ("application/json; charset=utf-16", ""),
    ("application/octet-stream", ""),
  ])
  func `shows a body that cannot be masked only if secrets are revealed`(
    _ type: String, _ coding: String
  ) throws {
    let headers: HTTPHeaders = coding.isEmpty ? [:] : ["Content-Encoding": coding]
    let request = HTTPRequest.put(
      "http://a.test/", headers: headers, body: .data(Data([0, 0x0A, 0x27, 0xFF, 0x25]), contentType: type))

    #expect(try request.curlCommand().hasSuffix(" --data-binary @- http://a.test/"))
    #expect(try !request.curlCommand().contains("printf"))
    #expect(
      try request.curlCommand(redaction: .revealingSecrets).hasPrefix(
        #"printf '\000\012\047\377\045' | curl --request PUT"#))
  }

  @Test func `reads a large body and a stream from standard input`() throws {
    let large = HTTPBody.data(Data(count: CurlCommand.maximumInlineBytes + 1), contentType: nil)
    let stream = HTTPBody.stream(AsyncStream<Data> { $0.finish() }, contentType: nil)

    for body in [large, stream] {
      let command = try HTTPRequest.post("http://a.test/", body: body).curlCommand()
      #expect(command.hasSuffix("--header Content-Type: --header Expect: --data-binary @- http://a.test/"))
      #expect(body.isUsable)
    }
    #expect(
      try HTTPRequest.post("/", body: .text("canary")).curlCommand(redaction: .strict, base: "http://a.test")
        .hasSuffix("--data-binary @- http://a.test/"))
  }

  @Test func `a client's command includes its header fields, cookies and credentials`() async throws {
    let client = Self.bare.derived {
      $0.baseURL = "http://a.test/api"
      $0.headers = ["X-Own": "1", "Accept": "a/b"]
      $0.options.decompression = .automatic
    }
    await client.cookies.set(Cookie("sid", "canary", domain: "a.test"))

    let shown = try client.curlCommand(for: .get("/x", query: ["q": "1"]), options: .credential(.token("canary")))
    let open = try client.curlCommand(
      for: .get("/x"), options: .credential(.token("canary")), redaction: .revealingSecrets)

    #expect(
      shown == "curl --compressed --header 'Accept: a/b' --header 'User-Agent: t' --header 'X-Own: 1' "
        + "--header 'Authorization: ***' --header 'Cookie: ***' 'http://a.test/api/x?q=1'")
    #expect(open.contains("'Authorization: Bearer canary'") && open.contains("'Cookie: sid=canary'"))
  }

  @Test func `empty header fields replace curl's defaults`() throws {
    let command = try Self.bare.derived { $0.headers = ["Accept": "", "User-Agent": ""] }.curlCommand(
      for: .get("http://a.test/"))

    #expect(command == "curl --header 'Accept;' --header 'User-Agent;' http://a.test/")
  }

  @Test(
    arguments: [
      .get("/relative"), HTTPRequest("CONNECT", "http://a.test/"), HTTPRequest("A B", "http://a.test/"),
      .get("http://a.test/", headers: ["A": "b\0"]), .get("http://a.test/", headers: ["A": "b\r\nc: d"]),
      .get("http://a.test/", headers: ["A b": "c"]), .get("http://a.test/\0"), .get("file:///etc/passwd"),
      HTTPRequest(.head, "http://a.test/", body: .text("x")), .post("http://a.test/", body: .json(Double.nan)),
      .post("http://a.test/", body: .file(URL(filePath: "/tmp/a\0b"))),
    ] as [HTTPRequest])
  func `throws for requests that cannot be sent or written as a command`(_ request: HTTPRequest) {
    let error = #expect(throws: HTTPError.self) { try request.curlCommand() }

    #expect(error?.kind == .invalidRequest)
  }

  @Test func `a command is one line of printable characters`() throws {
    var generator = SeededGenerator(seed: 40)
    for _ in 0..<Stress.count(1_000, full: 20_000) {
      var request = HTTPRequest.post(
        "http://a.test/", query: ["q": HostileText.random(upTo: 12, using: &generator)],
        body: .text(HostileText.random(upTo: 12, using: &generator)))
      request.headers["X"] = HostileText.random(upTo: 12, using: &generator)
      guard let command = try? request.curlCommand() else { continue }

      #expect(command.unicodeScalars.allSatisfy { Printable.isPrintable($0) })
    }
  }

  @Test(arguments: [
    ("", "''"), ("a", "a"), ("a'b", #"'a'\''b'"#), ("'", #"''\'''"#), ("$(x)`y`\\", #"'$(x)`y`\'"#), ("-x", "'-x'"),
    ("~", "'~'"), ("*", "'*'"), ("a b", "'a b'"), ("é", "'é'"), ("!", "'!'"), ("#", "'#'"),
    ("a\nb", #""$(printf 'a\012b')""#), ("\u{1B}", #""$(printf '\033')""#), ("%\t", #""$(printf '\045\011')""#),
  ])
  func `quotes shell words`(_ text: String, _ word: String) throws {
    #expect(try ShellText.word(text) == word)
  }

  @Test(arguments: ["a\0", "\u{1B}\n"])
  func `rejects words that cannot be written in a command`(_ text: String) {
    #expect(throws: InvalidInput.self) { try ShellText.word(text) }
  }
}
