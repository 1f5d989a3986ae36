import TestSupport
import Testing

@testable import MartletTool

@Suite(.hangLimit) struct JSONFormatterTests {
  @Test func `indents, and preserves the order of members and the text of numbers`() {
    let text = #"{"z":1.0,"a":[1e400,-0,{"b":null,"a":[]}],"é\u00e9":"x\/y","e":{} , "z":true}"#

    let formatted = JSONFormatter().format(text)

    #expect(
      formatted == #"""
        {
          "z": 1.0,
          "a": [
            1e400,
            -0,
            {
              "b": null,
              "a": []
            }
          ],
          "éé": "x\/y",
          "e": {},
          "z": true
        }
        """#)
  }

  @Test(arguments: ["12", "\"a\"", "null", " [ ] ", "{}"])
  func `a value without members stays on one line`(text: String) {
    #expect(JSONFormatter().format(text) == text.filter { $0 != " " })
  }

  @Test(arguments: [
    "", " ", "{", "}", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "[1 2]", "01", "1.", ".5", "+1",
    "1e",
    "-", "tru", "nul", "NaN", "\"", "\"\\x\"", "\"\\u12g4\"", "\"\n\"", "1 2", "[1]]", "{\"a\":1]", "[1}", "'a'",
    "// x",
    "\u{FEFF}1",
  ])
  func `does not format invalid JSON`(text: String) {
    #expect(JSONFormatter().format(text) == nil)
    #expect(JSONScanner.problem(in: text) != nil)
  }

  @Test(arguments: [("[1 2]", 3), ("{\"a\":}", 5), ("[1", 2), ("\"\\q\"", 2)])
  func `reports the offset of the first JSON error`(text: String, offset: Int) {
    #expect(JSONScanner.problem(in: text)?.offset == offset)
  }

  @Test func `limits the nesting depth of formatted JSON`() {
    let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)

    #expect(JSONScanner.problem(in: deep) == nil)
    #expect(JSONFormatter().format(deep) == nil)
    #expect(JSONFormatter(maximumDepth: 2).format("[[[]]]") == nil)
    #expect(JSONFormatter(maximumDepth: 3).format("[[[]]]") != nil)
  }

  @Test func `colors keys and values differently`() {
    let text = JSONFormatter(palette: .colored).format(#"{"a":"b"}"#)

    #expect(text == "{\n  \u{1B}[34;1m\"a\"\u{1B}[0m: \u{1B}[32;22m\"b\"\u{1B}[0m\n}")
  }

  @Test(arguments: [
    (#"\u00fc\u4E2D"#, "ü中"), (#"\ud83d\ude00!"#, "😀!"), (#"a\u0020b"#, "a b"), (#"\\u00fc"#, #"\\u00fc"#),
    (#"\u0022\u005c"#, #"\u0022\u005c"#), (#"\u001b\u009b\u0000"#, #"\u001b\u009b\u0000"#),
    (#"\u202e\u200b\ufeff\u00a0"#, #"\u202e\u200b\ufeff\u00a0"#), (#"\ud83d"#, #"\ud83d"#),
    (#"\ude00\ud83dx\n"#, #"\ude00\ud83dx\n"#), (#"\ud83d\u00fc"#, #"\ud83dü"#),
  ])
  func `decodes escaped letters and keeps escaped control characters`(text: String, shown: String) {
    #expect(JSONFormatter().format("[\"\(text)\"]") == "[\n  \"\(shown)\"\n]")
    #expect(JSONFormatter().format("{\"\(text)\":1}") == "{\n  \"\(shown)\": 1\n}")
  }

  @Test func `escapes control characters that JSON allows in strings`() {
    #expect(JSONFormatter().format("[\"a\u{9B}31m\u{202E}\u{7F}\"]") == "[\n  \"a\\u{9b}31m\\u{202e}\\u{7f}\"\n]")
  }
}
