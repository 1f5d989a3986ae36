import TestSupport
import Testing

@testable import Martlet

@Suite struct MediaTypeTests {
  @Test(arguments: [
    ("text/html", "text/html", []), ("TEXT/Html", "text/html", []), (" text/html\t", "text/html", []),
    ("*/*", "*/*", []), ("text/html;", "text/html", []), ("text/html ; ; ;", "text/html", []),
    ("text/html;charset=UTF-8", "text/html", ["charset=UTF-8"]),
    ("text/html ;\t Charset=UTF-8 ; a=b", "text/html", ["charset=UTF-8", "a=b"]),
    (#"text/html; charset="utf-8""#, "text/html", ["charset=utf-8"]),
    (#"a/b; x="a;b, \"c\" \\"; y=2"#, "a/b", [#"x=a;b, "c" \"#, "y=2"]),
    (#"a/b; x="""#, "a/b", ["x="]), (#"a/b; x="\é日""#, "a/b", ["x=é日"]),
    ("a/b; A=1; a=2", "a/b", ["a=1", "a=2"]),
    ("multipart/form-data; boundary=----WebKit'()+_", "multipart/form-data", []),
    ("multipart/form-data; boundary=----WebKit'+_", "multipart/form-data", ["boundary=----WebKit'+_"]),
    ("application/vnd.api+json;v=1", "application/vnd.api+json", ["v=1"]),
  ])
  func `parses types and parameters`(text: String, essence: String, parameters: [String]) throws {
    let type = try #require(MediaType(text))

    #expect(type.essence == essence)
    #expect(type.parameters.map { "\($0.name)=\($0.value)" } == parameters)
  }

  @Test(arguments: [
    "charset", "charset=", "=utf-8", "charset = utf-8", "charset= utf-8", "char set=a", #"charset="utf-8"#,
    #"charset="a"b"#, #"charset=a"b""#, "charset=\"a\u{1}\"", "charset=é", "charset=a b", #"charset="\"#,
  ])
  func `omits a malformed parameter`(parameter: String) throws {
    let type = try #require(MediaType("text/plain; \(parameter)"))

    #expect(type.essence == "text/plain")
    #expect(type.parameters.isEmpty)
  }

  @Test(arguments: [
    "", " ", ";", "text", "text/", "/html", "/", "text//html", "text/html/x", "te xt/html", "text /html", "text/ html",
    "text/html, text/plain", ";text/html", "; text/html", "é/x", "text/é", "text/html\r\n", "text\0/html", "\"a\"/b",
    "charset=utf-8; text/html",
  ])
  func `is nil without a type or a subtype`(text: String) {
    #expect(MediaType(text) == nil)
  }

  @Test func `finds the first parameter by case-insensitive name`() {
    let type = MediaType(
      type: "Text", subtype: "PLAIN",
      parameters: [.init(name: "Charset", value: "ISO-8859-1"), .init(name: "CHARSET", value: "utf-8")])

    #expect(type.essence == "text/plain")
    #expect(type.parameter("cHARSET") == "ISO-8859-1")
    #expect(type.charset == "iso-8859-1")
    #expect(type.parameter("none") == nil)
    #expect(MediaType.json.charset == nil)
    #expect(type.description == "text/plain; charset=ISO-8859-1; charset=utf-8")
  }

  @Test(arguments: [
    ("utf-8", "a/b; x=utf-8"), ("", #"a/b; x="""#), ("a b", #"a/b; x="a b""#),
    (#"say "hi" \o/"#, #"a/b; x="say \"hi\" \\o/""#), ("é;,=", #"a/b; x="é;,=""#),
  ])
  func `quotes parameter values that are not tokens`(value: String, text: String) {
    let type = MediaType(type: "a", subtype: "b", parameters: [.init(name: "x", value: value)])

    #expect(type.description == text)
    #expect(MediaType(text) == type)
  }

  @Test(arguments: [
    ("application/json", true, true), ("text/json", true, true), ("application/problem+json", true, true),
    ("image/x+json", true, true), ("image/json", false, false), ("application/jsonp", false, false),
    ("application/json-seq", false, false), ("text/plain", false, true), ("text/x-anything", false, true),
    ("application/xml", false, true), ("image/svg+xml", false, true), ("application/javascript", false, true),
    ("application/x-www-form-urlencoded", false, true), ("application/octet-stream", false, false),
    ("image/png", false, false), ("image/xml", false, false), ("APPLICATION/JSON; charset=utf-8", true, true),
  ])
  func `detects JSON and text types`(text: String, isJSON: Bool, isText: Bool) throws {
    let type = try #require(MediaType(text))

    #expect(type.isJSON == isJSON)
    #expect(type.isText == isText)
  }

  @Test func `has constants for common types`() {
    #expect(MediaType.json.description == "application/json")
    #expect(MediaType.form.description == "application/x-www-form-urlencoded")
    #expect(MediaType.text.description == "text/plain; charset=utf-8")
    #expect(MediaType.octetStream.description == "application/octet-stream")
    #expect(MediaType.html.description == "text/html; charset=utf-8")
    #expect(MediaType("Text/HTML;CHARSET=utf-8") == .html)
    #expect(MediaType("text/html;charset=UTF-8") != .html)
  }

  @Test func `random parameters survive a round trip`() throws {
    var random = SeededGenerator(seed: 3)
    let alphabet = Array(#"aZ0;,="\ /()é日"#.unicodeScalars) + ["\t"]

    for _ in 0..<3_000 {
      var value = ""
      for _ in 0..<Int.random(in: 0...8, using: &random) {
        value.unicodeScalars.append(alphabet[Int.random(in: alphabet.indices, using: &random)])
      }
      let type = MediaType(
        type: "a", subtype: "b", parameters: [.init(name: "x", value: value), .init(name: "y", value: "1")])

      try #require(MediaType(type.description) == type)
    }
  }

  @Test func `a damaged media type is rejected or survives a round trip`() {
    var random = SeededGenerator(seed: 4)
    let samples = [#"text/html; charset="utf-8"; a=b"#, #"a/b; x="a;b, \"c\" \\"; y=2"#, "text/plain"]
    var accepted = 0

    let rounds = Stress.count(4_000, full: 20_000)
    for _ in 0..<rounds {
      guard let type = MediaType(random.damagedText(of: samples)) else { continue }
      accepted += 1
      #expect(MediaType(type.description) == type)
    }

    #expect(accepted > rounds / 20)
  }
}
