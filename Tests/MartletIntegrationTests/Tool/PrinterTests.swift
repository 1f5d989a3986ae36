import Foundation
import Martlet
import TestSupport
import Testing

@testable import MartletTool

@Suite(.hangLimit) struct PrinterTests {
  private func response(_ type: String?, status: HTTPStatus = .ok) -> StreamedResponse {
    var headers = HTTPHeaders()
    headers["Content-Type"] = type
    return StreamedResponse(status: status, headers: headers, request: .get("http://a.test/"))
  }

  private func body(_ text: String, _ type: String?) -> String {
    Printer().body(Data(text.utf8), of: response(type))
  }

  @Test func `prints the status and each header field on its own line`() {
    var response = response("text/html", status: 404)
    response.httpVersion = .http1_1

    #expect(Printer().head(of: response) == "HTTP/1.1 404 Not Found\nContent-Type: text/html\n")
  }

  @Test func `escapes terminal control sequences in the head`() {
    var response = response("a\u{1B}]0;x\u{7}")
    response.reasonPhrase = "\u{1B}[2J"

    #expect(Printer().head(of: response) == "HTTP 200 \\u{1b}[2J\nContent-Type: a\\u{1b}]0;x\\u{7}\n")
    #expect(Printer(isForTerminal: false).head(of: response).contains("\u{1B}[2J"))
  }

  @Test func `masks the secrets of a request`() {
    let request = HTTPRequest(
      .post, "http://u:p@a.test:81/x?y=1#z",
      headers: ["authorization": "Bearer s", "Cookie": "s=1", "Cookie": "t=2", "Proxy-Authorization": "s", "A": "b"],
      body: .text("abc"))

    let lines = Printer().head(of: request).split(separator: "\n")

    #expect(
      lines == [
        "POST /x?y=1", "Host: a.test:81", "authorization: ***", "Cookie: ***", "Cookie: ***",
        "Proxy-Authorization: ***", "A: b", "Content-Length: 3",
      ])
  }

  @Test func `masks the secrets of URLs, and those of a response only in a trace`() {
    let request = HTTPRequest(.get, "http://u:p@a.test/v1?token=s&q=1#z", headers: ["Referer": "http://b.test/?sig=s"])
    var response = response(nil)
    response.headers = ["Set-Cookie": "sid=s", "A": "b"]

    #expect(Printer().head(of: request) == "GET /v1?token=***&q=1\nHost: a.test\nReferer: http://b.test/?sig=***\n")
    #expect(Printer().head(of: .get("http://a.test")).hasPrefix("GET /\n"))
    #expect(Printer().head(of: response, masksSecrets: true) == "HTTP 200 OK\nSet-Cookie: ***\nA: b\n")
    #expect(Printer().head(of: response) == "HTTP 200 OK\nSet-Cookie: sid=s\nA: b\n")
  }

  @Test func `indents JSON, even without a Content-Type, and prints invalid JSON unchanged`() {
    #expect(body("{\"a\":1}", "application/problem+json") == "{\n  \"a\": 1\n}\n")
    #expect(body("{\"a\":1}", nil) == "{\n  \"a\": 1\n}\n")
    #expect(body("{\"a\":1}", "text/plain") == "{\"a\":1}\n")
    #expect(body("{\"a\":1", "application/json") == "{\"a\":1\n")
  }

  @Test func `leaves JSON unchanged without formatting, and escapes control characters`() {
    let printer = Printer(isFormatted: false)
    let data = Data("{\"a\":1,\"b\":\"\u{1B}\"}".utf8)

    #expect(printer.body(data, of: response("application/json")) == "{\"a\":1,\"b\":\"\\u{1b}\"}\n")
    #expect(Printer.isText(data, of: response("application/json")))
    #expect(!Printer.isText(Data([0x89, 0x50, 0, 1]), of: response("image/png")))
  }

  @Test func `keeps line breaks and escapes control characters in the body`() {
    #expect(body("a\r\n\tb\n", "text/plain") == "a\r\n\tb\n")
    #expect(body("ok\rno \u{1B}[31m\u{8}\u{9B}1m", "text/plain") == "ok\\u{d}no \\u{1b}[31m\\u{8}\\u{9b}1m\n")
  }

  @Test(
    arguments: [
      ("image/png", [0x89, 0x50, 0, 1], "(4 bytes of image/png, not shown: use -o file or a pipe)\n"),
      (nil, [0xFF, 0xFE, 0xFD], "(3 bytes of an unknown type, not shown: use -o file or a pipe)\n"),
      ("text/plain", [0x61, 0], "(2 bytes of text/plain, not shown: use -o file or a pipe)\n"),
      ("text/plain; charset=iso-8859-1", [0x61, 0xE9], "aé\n"), ("application/octet-stream", [0x61], "a\n"),
      (nil, [], ""),
    ] as [(String?, [UInt8], String)])
  func `describes binary bodies instead of printing them`(type: String?, bytes: [UInt8], shown: String) {
    #expect(Printer().body(Data(bytes), of: response(type)) == shown)
  }

  @Test(arguments: [
    ([:], false), (["TERM": "xterm"], true), (["TERM": "dumb"], false), (["TERM": "xterm", "NO_COLOR": "1"], false),
    (["TERM": "xterm", "NO_COLOR": ""], true),
  ])
  func `TERM and NO_COLOR decide whether colors are used`(environment: [String: String], isColored: Bool) {
    #expect(Terminal.allowsColor(environment) == isColored)
  }
}
