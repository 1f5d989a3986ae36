import Testing

@testable import Martlet

@Suite struct InvalidInputTests {
  @Test(arguments: [
    ("plain é 日本", "plain é 日本"), ("a\r\nb\tc", "a\\r\\nb\\tc"),
    ("\0\u{1B}\u{7F}\u{85}", "\\u{0}\\u{1b}\\u{7f}\\u{85}"),
    ("\u{202E}\u{2066}\u{200F}\u{61C}", "\\u{202e}\\u{2066}\\u{200f}\\u{61c}"),
    ("\u{2028}\u{FEFF}", "\\u{2028}\\u{feff}"),
  ])
  func `escapes unprintable characters`(_ text: String, _ expected: String) {
    #expect(InvalidInput.printable(text) == expected)
  }

  @Test func `truncates long text`() {
    #expect(InvalidInput.printable(String(repeating: "a", count: 100)).count == 100)
    #expect(InvalidInput.printable(String(repeating: "a", count: 101)) == String(repeating: "a", count: 100) + "…")
    #expect(InvalidInput.printable("e" + String(repeating: "\u{301}", count: 10_000)).unicodeScalars.count == 101)
  }
}
