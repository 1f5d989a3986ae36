import Foundation
import TestSupport
import Testing

@testable import Martlet
@testable import MartletHAR

/// Reads HAR files from Martlet and other programs.
@Suite struct HARFileTests {
  private static func file(_ text: String) throws -> HARFile { try HARFile(Data(text.utf8), name: "x.har") }

  private static func entry(_ request: String, _ response: String, _ more: String = "") throws -> HAREntry {
    let text = #"{"log":{"version":"1.2","entries":[{"request":\#(request),"response":\#(response)\#(more)}]}}"#
    return try #require(try file(text).entries.first)
  }

  @Test func `reads HAR files from Chrome`() throws {
    let entry = try Self.entry(
      """
      {"method":"POST","url":"https://a.test/x?y=1","httpVersion":"http/2.0","headers":[{"name":":authority",
      "value":"a.test"},{"name":"accept","value":"*/*"}],"queryString":[{"name":"y","value":"1"}],"cookies":[],
      "headersSize":-1,"bodySize":3,"postData":{"mimeType":"application/x-www-form-urlencoded","text":"a=b",
      "params":[{"name":"a","value":"b"}]}}
      """,
      """
      {"status":200,"statusText":"","httpVersion":"http/2.0","headers":[],"cookies":[],"content":{"size":3,
      "mimeType":"image/png","text":"AAEC","encoding":"base64"},"redirectURL":"","headersSize":-1,"bodySize":-1,
      "_transferSize":100,"_error":null}
      """,
      """
      ,"_initiator":{"type":"script"},"_priority":"High","_resourceType":"fetch","cache":{},"connection":"443",
      "serverIPAddress":"[2001:db8::1]","startedDateTime":"2026-02-03T04:05:06.789Z","time":12.5,"timings":{"blocked":
      1.25,"dns":-1,"ssl":-1,"connect":-1,"send":0.25,"wait":10,"receive":1,"_blocked_queueing":1}
      """)

    #expect(entry.request.headers == ["accept": "*/*"] && entry.request.body?.content == .text("a=b"))
    #expect(entry.response.body?.content == .bytes(Data([0, 1, 2])) && entry.response.body?.size == 3)
    #expect(entry.timings.blocked == .microseconds(1250) && entry.timings.dns == nil)
    #expect(entry.timings.total == .microseconds(12_500))
    #expect(entry.startedAt.timeIntervalSince1970 == 1_770_091_506.789)
  }

  @Test func `reads HAR files from Firefox`() throws {
    let entry = try Self.entry(
      """
      {"bodySize":0,"method":"GET","url":"https://a.test/","httpVersion":"HTTP/2","headers":[{"name":"Host",
      "value":"a.test"}],"cookies":[{"name":"a","value":"b"}],"queryString":[],"headersSize":300}
      """,
      """
      {"status":304,"statusText":"Not Modified","httpVersion":"HTTP/2","headers":[],"cookies":[{"name":"s",
      "value":"t","samesite":"Lax"}],"content":{"mimeType":"text/html; charset=utf-8","size":2,"text":"hi"},
      "redirectURL":"","headersSize":100,"bodySize":0}
      """,
      """
      ,"startedDateTime":"2026-02-03T05:05:06.789+01:00","cache":{"afterRequest":null},"timings":{"blocked":0,"dns":0,
      "connect":0,"ssl":0,"send":0,"wait":7,"receive":0},"time":7,"_securityState":"secure","pageref":"page_1"
      """)

    #expect(entry.response.status == 304 && entry.response.body?.content == .text("hi"))
    #expect(entry.startedAt.timeIntervalSince1970 == 1_770_091_506.789 && entry.timings.total == .milliseconds(7))
  }

  @Test func `reads HAR files from Charles`() throws {
    let text = """
      \u{FEFF}{"log":{"version":"1.2","creator":{"name":"Charles Proxy","version":"4.6.2"},"entries":[{
      "startedDateTime":"2026-02-03T04:05:06Z","time":9,"charlesStatus":"COMPLETE","timings":{"send":1,"wait":8,
      "receive":0},"cache":{},"serverIPAddress":"192.0.2.1","request":{"method":"POST","url":"http://a.test/",
      "httpVersion":"HTTP/1.1","cookies":[],"headers":[],"queryString":[],"postData":{"mimeType":
      "application/x-www-form-urlencoded","params":[{"name":"a b","value":"c"},{"name":"d","value":"ü"}]},
      "headersSize":10,"bodySize":9},"response":{"_charlesStatus":"COMPLETE","status":204,"statusText":"No Content",
      "httpVersion":"HTTP/1.1","cookies":[],"headers":[{"name":"Date","value":"x"}],"content":{"size":0},
      "headersSize":1,"bodySize":0}}]}}
      """
    let file = try Self.file(text)

    #expect(file.creator == "Charles Proxy 4.6.2" && file.entries.count == 1)
    #expect(file.entries.first?.request.body?.content == .text("a+b=c&d=%C3%BC"))
    #expect(file.entries.first?.response.body?.content == HAREntry.Body.Content.none)
  }

  @Test(arguments: [
    ("", "x.har, line 1: not a HAR file, because it is not JSON: unexpected end"),
    ("{\n\n\"log\" 1}", "x.har, line 3: not a HAR file, because it is not JSON: expected a colon"),
    ("[]", "x.har: not a HAR file: it has no 'log'"),
    (#"{"log":{"version":"2.0","entries":[]}}"#, "x.har: HAR version '2.0' is not supported; 1.1 and 1.2 are"),
    (#"{"log":{"version":"1.2"}}"#, "x.har: not a HAR file: 'log' has no 'entries'"),
    (
      "{\"log\":{\"entries\":[\n{\"request\":{\"method\":\"GET\",\"url\":\"x\"},\"response\":{\"status\":200}},\n{}]}}",
      "x.har, line 3: entry 2 has no request.method"
    ),
    (
      "{\"log\":{\"entries\":[\n{\"request\":{\"method\":\"GET\",\"url\":\"]}\\\"{\"},\"response\":{\"status\":200}},\n"
        + "{\"request\":{\"method\":\"GET\",\"url\":\"\"},\"response\":{}}]}}",
      "x.har, line 3: entry 2 has no request.url"
    ),
  ])
  func `rejects a file that is not a HAR file, and names the file and line`(_ text: String, _ message: String) {
    let error = #expect(throws: HTTPError.self) { try Self.file(text) }

    #expect(error?.kind == .fileFailed && error?.message == message)
  }

  @Test func `reads the deviations of other programs`() throws {
    let entry = try Self.entry(
      #"{"method":"GET","url":"x","headers":[{"name":"a"},{"name":"b","value":1},{"value":"c"}]}"#,
      #"{"status":"204","content":{"text":"YWI","encoding":"Base64"}}"#, #","startedDateTime":"yesterday""#)
    #expect(entry.request.headers == ["a": "", "b": "1"] && entry.response.status == 204)
    #expect(entry.response.body?.content == .bytes(Data("ab".utf8)) && entry.startedAt.timeIntervalSince1970 == 0)

    let strange = try Self.entry(
      #"{"method":"GET","url":"x\ud83d \ud83d\ude00 \udc00"}"#, "{\"statusText\":\"a\u{1}b\"}")
    #expect(strange.request.url == "x\u{FFFD} 😀 \u{FFFD}" && strange.response.status == 0)
    #expect(strange.response.statusText == "a\u{1}b")
  }

  @Test(arguments: [
    ("\"text\":\"a\",\"encoding\":\"hex\"", "the body's encoding 'hex' is unknown"),
    ("\"text\":\"a\",\"encoding\":\"base64\"", "the body is not valid base64"),
  ])
  func `a comment explains why a body cannot be read`(_ content: String, _ problem: String) throws {
    let entry = try Self.entry(#"{"method":"GET","url":"x"}"#, "{\"status\":200,\"content\":{\(content)}}")

    #expect(entry.response.body?.content == HAREntry.Body.Content.none && entry.response.body?.comment == problem)
  }

  @Test func `the error for a missing file names it`() throws {
    let error = #expect(throws: HTTPError.self) { try HARFile(at: "/nowhere/x.har") }
    #expect(error?.message == "/nowhere/x.har does not exist")
    let url = try #require(URL(string: "https://a.test/x.har"))
    let other = #expect(throws: HTTPError.self) { try HARFile(at: url) }
    #expect(other?.kind == .fileFailed && other?.message.contains("needs a file URL") == true)
  }

  @Test func `escapes text as JSON`() throws {
    let strange = "\u{0}\u{1F}\n\r\t\"\\/é😀\u{2028}"
    let node = HARNode.members([
      ("a", .text(strange)), ("b", .number(Int64.min)), ("c", .milliseconds(.microseconds(1_000_007))),
      ("d", .milliseconds(nil)), ("e", .milliseconds(.seconds(-1.5))),
      ("f", .array([true, false].map { .members([("x", .literal("\($0)"))]) })), ("g", .text(nil)),
    ])
    var text: [UInt8] = []
    node.append(to: &text)

    let value = try JSONParser.value(of: Data(text))
    #expect(value["a"].string == strange && value["b"].int == .min)
    #expect(value["c"].double == 1000.007 && value["d"].int == -1 && value["e"].double == -1500)
    #expect(value["f"][1]["x"] == false && value.object?.count == 6)
  }
}
