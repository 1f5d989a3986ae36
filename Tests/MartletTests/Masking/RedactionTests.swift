import Foundation
import TestSupport
import Testing

@testable import Martlet

@Suite struct RedactionTests {
  private static func url(_ text: String, _ redaction: Redaction = .standard) -> String {
    redaction.url(of: .get(RequestTarget(text)))
  }

  /// The placeholder for a hidden body.
  private static let hidden = "not shown"

  private static func masked(_ text: String, _ type: String?, _ redaction: Redaction = .standard) -> String {
    BodyMask.masked(Data(text.utf8), contentType: type, redaction).map { String(decoding: $0, as: UTF8.self) } ?? hidden
  }

  @Test(
    arguments: [
      // curl's -d sends any data with this type.
      (#"{"password":"canary","n":1}"#, "application/x-www-form-urlencoded", #"{"password":"***","n":1}"#),
      ("a=1;password=canary&b=2", "application/x-www-form-urlencoded", "a=1;password=***&b=2"),
      ("payload=%7B%22password%22%3A%22canary%22%7D&b=%7B1", "application/x-www-form-urlencoded", "payload=***&b=%7B1"),
      ("access_token=canary&token_type=bearer x", "text/plain", "access_token=***&token_type=*** x"),
      ("user=ada password=canary", nil, "user=ada password=***"),
      (#"<a href="/x?access_token=canary">"#, "text/html", hidden),
      ("<h1>502 Bad Gateway</h1><hr>", "text/html", "<h1>502 Bad Gateway</h1><hr>"),
      ("var apiKey = f('canary')", "text/javascript", hidden), ("user,password\nada,canary", "text/csv", hidden),
      // JSON in a JSON string, as in queue events.
      (
        #"{"body":"{\"password\":\"canary\"}","id":1}"#, "application/json",
        #"{"body":"{\"password\":\"***\"}","id":1}"#
      ),
      (
        #"{"a":"{\"b\":\"{\\\"token\\\":\\\"canary\\\"}\"}"}"#, "application/json",
        #"{"a":"{\"b\":\"{\\\"token\\\":\\\"***\\\"}\"}"}"#
      ),
      (#"{"body":"{\"name\":\"Ada\"}"}"#, "application/json", #"{"body":"{\"name\":\"Ada\"}"}"#),
      (#"{"next":"https://a/?token=canary","n":1}"#, "application/json", #"{"next":"https://a/?token=***","n":1}"#),
      (#"{"text":"see \"?token=canary\" there"}"#, "application/json", #"{"text":"see \"?token=***\" there"}"#),
      (
        #"{"next":"https://a.test/?page_token=","items":[1]}"#, "application/json",
        #"{"next":"https://a.test/?page_token=***","items":[1]}"#
      ),
      (#"{"msg":"token=\"abc\" x"}"#, "application/json", #"{"msg":"token=\"***\" x"}"#),
      (#"<error code="404" n="1"/>"#, "application/xml", #"<error code="***" n="1"/>"#),
      ("password='canary canary' x", "text/plain", "password='***' x"),
      (
        #"{"body":"{\u0022token\u0022:\u0022x\u0022}"}"#, "application/json", #"{"body":"{\"token\":\"***\"}"}"#
      ),
      (#"payload={"token":"x"}&b=1"#, "application/x-www-form-urlencoded", "payload=***&b=1"),
      ("next=https%3A%2F%2Fa%2F%3Ftoken%3Dx&b=1", "application/x-www-form-urlencoded", "next=***&b=1"),
      // An unbalanced quote.
      ("a 5\" disk\n{\"password\":\"canary\"}\n", "text/plain", "a 5\" disk\n{\"password\":\"***\"}\n"),
      ("a 5\" disk {\"password\":\"canary\"}", "application/x-ndjson", hidden),
      ("password=ab;canary&b=1", "application/x-www-form-urlencoded", "password=***&b=1"),
      ("[user][pwd]=canary&b=1", "application/x-www-form-urlencoded", "[user][pwd]=***&b=1"),
      ("user%5Bpwd%5D=canary", "application/x-www-form-urlencoded", "user%5Bpwd%5D=***"),
      (#"[{"name":"password","value":"canary"}]"#, "application/json", #"[{"name":"password","value":"***"}]"#),
      (#"[{"value":"canary","na"#, "application/json", #"[{"value":"***","na"#),
      (
        #"[["Authorization","canary"],["Accept","x"]]"#, "application/json",
        #"[["Authorization","***"],["Accept","x"]]"#
      ),
      (#"{"u":"http:\/\/h\/?token\u003dab%26canary\u0026n=1"}"#, nil, #"{"u":"http://h/?token=***&n=1"}"#),
      (#"sent {\"password\":\"canary\"}"#, "text/plain", #"sent {\"password\":\"***\"}"#),
      ("body a%3D1%26token%3Dcanary sent", "text/plain", "body a%3D1%26token%3D*** sent"),
      ("data: {\"token\":\"canary\"}\n\n", "text/event-stream", "data: {\"token\":\"***\"}\n\n"),
      ("> Authorization: Bearer canary\n> Accept: */*", "text/plain", "> Authorization: ***\n> Accept: */*"),
      ("exit code: 7, Zip code: 8", "text/plain", "exit code: 7, Zip code: 8"),
      ("401 Unauthorized: the server offers Hawk", "text/plain", "401 Unauthorized: the server offers Hawk"),
    ] as [(String, String?, String)])
  func `masks secrets in unusual bodies`(_ text: String, _ type: String?, _ shown: String) {
    #expect(Self.masked(text, type) == shown)
    #expect(Self.masked(text, type, .revealingSecrets) == text)
  }

  @Test(
    arguments: [
      (#"{"token":123}"#, "application/json", nil, .standard, .text(Data(#"{"token":0}"#.utf8))),
      ("password=canary", "application/x-www-form-urlencoded", nil, .standard, .text(Data("password=***".utf8))),
      ("<input name=password>", "text/html", nil, .standard, nil), ("x", "text/plain", nil, .strict, nil),
      ("x", "image/png", nil, .standard, .bytes(Data("x".utf8))), ("x", "image/png", "gzip", .standard, nil),
      ("x", "image/png", nil, .strict, nil), ("x", "application/x-protobuf", nil, .standard, nil),
      ("x", "application/x-protobuf", nil, .revealingSecrets, .bytes(Data("x".utf8))),
    ] as [(String, String?, String?, Redaction, Redaction.MaskedBody?)])
  func `an instrument masks bodies as a recording does`(
    _ text: String, _ type: String?, _ coding: String?, _ redaction: Redaction, _ masked: Redaction.MaskedBody?
  ) {
    #expect(redaction.maskedBody(Data(text.utf8), contentType: type, coding: coding) == masked)
  }

  @Test func `an instrument masks URLs, fields and text as logs do`() {
    let request = HTTPRequest(.get, "https://canary:canary@a.test/x?token=canary&n=1#canary")
    let field = HTTPHeaders.Field(name: "X-Api-Key", value: "canary")

    #expect(Redaction.standard.maskedURL(of: request) == "https://a.test/x?token=***&n=1")
    #expect(Redaction.standard.maskedValue(of: field) == "***")
    #expect(Redaction.standard.masked("sent token=canary") == "sent token=***")
  }

  @Test func `data with NUL bytes does not count as text`() {
    let text = Data(#"{"password":"canary"}"#.utf16.flatMap { [UInt8($0), 0] })
    #expect(!BodyMask.isText(text, contentType: "application/json", coding: nil))
  }

  // MARK: Header fields

  @Test(arguments: [
    "Authorization", "authorization", "PROXY-AUTHORIZATION", "Cookie", "Set-Cookie", "Set-Cookie2", "X-Api-Key",
    "apikey",
    "Authentication-Info", "Proxy-Authentication-Info", "X-Auth-Token", "X-Amz-Security-Token", "Client-Secret",
    "X-Password", "X-CSRF-Token", "Mcp-Session-Id", "X-Forwarded-Authorization", "Ocp-Apim-Subscription-Key",
  ])
  func `masks fields that carry credentials`(_ name: String) {
    let field = HTTPHeaders.Field(name: name, value: "canary")

    #expect(Redaction.standard.value(of: field) == "***")
    #expect(Redaction.strict.value(of: field) == "***")
    #expect(Redaction.revealingSecrets.value(of: field) == "canary")
  }

  @Test(arguments: [
    "Accept", "Content-Type", "WWW-Authenticate", "Access-Control-Allow-Credentials", "ETag", "Idempotency-Key", "Host",
  ])
  func `shows other fields`(_ name: String) {
    #expect(Redaction.standard.value(of: .init(name: name, value: "a")) == "a")
    #expect(Redaction.strict.value(of: .init(name: name, value: "a")) == "***")
    let own = Redaction.revealingSecrets.masking(headers: [name.lowercased()])
    #expect(own.value(of: .init(name: name, value: "a")) == "***")
  }

  @Test(arguments: [
    ("see https://u:canary@a.test/?page=1&token=canary#x", "see https://a.test/?page=1&token=***"),
    ("<https://a.test/?api_key=canary>; rel=\"next\"", "<https://a.test/?api_key=***>; rel=\"next\""),
    ("0; url=http://canary:canary@a.test/", "0; url=http://a.test/"),
    ("form-data; password=\"can ary\"; x=1", "form-data; password=\"***\"; x=1"),
    (#"Auth token="can\"ary" x=1"#, #"Auth token="***" x=1"#),
    ("Auth token = canary, x = 1", "Auth token = ***, x = 1"),
    ("plain", "plain"), ("charset=utf-8", "charset=utf-8"), ("a@b.test", "a@b.test"),
    ("/x?pass%77ord=canary", "/x?pass%77ord=***"), ("?token=", "?token=***"),
  ])
  func `masks secrets inside other fields`(_ value: String, _ shown: String) {
    #expect(Redaction.standard.value(of: .init(name: "Link", value: value)) == shown)
    #expect(Redaction.revealingSecrets.value(of: .init(name: "Link", value: value)) == value)
  }

  @Test(arguments: ["Location", "content-location", "Referer"])
  func `masks URLs in Location, Content-Location and Referer`(_ name: String) {
    let value = "https://u:canary@a.test/?page=1&token=canary#canary"

    #expect(Redaction.standard.value(of: .init(name: name, value: value)) == "https://a.test/?page=1&token=***")
    #expect(Redaction.standard.value(of: .init(name: name, value: "/b?page=1#canary")) == "/b?page=1")
    #expect(Redaction.revealingSecrets.value(of: .init(name: name, value: value)) == value)
  }

  // MARK: URLs

  @Test(arguments: [
    ("https://u:canary@a.test/x?page=2#canary", "https://a.test/x?page=2"),
    ("https://a.test/?token=canary&q=1&sig=canary", "https://a.test/?token=***&q=1&sig=***"),
    ("https://a.test/?pass%77ord=canary&apiKey=canary", "https://a.test/?pass%77ord=***&apiKey=***"),
    (
      "https://a.test/?X-Amz-Signature=canary&X-Amz-Credential=canary",
      "https://a.test/?X-Amz-Signature=***&X-Amz-Credential=***"
    ),
    ("https://a.test/?key&a=%00", "https://a.test/?key&a=%00"),
    ("https://a.test/?a=1;token=canary;b=2", "https://a.test/?a=1;token=***"),
    ("https://a.test/a;token=canary/b;v=1", "https://a.test/a;token=***/b;v=1"),
    ("https://a.test/?token=can;ary&a=1", "https://a.test/?token=***&a=1"),
    ("/relative?q=1", "/relative?q=***"),
  ])
  func `masks credentials, secret query values and fragments in URLs`(_ text: String, _ shown: String) {
    #expect(Self.url(text) == shown)
  }

  @Test(arguments: [
    ("https://ada:canary", "https://***"), ("https://ada:canary…", "https://***"),
    ("HTTPS://ADA:12canary", "HTTPS://***"),
    ("redis://:canary", "redis://***"), ("//ada:canary", "//***"), ("https:///ada:canary", "https:///***"),
    ("https://ada%3Acanary", "https://***"), ("https://ada:12%2Fcanary", "https://***"),
    ("https://ada:123456", "https://***"), ("https://ada:canary/canary", "https://***"),
    ("https://[::1]:canary", "https://***"), ("https://[ada:canary", "https://***"),
    ("https://[ada:ab%5Dcanary", "https://***"), ("https://[::1]canary", "https://***"),
    ("https://ada@corp.test:canary", "https://***"), ("https://ada:x/canary@a.test", "https://***"),
    ("https://canary1Ry2Tb8Rv1Nc6x", "https://***"), ("https://canary1Ry2Tb8Rv1Nc6x:", "https://***"),
    ("https://canary:x-oauth-basic", "https://***"),
    // Hosts and ports, even if they are truncated.
    ("https://ada", "https://ada"), ("https://ada:", "https://ada:"), ("https://a.test:12345", "https://a.test:12345"),
    ("https://[::1", "https://[::1"), ("https://[2001:db8::1]:80", "https://[2001:db8::1]:80"),
    ("https://d1a2b3c4d5e6f7.cdn.test", "https://d1a2b3c4d5e6f7.cdn.test"),
    ("https://u:canary@a.test:80", "https://a.test:80"),
  ])
  func `masks userinfo that is truncated before its @`(_ text: String, _ shown: String) {
    for (before, after) in [
      ("", ""), ("GET ", " 200"), ("\"", "\""), ("<", ">; a"), ("`", "`"), ("Basic realm=\"GET ", "\""),
      ("{\"a\":\"", "\"}"),
    ] {
      #expect(Redaction.standard.text(before + text + after) == before + shown + after)
    }
    #expect(Self.masked("<a>\(text)</a>", "text/xml") == "<a>\(shown)</a>")
    #expect(!Redaction.standard.text("'\(text)', x").contains("canary"))
    #expect(Redaction.standard.value(of: .init(name: "Location", value: text)) == shown.replacing("///", with: "//"))
    #expect(Redaction.revealingSecrets.text(text) == text)
  }

  @Test(arguments: [
    ("https://a.test/bot123456:canary-canary/getMe", "https://a.test/***/getMe"),
    ("https://a.test/%62ot123%3Acanary-canary/x", "https://a.test/***/x"),
    ("https://hooks.slack.com/services/T0/B0/canary", "https://hooks.slack.com/services/T0/B0/***"),
    ("https://discord.com/api/webhooks/1/canary", "https://discord.com/api/webhooks/1/***"),
    ("https://a.test/v/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln/x", "https://a.test/v/***/x"),
    ("https://a.test/reset/Zx81kLq09PwTr5Yu2Nb7", "https://a.test/reset/***"),
    ("https://a.test/key/0123456789abcdef0123456789abcdef", "https://a.test/key/***"),
    ("https://a.test/?next=https%3A%2F%2Fb%2F%3Ftoken%3Dcanary&n=1", "https://a.test/?next=***&n=1"),
    // Identifiers, digests and names are shown.
    (
      "https://a.test/550e8400-e29b-41d4-a716-446655440000/my-article-about-2024-things.html",
      "https://a.test/550e8400-e29b-41d4-a716-446655440000/my-article-about-2024-things.html"
    ),
    (
      "https://a.test/commit/9fceb02c3e1f5b6a7d8e9f0a1b2c3d4e5f607182",
      "https://a.test/commit/9fceb02c3e1f5b6a7d8e9f0a1b2c3d4e5f607182"
    ),
    (
      "https://a.test/2026-11-28T01:34:47Z/robots.txt/botany:1",
      "https://a.test/2026-11-28T01:34:47Z/robots.txt/botany:1"
    ),
  ])
  func `masks parts of paths that look like secrets`(_ text: String, _ shown: String) {
    #expect(Self.url(text) == shown)
    #expect(Self.url(text, .revealingSecrets) == text)
    #expect(Redaction.standard.text("see \(text) there") == "see \(shown) there")
    #expect(Redaction.standard.value(of: .init(name: "Location", value: text)) == shown)
  }

  @Test(arguments: [
    ("/users/*/keys/{key}", "/v1/users/7/keys/***/x"), ("/users/{id}", "/v1/users/***/keys/abc/x"),
    ("a.test/v1/{x}", "/v1/***/7/keys/abc/x"), ("a.test/users/{id}", "/v1/users/7/keys/abc/x"),
    ("b.test/v1/{x}", "/v1/users/7/keys/abc/x"), ("/k{x}s", "/v1/users/7/k***s/abc/x"), ("", "/v1/users/7/keys/abc/x"),
    ("/{x}", "/***/***/***/***/***/***"),
  ])
  func `masks parts of paths that a pattern names`(_ pattern: String, _ shown: String) {
    let redaction = Redaction.standard.masking(paths: [pattern])
    #expect(Self.url("https://a.test/v1/users/7/keys/abc/x", redaction) == "https://a.test" + shown)
    #expect(redaction.text("at https://a.test/v1/users/7/keys/abc/x now") == "at https://a.test\(shown) now")
    #expect(
      Self.url("https://a.test/v1/users/7/keys/abc/x", .revealingSecrets.masking(paths: [pattern]))
        == "https://a.test" + shown)
  }

  @Test func `masks and shows query items by name`() {
    let text = "http://a.test/?Code=1&e-mail=2&x=3"

    #expect(Self.url(text) == "http://a.test/?Code=***&e-mail=2&x=3")
    let own = Redaction.standard.masking(queryItems: ["email"]).showing(queryItems: ["code"])
    #expect(Self.url(text, own) == "http://a.test/?Code=1&e-mail=***&x=3")
    #expect(Self.url(text, own.masking(queryItems: ["code"]).showing(queryItems: ["email"])) == Self.url(text))
    #expect(Self.url(text, .strict) == "http://a.test/?Code=***&e-mail=***&x=***")
    #expect(Self.url(text, .strict.showing(queryItems: ["x"])) == "http://a.test/?Code=***&e-mail=***&x=3")
    #expect(Self.url("http://u:p@a.test/?token=1", .revealingSecrets) == "http://a.test/?token=1")
  }

  @Test func `a description without a client uses strict redaction`() {
    let request = HTTPRequest.get("http://u:canary@a.test/?page=canary", headers: ["Accept": "canary"])
    var dumped = ""
    dump(request, to: &dumped)

    #expect("\(request)" == "GET http://a.test/?page=***")
    #expect(!dumped.contains("canary"))
  }

  // MARK: Bodies

  @Test(arguments: [
    (#"{"password":"canary","a":1}"#, #"{"password":"***","a":1}"#),
    (#"{"p\u0061ssword" : "can\"ary" , "a": "b"}"#, #"{"p\u0061ssword" : "***" , "a": "b"}"#),
    (#"{"access_token":{"a":["canary}",1]},"b":2}"#, #"{"access_token":"***","b":2}"#),
    (#"[{"pin":1234,"secret":null,"max_tokens":5}]"#, #"[{"pin":"***","secret":null,"max_tokens":5}]"#),
    (#"{"token":"canar"#, #"{"token":"***""#), (#"{"token":["canary", "c"#, #"{"token":"***""#),
    (#"{"to"#, #"{"to"#), (#"{"token":"#, #"{"token":"#), (#"{"a":"token","b":"c"}"#, #"{"a":"token","b":"c"}"#),
    (#"{"token":"a\"#, #"{"token":"***""#), ("", ""), ("plain text", "plain text"),
    (#"{"max_tokens":1{"a":"canary"},"b":2}"#, hidden),
    (
      #"{"tok\u0045\nn":1,"\ud83d\ude00key":2,"\qto\/ken":3}"#,
      #"{"tok\u0045\nn":"***","\ud83d\ude00key":2,"\qto\/ken":"***"}"#
    ),
  ])
  func `masks members of JSON`(_ text: String, _ shown: String) {
    #expect(Self.masked(text, "application/json") == shown)
    #expect(Self.masked(text, "application/problem+json; charset=utf-8") == shown)
    if shown != Self.hidden { #expect(Self.masked(text, nil) == shown) }
    #expect(Self.masked(text, "application/json", .revealingSecrets) == text)
  }

  @Test func `masks non-ASCII names in escaped and unescaped form`() {
    let redaction = Redaction.standard.masking(queryItems: ["Größe", "😀"])

    let shown = Self.masked(#"{"gr\u00F6\u00dfe":1,"größe":1,"\ud83D\uDE00":1,"\ud83d":1,"\u00zz":1}"#, nil, redaction)
    #expect(shown == #"{"gr\u00F6\u00dfe":"***","größe":"***","\ud83D\uDE00":"***","\ud83d":1,"\u00zz":1}"#)
    #expect(Self.url("http://a.test/?gr%C3%B6%C3%9Fe=1&gr%2D%C3%B6%C3%9Fe=1&gr=1", redaction).hasSuffix("=***&gr=1"))
  }

  @Test func `masks fields of a form`() {
    let type = "application/x-www-form-urlencoded"

    #expect(Self.masked("user=ada&pass%77ord=canary&x", type) == "user=ada&pass%77ord=***&x")
    #expect(Self.masked("user=ada&password=can", type) == "user=ada&password=***")
    #expect(Self.masked("&&token=1&=&token&", type) == "&&token=***&=&token&")
  }

  @Test func `masking random JSON bounds the length of the result`() {
    var generator = SeededGenerator(seed: 39)
    for _ in 0..<Stress.count(500, full: 20_000) {
      let text = generator.damagedText(of: [
        #"{"user":"ada","password":"x","list":[1,{"token":"y"}],"n":null}"#, #"["token","password"]"#,
      ])

      let shown = Self.masked(text, "application/json")

      #expect(shown.utf8.count <= text.utf8.count * 4 + 8)
    }
  }
}
