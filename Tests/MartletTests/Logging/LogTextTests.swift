import Testing

@testable import Martlet

@Suite struct LogTextTests {
  @Test func `escapes line ends, terminal controls and bidirectional characters`() {
    let bad =
      (0x00...0x1F).map { $0 } + [0x7F] + (0x80...0x9F).map { $0 } + [0x61C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029]
      + (0x202A...0x202E).map { $0 } + (0x2060...0x206F).map { $0 } + [0xFEFF, 0xFFF9, 0xE0001, 0xE0041, 0xE000]

    for value in bad {
      guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
      for shown in [LogText.line("a\(scalar)b".utf8), InvalidInput.printable("a\(scalar)b")] {
        #expect(shown.hasPrefix("a\\") && shown.hasSuffix("b") && !shown.unicodeScalars.contains(scalar), "\(value)")
      }
    }
  }

  @Test(
    arguments: [
      ([0x61, 0x80, 0x62], "a\\x80b"), ([0xC3], "\\xc3"), ([0xE2, 0x82, 0x61], "\\xe2\\x82a"),
      ([0xC0, 0xAF], "\\xc0\\xaf"), ([0xED, 0xA0, 0x80], "\\xed\\xa0\\x80"), ([0xF5], "\\xf5"),
      ([0xC3, 0xA9, 0xFF, 0x0A], "é\\xff\\n"), ([], ""), ([0x5C, 0x6E], "\\n"),
    ] as [([UInt8], String)])
  func `shows invalid UTF-8 as hexadecimal escapes`(_ octets: [UInt8], _ shown: String) {
    #expect(LogText.line(octets) == shown)
  }

  @Test func `truncates a long field`() {
    let field = HTTPHeaders.Field(name: "A\n", value: String(repeating: "x", count: 2_000))

    #expect(LogText.field(field, .standard) == "A\\n: " + String(repeating: "x", count: 1_024) + "…")
  }

  @Test func `truncates before masking unless a later at sign makes the beginning a password`() {
    let long = String(repeating: "token=a&", count: 128 << 10)

    #expect(Redaction.beginning(of: long, limit: 1_024) == long.prefix(1_024) + "…")
    #expect(Redaction.beginning(of: long + "@", limit: 1_024) == long + "@")
    #expect(Redaction.beginning(of: "token", limit: 5) == "token")
  }

  @Test(arguments: ["Link", "Location"]) func `a truncated field shows no secret`(_ name: String) {
    let long = String(repeating: "canary", count: 1_000)

    for (value, shown) in [
      ("http://u:\(long)@a.test/x", "http://a.test/x"), ("http://\(long)/:@\(long)@a.test/", nil),
      ("http://a.test/?token=\(long)&a=\(long)", "http://a.test/?token=***"),
    ] {
      let line = LogText.field(HTTPHeaders.Field(name: name, value: value), .standard)
      if let shown { #expect(line == "\(name): \(shown)") }
      #expect(line.utf8.count <= name.utf8.count + 2 + 1_024 + 3)
    }
    let field = HTTPHeaders.Field(name: name, value: "http://a.test/?a=" + String(repeating: "é", count: 2_000))
    #expect(LogText.field(field, .standard).hasSuffix("é…"))
  }
}
