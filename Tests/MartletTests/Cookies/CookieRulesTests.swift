import Foundation
import Testing

@testable import Martlet

/// Which cookies a response may set, and to which URLs they are sent (RFC 6265bis §5.1.3, §5.1.4, §5.7).
@Suite struct CookieRulesTests {
  static let now = Date(timeIntervalSince1970: 1_700_000_000)

  static func cookie(_ line: String, from url: String) throws -> Cookie? {
    let url = try AbsoluteURL.parse(url)
    return SetCookie(line, now: now).flatMap { try? Cookie($0, from: url, now: now) }
  }

  /// Decodes a saved cookie whose value consists of these octets.
  private static func cookie(octets: [UInt8]) throws -> Cookie {
    let url = try AbsoluteURL.parse("https://www.example.com/")
    let line = try #require(SetCookie(Array("s=".utf8) + [0xE9], now: now))
    var fields = try #require(
      JSONSerialization.jsonObject(with: JSONEncoder().encode(try Cookie(line, from: url, now: now))) as? [String: Any])
    fields["valueOctets"] = octets.map(Int.init)
    return try JSONDecoder().decode(Cookie.self, from: JSONSerialization.data(withJSONObject: fields))
  }

  @Test(arguments: [[0x78, 0x0D, 0x0A, 0x58, 0x3A, 0x31], [0xE9, 0x3B], [0xEA], [0x78]] as [[UInt8]])
  func `the octets of a cookie from a file must match its text`(octets: [UInt8]) throws {
    #expect(try Self.cookie(octets: octets).checked() == nil)
    #expect(try Self.cookie(octets: [0xE9]).checked() != nil)
  }

  @Test func `the limit of a cookie counts octets`() throws {
    let line = try #require(SetCookie(Array("s=".utf8) + [UInt8](repeating: 0xE9, count: 4_000), now: Self.now))
    let cookie = try Cookie(line, from: try AbsoluteURL.parse("https://www.example.com/"), now: Self.now)

    #expect(cookie.checked() == cookie)
  }

  /// `expected` is the cookie's domain, with a leading dot if subdomains are included; `nil` if the cookie is rejected.
  @Test(
    arguments: [
      // No domain: only the host.
      ("www.example.com", "", "www.example.com"), ("example.com", ".", "example.com"),
      // A parent domain of the host, or the host itself.
      ("www.example.com", "example.com", ".example.com"), ("www.example.com", ".example.com", ".example.com"),
      ("www.example.com", "EXAMPLE.COM", ".example.com"), ("WWW.EXAMPLE.com", "Example.com", ".example.com"),
      ("a.b.example.com", "b.example.com", ".b.example.com"), ("example.com", "example.com", ".example.com"),
      ("a.b.c.example.co.uk", "example.co.uk", ".example.co.uk"),
      // A subdomain, a sibling, or a name that only shares the suffix.
      ("example.com", "www.example.com", nil), ("a.example.com", "b.example.com", nil),
      ("badexample.com", "example.com", nil), ("example.com", "ample.com", nil), ("example.com", "e.com", nil),
      ("example.com", "example.org", nil), ("example.com.evil.test", "example.com", nil),
      ("www.example.com", "..example.com", nil), ("www.example.com", "example..com", nil),
      ("www.example.com", "*.example.com", nil), ("www.example.com", "example.com/", nil),
      ("www.example.com", "example.com:80", nil), ("www.example.com", "ex ample.com", nil),
      ("www.example.com", "exämple.com", nil), ("www.example.com", "//example.com", nil),
      // Public suffixes, both of registries and private, in any spelling.
      ("www.example.com", "com", nil), ("www.example.com", ".com", nil), ("www.example.com", "COM", nil),
      ("www.example.com", "com.", nil), ("example.co.uk", "co.uk", nil), ("example.co.uk", "CO.UK", nil),
      ("example.co.uk", "uk", nil), ("example.co.uk", "co.uk.", nil), ("example.co.uk.", "co.uk.", nil),
      ("example.co.uk.", "co.uk", nil), ("me.github.io", "github.io", nil), ("me.github.io", "GitHub.io", nil),
      ("me.github.io", "io", nil), ("x.blogspot.com", "blogspot.com", nil),
      ("s.compute.amazonaws.com", "amazonaws.com", nil),
      // Names above the host's public suffix, even if they are not public suffixes themselves.
      ("www.abc.sch.uk", "sch.uk", nil), ("www.abc.sch.uk", "abc.sch.uk", nil),
      ("a.www.abc.sch.uk", "www.abc.sch.uk", ".www.abc.sch.uk"), ("city.kobe.jp", "kobe.jp", nil),
      ("x.eu.compute.amazonaws.com", "compute.amazonaws.com", nil), ("bucket.s3.amazonaws.com", "amazonaws.com", nil),
      ("www.amazonaws.com", "amazonaws.com", ".amazonaws.com"),
      ("a.b.ck", "b.ck", nil), ("a.b.c.ck", "c.ck", nil), ("a.www.ck", "www.ck", ".www.ck"),
      ("x.city.kobe.jp", "city.kobe.jp", ".city.kobe.jp"), ("x.y.kobe.jp", "y.kobe.jp", nil),
      ("a.xn--55qx5d.cn", "xn--55qx5d.cn", nil), ("a.公司.cn", "xn--55qx5d.cn", nil), ("a.公司.cn", "公司.cn", nil),
      ("www.食狮.公司.cn", "xn--85x722f.xn--55qx5d.cn", ".xn--85x722f.xn--55qx5d.cn"),
      ("bücher.example", "xn--bcher-kva.example", ".xn--bcher-kva.example"),
      // A host that is itself a public suffix may have host-only cookies.
      ("github.io", "github.io", "github.io"), ("co.uk", "co.uk", "co.uk"), ("localhost", "localhost", "localhost"),
      // Single labels, and top-level domains that no list contains.
      ("localhost", "", "localhost"), ("a.localhost", "localhost", nil), ("a.internal", "internal", nil),
      ("a.b.internal", "b.internal", ".b.internal"),
      // A trailing dot makes it a different host.
      ("www.example.com", "example.com.", nil), ("www.example.com.", "example.com", nil),
      ("www.example.com.", "", "www.example.com."), ("www.example.com.", "example.com.", ".example.com."),
      // IP addresses have no subdomains.
      ("127.0.0.1", "", "127.0.0.1"), ("127.0.0.1", "127.0.0.1", "127.0.0.1"), ("127.0.0.1", "0.0.1", nil),
      ("127.0.0.1", "1", nil), ("127.0.0.1", ".1", nil), ("127.0.0.1", "27.0.0.1", nil), ("[::1]", "", "[::1]"),
      ("[::1]", "[::1]", "[::1]"), ("[::1]", "1", nil), ("[::1]", "1]", nil), ("[::1]", ":1]", nil),
      ("a.127.0.0.1.example", "1.example", ".1.example"),
    ] as [(String, String, String?)])
  func `accepts only the host or a parent domain that is not a public suffix`(
    host: String, domain: String, expected: String?
  ) throws {
    let line = domain.isEmpty ? "a=b" : "a=b; Domain=\(domain)"

    let cookie = try Self.cookie(line, from: "http://\(host)/")

    #expect(cookie.map { ($0.isHostOnly ? "" : ".") + $0.domain } == expected)
  }

  @Test(arguments: [
    ("example.com", "example.com", true), ("www.example.com", "example.com", true),
    ("a.b.example.com", "example.com", true), ("example.com", "www.example.com", false),
    ("badexample.com", "example.com", false), ("example.comm", "example.com", false), ("com", "example.com", false),
    ("1.2.3.4", "2.3.4", false), ("1.2.3.4", "1.2.3.4", true), ("[::1]", "::1]", false), ("", "", true),
  ]) func `matches hosts with cookie domains`(host: String, domain: String, isMatch: Bool) {
    #expect(Cookie.domainMatches(host, domain) == isMatch)
  }

  @Test(arguments: [
    ("/", "/", true), ("/a", "/", true), ("/a", "/a", true), ("/a/", "/a", true), ("/a/b", "/a", true),
    ("/a/b", "/a/", true), ("/ab", "/a", false), ("/a", "/a/", false), ("/", "/a", false), ("/A", "/a", false),
    ("/a%2Fb", "/a", false),
  ]) func `matches request paths with cookie paths`(path: String, own: String, isMatch: Bool) {
    #expect(Cookie.pathMatches(path, own) == isMatch)
  }

  @Test(arguments: [
    ("/", "", "/"), ("/a", "", "/"), ("/a/", "", "/a"), ("/a/b", "", "/a"), ("/a/b/", "", "/a/b"),
    ("/a/b?c=/d/e", "", "/a"), ("/a/b", "Path", "/a"), ("/a/b", "Path=", "/a"), ("/a/b", "Path=x", "/a"),
    ("/a/b", "Path=/x", "/x"), ("/a/b", "Path=/x; Path=y", "/a"), ("/a/b", "Path=/x/", "/x/"),
    ("/a/b", "Path=\"/x\"", "/a"),
  ]) func `uses the Path attribute or the default path of the URL`(path: String, attribute: String, expected: String)
    throws
  {
    let cookie = try Self.cookie("a=b; \(attribute)", from: "http://example.com\(path)")

    #expect(cookie?.path == expected)
  }

  @Test(arguments: [
    ("http://example.com/", "a=b; Secure", false), ("https://example.com/", "a=b; Secure", true),
    ("http://example.com/", "a=b; SameSite=None", false), ("https://example.com/", "a=b; SameSite=None", false),
    ("https://example.com/", "a=b; SameSite=None; Secure", true),
    ("https://example.com/", "__Secure-a=b; Secure", true), ("https://example.com/", "__Secure-a=b", false),
    ("https://example.com/", "__SECURE-a=b", false), ("http://example.com/", "__Secure-a=b; Secure", false),
    ("https://example.com/", "__Secure-a=b; Secure; Domain=example.com", true),
    ("https://example.com/x/y", "__Host-a=b; Secure; Path=/", true),
    ("https://example.com/x/y", "__hOST-a=b; Secure; Path=/x", false),
    ("https://example.com/", "__Host-a=b; Secure", false), ("https://example.com/", "__Host-a=b; Path=/", false),
    ("https://example.com/", "__Host-a=b; Secure; Path=/; Domain=example.com", false),
    ("https://127.0.0.1/", "__Host-a=b; Secure; Path=/; Domain=127.0.0.1", false),
    ("https://127.0.0.1/", "__Host-a=b; Secure; Path=/", true), ("https://127.0.0.1/", "a=b; Domain=127.0.0.1", true),
    ("https://example.com/", "__Host-a=b; Secure; Path=/; Domain=", false),
    ("https://github.io/", "__Host-a=b; Secure; Path=/; Domain=github.io", false),
    ("http://example.com/", "__Host-a=b; Secure; Path=/", false),
    ("https://example.com/", "__Host-a; Secure; Path=/", false),
    ("https://example.com/", "=__Secure-a=b; Secure", false),
    ("https://example.com/", "=__Secur", true), ("https://example.com/", "__Hos-a=b", true),
  ]) func `enforces Secure, SameSite and the __Host- and __Secure- prefixes`(
    url: String, line: String, isAccepted: Bool
  ) throws {
    #expect((try Self.cookie(line, from: url) != nil) == isAccepted)
  }

  @Test(arguments: [
    Cookie("", "", domain: "a.test"), Cookie("a;b", "", domain: "a.test"), Cookie("a", "b;c", domain: "a.test"),
    Cookie("a=b", "", domain: "a.test"), Cookie("a", "b\r\nX: y", domain: "a.test"),
    Cookie("a", "b\n", domain: "a.test"),
    Cookie("a\u{0}", "b", domain: "a.test"), Cookie("a", "b"), Cookie("a", "b", domain: "a b"),
    Cookie("a", "b", domain: "com", isHostOnly: false), Cookie("a", "b", domain: "github.io", isHostOnly: false),
    Cookie("a", "b", domain: "127.0.0.1", isHostOnly: false), Cookie("a", "b", domain: "a.test", path: "x"),
    Cookie("a", "b", domain: "a.test", path: ""), Cookie("a", "b", domain: "a.test", path: "/;x"),
    Cookie("__Host-a", "b", domain: "a.test"), Cookie("__Secure-a", "b", domain: "a.test"),
    Cookie("a", String(repeating: "b", count: 4096), domain: "a.test"), Cookie("a", "b", domain: "127.1"),
    Cookie("a", "b", domain: "a.test", sameSite: Cookie.SameSite.unrestricted),
  ]) func `rejects an invalid cookie set by the program`(cookie: Cookie) {
    #expect(cookie.checked() == nil)
  }

  @Test func `accepts any spelling of a domain from the program`() {
    #expect(Cookie("a", "b", domain: ".Example.COM", isHostOnly: false).checked()?.domain == "example.com")
    #expect(Cookie("a", "b", domain: "bücher.example").checked()?.domain == "xn--bcher-kva.example")
    #expect(Cookie("__Host-a", "b", domain: "a.test", isSecure: true).checked() != nil)
  }

  @Test func `descriptions contain no values`() {
    let cookie = Cookie("name", "secret", domain: "a.test")
    var dumped = ""
    dump(cookie, to: &dumped)

    #expect("\(cookie)" == "name=… (a.test/)")
    #expect("\([cookie])\(String(reflecting: cookie))\(dumped)".contains("secret") == false)
    #expect("\(Cookie("a\n\u{1B}[2J", "b", domain: "x"))".contains("\n") == false)
  }

  @Test(
    arguments: [
      (["http://a.test/"], "http://a.test/x", .get, "same"),
      (["http://www.a.test/"], "http://login.a.test/x", .post, "same"),
      (["http://a.test:8080/"], "http://a.test/x", .post, "same"),
      (["http://b.test/"], "http://a.test/x", .get, "crossReading"),
      (["http://b.test/"], "http://a.test/x", .post, "crossWriting"),
      (["http://a.test/", "http://b.test/"], "http://a.test/x", .get, "crossReading"),
      (["http://a.test/"], "https://a.test/x", .get, "crossReading"),
      (["http://me.github.io/"], "http://you.github.io/", .get, "crossReading"),
      (["http://127.0.0.1/"], "http://127.0.0.2/", .get, "crossReading"),
      (["http://localhost/"], "http://127.0.0.1/", .put, "crossWriting"),
    ] as [([String], String, HTTPMethod, String)]) func `same-site requires an equal scheme and registrable domain`(
      before: [String], url: String, method: HTTPMethod, expected: String
    ) throws
  {
    let relation = SiteRelation(
      try AbsoluteURL.parse(url), method, before: try before.map { try AbsoluteURL.parse($0) })

    #expect("\(relation)" == expected)
  }
}
