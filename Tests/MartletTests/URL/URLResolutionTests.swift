import TestSupport
import Testing

@testable import Martlet

@Suite struct URLResolutionTests {
  @Test(arguments: [
    // RFC 3986 §5.4.1
    ("//g", "http://g/"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
    ("/g", "http://a/g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
    ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"),
    ("g;x", "http://a/b/c/g;x"),
    ("g;x?y#s", "http://a/b/c/g;x?y#s"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
    ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
    ("../../", "http://a/"), ("../../g", "http://a/g"),
    // RFC 3986 §5.4.2
    ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
    ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
    ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
    ("g/../h", "http://a/b/c/h"),
    ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"),
    ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/./x", "http://a/b/c/g#s/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"),
    // References that servers send
    ("https://B.test:443/x", "https://b.test/x"), ("//B.test:80/x", "http://b.test/x"), ("a b", "http://a/b/c/a%20b"),
    ("/ü", "http://a/%C3%BC"),
    ("/x\\evil.test", "http://a/x%5Cevil.test"), ("?", "http://a/b/c/d;p?"), ("/%2e%2e/x", "http://a/x"),
    ("1:2", "http://a/b/c/1:2"),
  ])
  func `resolves references`(_ reference: String, _ expected: String) throws {
    let base = try AbsoluteURL.parse("http://a/b/c/d;p?q")

    #expect(try base.resolving(reference).string == expected)
  }

  @Test(arguments: [
    "g:h", "http:g", "http:/g", "http:///g", "///g", "//", "//?q", "ftp://h/", "file:///etc/passwd", "mailto:a@b",
    "data:,x",
    "\\\\evil.test\\x", "/\\evil.test", "/\\/evil.test", "\\/evil.test", "\\x", "\\", "//h:0/", "//a b/", "//u ser@h/",
    "x\r\nSet-Cookie: a", "/\0", "//127.1/",
  ])
  func `rejects invalid references`(_ reference: String) throws {
    let base = try AbsoluteURL.parse("http://a/b")

    #expect(throws: InvalidInput.self) { try base.resolving(reference) }
  }

  @Test(arguments: ["\\\\x\\hello", "\\hello", "/\\x/hello", "x\\hello", "/x?\\\\y", "#\\\\y"])
  func `treats a backslash in a reference as in a request target`(_ text: String) throws {
    let base = try AbsoluteURL.parse("http://a.test/")

    let followed = try? base.resolving(text)
    let asked = try? RequestTarget(text).resolve(against: "http://a.test/")

    #expect(followed == asked)
    #expect((followed == nil) == (text.hasPrefix("\\") || text.hasPrefix("/\\")))
  }

  @Test func `the error names an unsupported scheme`() throws {
    let base = try AbsoluteURL.parse("http://a/b")

    let error = #expect(throws: InvalidInput.self) { try base.resolving("gopher://x/") }

    #expect(error?.message == "unsupported scheme \"gopher\": only http and https are supported")
  }

  @Test(arguments: ["", "/x", "?q", "#f", "//a/x", "//b/x", "http://b/", "https://a/"])
  func `never inherits the userinfo of the base`(_ reference: String) throws {
    let url = try AbsoluteURL.parse("http://user:secret@a/b").resolving(reference)

    #expect(url.user == nil && url.password == nil)
  }

  @Test func `inherits the fragment of the base unless told otherwise`() throws {
    let base = try AbsoluteURL.parse("http://a/b#top")

    #expect(try base.resolving("/x").string == "http://a/x#top")
    #expect(try base.resolving("http://c/").string == "http://c/#top")
    #expect(try base.resolving("/x#own").string == "http://a/x#own")
    #expect(try base.resolving("/x#").string == "http://a/x#")
    #expect(try base.resolving("/x", inheritingFragment: false).string == "http://a/x")
  }

  @Test func `random relative references never change the origin`() throws {
    let base = try AbsoluteURL.parse("https://a.test:8443/b/c?d")
    var generator = SeededGenerator(seed: 54)
    for _ in 0..<Stress.count(3_000, full: 10_000) {
      let text = HostileText.random(upTo: 10, using: &generator)
      guard let url = try? base.resolving(text) else { continue }

      #expect(try AbsoluteURL.parse(url.string).string == url.string)
      // A `String` comparison would fail, because "/" and an accent are one `Character`.
      let bytes = Array(text.utf8)
      let isElsewhere = bytes.starts(with: "//".utf8) || bytes.starts(with: "http".utf8)
      #expect(isElsewhere || url.origin == base.origin)
    }
  }
}

extension AbsoluteURL {
  fileprivate func resolving(
    _ reference: String, inheritingFragment: Bool = true
  ) throws(InvalidInput) -> AbsoluteURL {
    try resolving(octets: Array(reference.utf8), inheritingFragment: inheritingFragment)
  }
}
