import Foundation
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite(.hangLimit) struct SuggestedFilenameTests {
  private static func suggested(_ disposition: String?, url: RequestTarget = "http://h.test/") -> String? {
    var response = HTTPResponse(status: .ok, request: .get(url))
    if let disposition { response.headers["Content-Disposition"] = disposition }
    return response.suggestedFilename
  }

  @Test(
    arguments: [
      // RFC 6266 §5, RFC 8187 §3.2.3
      ("Attachment; filename=example.html", "example.html"),
      ("INLINE; FILENAME= \"an example.html\"", "an example.html"),
      ("attachment; filename*= UTF-8''%e2%82%ac%20rates", "€ rates"),
      ("attachment; filename=\"EURO rates\"; filename*=utf-8''%e2%82%ac%20rates", "€ rates"),
      ("attachment; filename*=utf-8''%e2%82%ac%20rates; filename=\"EURO rates\"", "€ rates"),
      ("attachment; filename*=iso-8859-1'en'%A3%20rates", "£ rates"),
      ("attachment; filename*=UTF-8'en'a", "a"),
      // If `filename*` cannot be decoded, `filename` is used.
      ("attachment; filename=plain; filename*=UTF-8''%e2%82", "plain"),
      ("attachment; filename=plain; filename*=UTF-8''%zz", "plain"),
      ("attachment; filename=plain; filename*=koi8-r''%C1", "plain"),
      ("attachment; filename=plain; filename*=UTF-8'a b'", "plain"),
      ("attachment; filename=plain; filename*=UTF-8''a b", "plain"),
      ("attachment; filename=plain; filename*=UTF-8", "plain"),
      ("attachment; filename=plain; filename*=\"UTF-8''quoted\"", "plain"),
      ("attachment; filename=plain; filename*=UTF-8''%2e%2e", "plain"),
      // The first of several equal parameters is used.
      ("attachment; filename=a; filename=b", "a"),
      ("attachment; filename*=UTF-8''a; filename*=UTF-8''b", "a"),
      // Quoted pairs
      (#"attachment; filename="a \"quoted\" b""#, "a _quoted_ b"),
      (#"attachment; filename="a\bc""#, "abc"),
      (#"attachment; filename="a;b=c.txt""#, "a;b=c.txt"),
      // Malformed values that servers send
      ("attachment; filename=my report.pdf", "my report.pdf"),
      ("attachment; filename=\"no end.pdf", "no end.pdf"),
      ("attachment; filename=\"a%20b.txt\"", "a%20b.txt"),
      ("filename=only.txt", "only.txt"),
      ("attachment;filename=\"caf\u{E9}.txt\";size=3", "caf\u{E9}.txt"),
    ] as [(String, String)]) func `comes from Content-Disposition`(disposition: String, name: String)
  {
    #expect(Self.suggested(disposition) == name)
  }

  @Test(arguments: [
    "", "attachment", "inline; name=a", "attachment; filename", "attachment; filename=", "; ;", "filename*",
  ])
  func `falls back to the URL without a filename parameter`(disposition: String) {
    #expect(Self.suggested(disposition, url: "http://h.test/a/b.txt?c=/d") == "b.txt")
  }

  @Test(
    arguments: [
      ("http://h.test/a/b.txt", "b.txt"), ("http://h.test/a/b%20c.txt#f", "b c.txt"), ("http://h.test/%E2%82%AC", "€"),
      ("http://h.test/%E9.txt", "\u{E9}.txt"), ("http://h.test/..%2f..%2fetc%2fpasswd", "passwd"),
      ("http://h.test/", nil),
      ("http://h.test", nil), ("http://h.test/a/", nil), ("http://h.test/a/%2e%2e%2f", nil), ("http://h.test/%00", nil),
      ("http://h.test/%2e%2e%5cx", "x"),
    ] as [(RequestTarget, String?)]) func `uses the last path component of the URL`(url: RequestTarget, name: String?)
  {
    #expect(Self.suggested(nil, url: url) == name)
  }

  @Test func `decodes a Content-Disposition in Latin-1`() {
    let octets = Array("Content-Dispositionattachment; filename=caf".utf8) + [0xE9]
    let place = ReceivedFields.FieldRange(nameStart: 0, nameEnd: 19, valueStart: 19, valueEnd: Int32(octets.count))
    let response = HTTPResponse(status: .ok, headers: HTTPHeaders(ReceivedFields(octets, [place])))

    #expect(response.suggestedFilename == "caf\u{E9}")
  }

  @Test(
    arguments: [
      ("../../etc/passwd", "passwd"), ("..\\..\\boot.ini", "boot.ini"), ("/etc/passwd", "passwd"),
      ("C:\\x\\y.txt", "y.txt"),
      ("C:evil.txt", "C_evil.txt"), ("a/", nil), ("..", nil), (".", nil), ("...", nil), ("", nil), (" . ", nil),
      (".bashrc", "bashrc"), ("..a", "a"), ("a.", "a"), ("a. . ", "a"), ("a.txt ", "a.txt"), ("\u{0}", nil),
      ("a\u{0}.txt", "a.txt"), ("a\r\nb", "ab"), ("a\u{1B}[2Jb", "a[2Jb"), ("gpj\u{202E}.exe", "gpj.exe"),
      ("a\u{2066}\u{200F}b", "ab"), ("a\u{2028}b", "ab"), ("a\u{FEFF}", "a"), ("/\u{301}x", "\u{301}x"),
      ("a     .exe", "a .exe"), ("a\u{3000}\u{A0}b", "a b"), ("x|y?*<z>.t", "x_y___z_.t"),
      ("file:stream", "file_stream"),
      ("con", "_con"), ("CON.txt", "_CON.txt"), ("Aux.tar.gz", "_Aux.tar.gz"), ("NUL .txt", "_NUL .txt"),
      ("COM1", "_COM1"), ("com¹.x", "_com¹.x"), ("LPT9.", "_LPT9"), ("com", "com"), ("com10", "com10"),
      ("console", "console"),
      ("CONIN$", "_CONIN$"), ("\u{202E}con", "_con"), (".con", "_con"), ("日本語.txt", "日本語.txt"),
      ("👩‍👩‍👧.png", "👩👩👧.png"),
    ] as [(String, String?)]) func `makes one safe path component of any name`(name: String, safe: String?)
  {
    #expect(SafeFilename.make(of: name) == safe)
  }

  @Test func `truncates to 255 bytes between characters and keeps the extension`() throws {
    let whole = String(repeating: "a", count: 251) + ".txt"
    #expect(SafeFilename.make(of: whole) == whole)
    #expect(SafeFilename.make(of: "a" + whole) == whole)
    let long = try #require(SafeFilename.make(of: String(repeating: "e\u{301}", count: 1000) + ".jpeg"))
    #expect(long == String(repeating: "e\u{301}", count: 83) + ".jpeg")
    let noExtension = try #require(SafeFilename.make(of: "a." + String(repeating: "€", count: 1000)))
    #expect(noExtension == "a." + String(repeating: "€", count: 84))
    let accents = try #require(SafeFilename.make(of: "a" + String(repeating: "\u{301}", count: 500) + ".txt"))
    #expect(accents.utf8.count <= 255 && accents.unicodeScalars.first == "a" && accents.hasSuffix(".txt"))
    // The truncated name is checked again.
    let device = "con" + "x" + String(repeating: "\u{301}", count: 500) + ".txt"
    #expect(SafeFilename.make(of: device) == "_con.txt")
    #expect(SafeFilename.make(of: String(repeating: "a", count: 254) + ". b") == String(repeating: "a", count: 254))
  }

  @Test func `random names never escape the folder`() async throws {
    var random = SeededGenerator(seed: 37)
    let folder = URL(filePath: "/srv/downloads", directoryHint: .isDirectory)
    let samples = [
      "attachment; filename=\"../../a.txt\"", "attachment; filename*=UTF-8''%2e%2e%2f%00b", "a; filename=..\\..\\c",
      "CON.x",
    ]
    var count = 0
    let texts = Stress.count(500, full: isSanitized ? 500 : 10_000)
    for number in 0..<texts {
      let text = number % 2 == 0 ? HostileText.random(upTo: 40, using: &random) : random.damagedText(of: samples)
      let names = [
        SafeFilename.make(of: text), Self.suggested(text), Self.suggested("attachment; filename=\(text)"),
        Self.suggested("attachment; filename=\(FieldSyntax.quoted(text))"),
        Self.suggested(nil, url: RequestTarget("http://h.test/\(text)")),
      ]
      // Other tests need the thread too.
      if number % 100 == 0 { await Task.yield() }
      for name in names.compactMap({ $0 }) {
        count += 1
        let path = folder.appending(path: name, directoryHint: .notDirectory).standardizedFileURL
        #expect(path.deletingLastPathComponent().path() == folder.path(), "\(InvalidInput.printable(name))")
        #expect(!name.isEmpty && name.utf8.count <= 255)
        #expect(!name.unicodeScalars.contains { "/\\:*?\"<>|".unicodeScalars.contains($0) || $0.value < 0x20 })
        #expect(!name.hasPrefix(".") && !name.hasSuffix(".") && !name.hasSuffix(" "))
        #expect(SafeFilename.make(of: name) == name)
      }
    }
    #expect(count > texts)
  }

  @Test(arguments: [
    ("a.txt", "a (1).txt"), ("a", "a (1)"), (".a", ".a (1)"), ("v1.2 final", "v1.2 final (1)"),
    ("\u{301}a\u{600}", "\u{301}a\u{600} (1)"),
    (String(repeating: "é", count: 127), String(repeating: "é", count: 125) + " (1)"),
    (String(repeating: "x", count: 251) + ".txt", String(repeating: "x", count: 247) + " (1).txt"),
  ])
  func `a number precedes the extension`(name: String, numbered: String) {
    #expect(SafeFilename.numbered(name, 1) == numbered)
  }
}
