import Foundation
import Testing

@testable import Martlet

/// Parsing of `Set-Cookie` lines (RFC 6265bis §5.6).
@Suite struct SetCookieTests {
  static let now = Date(timeIntervalSince1970: 1_700_000_000)

  private func parse(_ line: String) -> SetCookie? { SetCookie(line, now: Self.now) }

  @Test(arguments: [
    ("SID=31d4d96e407aad42", "SID", "31d4d96e407aad42"),
    ("SID=31d4d96e407aad42; Path=/; Domain=site.example", "SID", "31d4d96e407aad42"),
    ("lang=en-US; Expires=Wed, 09 Jun 2021 10:18:14 GMT", "lang", "en-US"),
    ("lang=; Expires=Sun, 06 Nov 1994 08:49:37 GMT", "lang", ""),
    (" \t a \t = \t b c \t ;x", "a", "b c"),
    ("a=b=c", "a", "b=c"),
    ("a==", "a", "="),
    ("a", "", "a"),
    ("=a", "", "a"),
    ("=a=b", "", "a=b"),
    ("a=\"b c\"", "a", "\"b c\""),
    ("a=b,c", "a", "b,c"),
    ("a=b\tc", "a", "b\tc"),
    ("ä=ö", "ä", "ö"),
    ("a=", "a", ""),
    ("a=b;", "a", "b"),
    ("a=b;;;=;=x; ;", "a", "b"),
  ]) func `reads the name and the value`(line: String, name: String, value: String) throws {
    let cookie = try #require(parse(line))

    #expect(cookie.name == name)
    #expect(cookie.value == value)
  }

  @Test(arguments: [
    "", ";", "=", " = ", "; a=b", "=; Secure", "a=b\u{0}", "a\u{1}=b", "a=b; Path=/\u{7F}", "a=b\r\n; x", "a=\u{1B}[2J",
    "a=b; x=\u{8}",
  ]) func `rejects lines without a name or value, or with control characters`(line: String) {
    #expect(parse(line) == nil)
  }

  @Test func `limits the size of the name-value pair and of attributes`() throws {
    let whole = String(repeating: "v", count: 4095)
    let path = String(repeating: "p", count: 1023)

    #expect(parse("n=\(whole)")?.value == whole)
    #expect(parse("n=\(whole)v") == nil)
    #expect(parse("nn=\(whole)") == nil)
    #expect(parse("a=b; Path=/\(path)")?.path?.utf8.count == 1024)
    // An attribute value that is too long is ignored.
    #expect(parse("a=b; Path=/x; Path=/\(path)p")?.path == "/x")
  }

  @Test(
    arguments: [
      ("Max-Age=0", .distantPast),
      ("Max-Age=-1", .distantPast),
      ("Max-Age=-99999999999999999999999999999", .distantPast),
      ("Max-Age=60", now + 60),
      ("MAX-AGE = 060", now + 60),
      ("Max-Age=99999999999999999999999999999", now + 400 * 86_400),
      ("Max-Age=9223372036854775808", now + 400 * 86_400),
      ("Max-Age=", nil), ("Max-Age", nil), ("Max-Age=+1", nil), ("Max-Age=1.5", nil), ("Max-Age=1s", nil),
      ("Max-Age=-", nil), ("Max-Age=--1", nil), ("Max-Age=\"60\"", nil),
      ("Expires=Wed, 15 Nov 2023 00:00:00 GMT", Date(timeIntervalSince1970: 1_700_006_400)),
      ("expires = 15 Nov 23 0:0:0", Date(timeIntervalSince1970: 1_700_006_400)),
      ("Expires=Sun, 06 Nov 1994 08:49:37 GMT", Date(timeIntervalSince1970: 784_111_777)),
      ("Expires=Fri, 31 Dec 9999 23:59:59 GMT", now + 400 * 86_400),
      ("Expires=never", nil), ("Expires", nil),
      // Max-Age takes precedence, in either order.
      ("Expires=Sun, 06 Nov 1994 08:49:37 GMT; Max-Age=60", now + 60),
      ("Max-Age=60; Expires=Sun, 06 Nov 1994 08:49:37 GMT", now + 60),
      ("Max-Age=x; Expires=Sun, 06 Nov 1994 08:49:37 GMT", Date(timeIntervalSince1970: 784_111_777)),
      // The last valid attribute counts.
      ("Max-Age=60; Max-Age=30", now + 30),
      ("Max-Age=60; Max-Age=x", now + 60),
      ("Expires=06 Nov 1994 08:49:37; Expires=x", Date(timeIntervalSince1970: 784_111_777)),
    ] as [(String, Date?)]) func `reads Max-Age and Expires`(attributes: String, end: Date?)
  {
    #expect(parse("a=b; \(attributes)")?.expires == end)
  }

  @Test(
    arguments: [
      ("Domain=example.com", "example.com"), ("Domain=.example.com", "example.com"),
      ("DOMAIN=EXAMPLE.com", "example.com"),
      ("Domain=..example.com", ".example.com"), ("Domain=", ""), ("Domain", ""), ("Domain=.", ""),
      ("Domain=a.com; Domain=b.com", "b.com"), ("Domain=a.com; Domain", ""), ("x", nil),
    ] as [(String, String?)]) func `reads Domain`(attributes: String, domain: String?)
  {
    #expect(parse("a=b; \(attributes)")?.domain == domain)
  }

  @Test(
    arguments: [
      ("SameSite=Lax", .lax), ("samesite=STRICT", .strict),
      ("SameSite=None", Cookie.SameSite.unrestricted), ("SameSite=maybe", nil), ("SameSite", nil),
      ("SameSite=Strict; SameSite=x", nil), ("x", nil),
    ] as [(String, Cookie.SameSite?)]) func `reads SameSite`(
      attributes: String, expected: Cookie.SameSite?
    )
  {
    #expect(parse("a=b; \(attributes)")?.sameSite == expected)
  }

  @Test func `reads Secure and HttpOnly`() throws {
    let cookie = try #require(parse("a=b;SECURE=no; httponly ;Secured"))

    #expect(cookie.isSecure && cookie.isHTTPOnly)
    #expect(parse("a=b; Secured; HttpOnlyx")?.isSecure == false)
  }

  @Test func `decodes lines that are not UTF-8 as Latin-1`() throws {
    let cookie = try #require(SetCookie([0x61, 0x3D, 0xE9, 0xFF], now: Self.now))

    #expect(cookie.value == "éÿ")
  }
}
