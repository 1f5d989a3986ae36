import Foundation
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite struct AbsoluteURLTests {
  @Test(arguments: [
    ("http://a.com", "http://a.com/"),
    ("HTTP://A.COM:80", "http://a.com/"),
    ("https://A.com:443/B", "https://a.com/B"),
    ("http://a.com:443/", "http://a.com:443/"),
    ("https://a.com:80", "https://a.com:80/"),
    ("http://h:/", "http://h/"),
    ("http://h:0080/", "http://h/"),
    ("http://h:65535/", "http://h:65535/"),
    ("http://h?q", "http://h/?q"),
    ("http://h#f", "http://h/#f"),
    ("http://h?", "http://h/?"),
    ("http://h/?#", "http://h/?#"),
    ("http://a.com./", "http://a.com./"),
    ("http://a_b-c.d/", "http://a_b-c.d/"),
    ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
    ("http://[::1]/x", "http://[::1]/x"),
    ("http://[2001:DB8::1]:8080", "http://[2001:db8::1]:8080/"),
    ("http://[::ffff:1.2.3.4]", "http://[::ffff:1.2.3.4]/"),
    ("http://bücher.example/ü?ü#ü", "http://xn--bcher-kva.example/%C3%BC?%C3%BC#%C3%BC"),
    ("http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"),
    ("http://BÜCHER.example/", "http://xn--bcher-kva.example/"),
    ("http://ａ.com", "http://a.com/"),
    ("http://日本。jp/", "http://xn--wgv71a.jp/"),
    ("http://%61.com/", "http://a.com/"),
    ("http://user:pass@h/x", "http://h/x"),
    ("http://h/a b\"c<d>e`f{g}h|i^j[k]l\\m", "http://h/a%20b%22c%3Cd%3Ee%60f%7Bg%7Dh%7Ci%5Ej%5Bk%5Dl%5Cm"),
    ("http://h/%zz%2%%41%2f", "http://h/%25zz%252%25%41%2f"),
    ("http://h/?a[]=1&b=%", "http://h/?a%5B%5D=1&b=%25"),
    ("http://h/#a#b", "http://h/#a%23b"),
    ("http://h/a/./b/../c", "http://h/a/c"),
    ("http://h/../../x", "http://h/x"),
    ("http://h/a/%2e%2E/b/%2e", "http://h/b/"),
    ("http://h/a/.%2e/b", "http://h/b"),
    ("http://h/..", "http://h/"),
    ("http://h/...", "http://h/..."),
    ("http://h//a//../b", "http://h//a/b"),
    ("http://h/?a/../b", "http://h/?a/../b"),
    ("http://h/@a:b;c=d,e!f$g&h'i(j)k*l+m", "http://h/@a:b;c=d,e!f$g&h'i(j)k*l+m"),
    ("http://localhost:8080/", "http://localhost:8080/"),
    ("http://1.2.3.4.example/", "http://1.2.3.4.example/"),
    ("http://0x.example/", "http://0x.example/"),
  ])
  func `parses and normalizes URLs`(_ text: String, _ expected: String) throws {
    let url = try AbsoluteURL.parse(text)

    #expect(url.string == expected)
    #expect(url.url.absoluteString == expected)
  }

  @Test(arguments: [
    "", "/", "//[::1]/x", "//h%2f/x", "//%00/", "a.com", "a.com/x", "localhost", "localhost:8080", "h:80/x",
    "http:", "http:/", "http:/x", "http:x", "http://", "http:///x", "http:////x", "http://?q", "http://#f", "http:?q",
    "https:a.com", "http:\\\\h\\x", "ftp://h/", "file:///etc/passwd", "javascript:alert(1)", "data:,x", "ws://h/",
    "httpss://h/", "1http://h/", ":http://h", "://h/", " http://h/", "http ://h/", "http://a@b@c/", "http://a:b:c/",
    "http://[::1", "http://::1/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[]/", "http://[:]/",
    "http://[1]/", "http://[:::]/", "http://[1:2:3:4:5:6:7]/", "http://[1:2:3:4:5:6:7:8:9]/", "http://[1::2::3]/",
    "http://[::12345]/", "http://[::g]/", "http://[:1:2:3:4:5:6:7]/", "http://[1:2:3:4:5:6:7:]/", "http://[v1.a]/",
    "http://[::1]x/", "http://[::1]:x/", "http://x[::1]/", "http://[::1.2.3]/", "http://[::1.2.3.256]/",
    "http://[::01.2.3.4]/", "http://[1.2.3.4::]/", "http://[[::1]]/", "http://a b/", "http://a\\b/", "http://h\\",
    "http://a\\@b/", "http://h%2f/x", "http://%00/", "http://h%/", "http://h%zz/", "http://h%20x/", "http://h%40b/",
    "http://h%3a80/", "http://%ff/", "http://a..b/", "http://.a/", "http://./", "http://../", "http://a!b/",
    "http://a$b/", "http://a,b/", "http://a*b/", "http://a'b/", "http://a|b/", "http://a^b/", "http://<a>/",
    "http://℀.com/", "http://a／b/", "http://a％41/", "http://h:0/", "http://h:65536/", "http://h:-1/", "http://h:+1/",
    "http://h:8_0/", "http://h:８０/", "http://h:80 /", "http://h:99999999999999999999/", "http://h:x/", "http://h: 80/",
    "http://127.1/", "http://0x7f000001/", "http://2130706433/", "http://0177.0.0.1/", "http://127.0.0.01/",
    "http://127.0.0.1.1/", "http://256.1.1.1/", "http://1.2.3/", "http://1.2.3.4./", "http://a.1/", "http://a.0x1/",
    "http://0x/", "http://0X7F.1/", "http://１２７.1/", "http://a.09/", "http://us er@h/", "http://ü@h/",
    "http://%zz@h/", "http://%@h/", "http://a%0d%0ab@h/", "http://a%00@h/", "http://%ff@h/", "http://a:b[@h/",
    "http://h/\r\nX: y", "http://h/\0", "http://h/?\t", "http://h/#\u{7F}", "ht\ntp://h/", "http://h\n/",
  ])
  func `rejects invalid URLs`(_ text: String) {
    #expect(throws: InvalidInput.self) { try AbsoluteURL.parse(text) }
  }

  @Test(arguments: [
    ("ftp://h/", "unsupported scheme \"ftp\": only http and https are supported"),
    ("google.com", "no scheme in \"google.com\": write a full URL, such as https://a.example/"),
    ("localhost:8080/x", "no scheme before \"localhost:\": write \"http://localhost:…\" or \"https://localhost:…\""),
    ("http:///x", "no host after \"http://\""),
    ("http://h:70000/", "port 70000 is outside 1...65535"),
    ("http://ada:1234567/", "port 12345… is outside 1...65535"),
    ("http://127.1/", "host \"127.1\" is a number, but not an IPv4 address of four parts"),
    ("http://a b/", "host \"a b\" contains illegal characters"),
    ("http://u:secret@h/?t=secret\r\n", "the URL \"http://h/?t=***\" ends with a line feed (0x0A): trim it"),
    ("\thttp://h/", "the URL \"\\thttp://h/\" begins with a tab (0x09): trim it"),
    (" http://h/", "the URL \" http://h/\" begins with a blank (0x20): trim it"),
    ("http://h/\0", "control character 0x00 in the URL \"http://h/\\u{0}\""),
    ("http://h/\0\n", "control character 0x00 in the URL \"http://h/\\u{0}\\n\""),
  ])
  func `the error explains the problem`(_ text: String, _ message: String) {
    let error = #expect(throws: InvalidInput.self) { try AbsoluteURL.parse(text) }

    #expect(error?.message == message)
  }

  @Test(arguments: [
    "http://u:secret@ x/", "http://u:secret@h:x/", "http://u:se[secret@h/", "http://u:secret/x@h/", "u:secret@h/x",
    "http:/u:secret@h/", "http://u:secret#x@h/", "http://u:secret?x@h/", "bob:secret@h:80/", "http://h/?k=secret\0",
    "//u:secret@h\0/", "my_u:secret@h/",
  ])
  func `never quotes a password or a query value in an error`(_ text: String) {
    let error = #expect(throws: InvalidInput.self) { try AbsoluteURL.parse(text) }

    #expect(error?.message.contains("secret") == false)
    #expect(!RequestTarget(text).description.contains("secret"))
  }

  @Test func `exposes its components`() throws {
    let url = try AbsoluteURL.parse("https://us%40er:p%3Aw@Api.test:8443/a%2Fb?x=1&token=t#frag")

    #expect(url.scheme == "https" && url.isSecure)
    #expect(url.user == "us@er" && url.password == "p:w")
    #expect(url.host == "api.test" && url.port == 8443 && url.effectivePort == 8443)
    #expect(url.path == "/a%2Fb" && url.query == "x=1&token=t" && url.fragment == "frag")
    #expect(url.string == "https://api.test:8443/a%2Fb?x=1&token=t#frag")
    #expect(url.requestString == "https://api.test:8443/a%2Fb?x=1&token=t")
    #expect(url.pathAndQuery == "/a%2Fb?x=1&token=t")
    #expect(url.redacted == "https://api.test:8443/a%2Fb?x=***&token=***")
    #expect("\(url)" == url.redacted)
    #expect(url.origin.description == "https://api.test:8443")
  }

  @Test(
    arguments: [
      ("http://@h/", nil, nil), ("http://u@h/", "u", nil), ("http://u:@h/", "u", ""), ("http://:p@h/", "", "p"),
      ("http://u:p:q@h/", "u", "p:q"), ("http://%C3%BC:%25@h/", "ü", "%"),
    ] as [(String, String?, String?)])
  func `extracts the userinfo from the URL`(_ text: String, _ user: String?, _ password: String?) throws {
    let url = try AbsoluteURL.parse(text)

    #expect(url.user == user && url.password == password)
    #expect(url.string == "http://h/")
  }

  @Test func `distinguishes origins by scheme, host and effective port`() throws {
    let origins = try ["http://a/x", "HTTP://A:80/y?z", "https://a/", "http://a:81/", "http://b/", "http://a./"]
      .map { try AbsoluteURL.parse($0).origin }

    #expect(origins[0] == origins[1])
    #expect(Set(origins).count == 5)
  }

  @Test func `every byte in every position is rejected or parsed safely`() throws {
    let forms: [(String) -> String] = [
      { "\($0)http://h.test/" }, { "http\($0)://h.test/" }, { "http:\($0)//h.test/" }, { "http:/\($0)/h.test/" },
      { "http://\($0)h.test/" }, { "http://u\($0)@h.test/" }, { "http://u:p\($0)@h.test/" }, { "http://h\($0)test/" },
      { "http://h.test\($0)/" }, { "http://h.test:\($0)/" }, { "http://h.test:8\($0)/" }, { "http://[::1\($0)]/" },
      { "http://[::1]\($0)/" }, { "http://h.test/a\($0)b" }, { "http://h.test/?a\($0)b" }, { "http://h.test/#a\($0)b" },
      { "http://h.test/%\($0)1" }, { "http://h.test\($0)" },
    ]
    for byte in UInt8.min...UInt8.max {
      let piece = String(decoding: [byte], as: UTF8.self)
      for form in forms {
        guard let url = try? AbsoluteURL.parse(form(piece)) else { continue }
        #expect(byte >= 0x20 && byte != 0x7F)
        #expect(url.string.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
        #expect(try AbsoluteURL.parse(url.string).string == url.string)
      }
      // In the path, query and fragment, each printable byte is preserved and stays within its component.
      guard byte >= 0x20, byte < 0x7F, !"%?#".utf8.contains(byte) else { continue }
      let url = try AbsoluteURL.parse("http://h.test/a\(piece)b?a\(piece)b#a\(piece)b")
      #expect(url.path.removingPercentEncoding == "/a\(piece)b")
      #expect(url.query?.removingPercentEncoding == "a\(piece)b")
      #expect(url.fragment?.removingPercentEncoding == "a\(piece)b")
    }
  }

  @Test func `random URLs survive a round trip`() throws {
    var generator = SeededGenerator(seed: 3986)
    var accepted = 0
    for _ in 0..<10_000 {
      let text: String
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: text = HostileText.random(upTo: 12, using: &generator)
      case 1: text = "http://" + HostileText.random(upTo: 8, using: &generator)
      case 2: text = "https://h" + HostileText.random(upTo: 8, using: &generator)
      default: text = "http://h.test/" + HostileText.random(upTo: 16, using: &generator)
      }
      guard let url = try? AbsoluteURL.parse(text) else { continue }
      accepted += 1
      let again = try AbsoluteURL.parse(url.string)

      #expect(again.string == url.string)
      #expect(again.origin == url.origin && again.path == url.path)
      #expect(again.query == url.query && again.fragment == url.fragment)
      #expect(try AbsoluteURL.parse(url.url.absoluteString) == again)
      let foundationHost = try #require(url.url.host(percentEncoded: true))
      #expect(url.host == foundationHost || url.host == "[\(foundationHost)]")
    }
    #expect(accepted > 1_000)
  }

  @Test func `random bytes in a host are rejected or survive a round trip`() throws {
    var generator = SeededGenerator(seed: 5891)
    for _ in 0..<5_000 {
      let bytes = (0..<Int.random(in: 1...12, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      guard let url = try? AbsoluteURL.parse("http://\(String(decoding: bytes, as: UTF8.self))/") else { continue }

      #expect(try AbsoluteURL.parse(url.string).string == url.string)
    }
  }

  @Test(arguments: ["http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/"])
  func `a zone is rejected with the remedy`(url: String) {
    let error = #expect(throws: InvalidInput.self) { try RequestTarget(url).resolve(against: nil) }

    #expect(error?.message.hasSuffix("a URL has no zone (RFC 9844); name the interface in localInterface") == true)
  }
}
