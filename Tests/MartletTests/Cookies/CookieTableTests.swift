import Foundation
import Testing

@testable import Martlet

/// Which cookies a jar keeps and sends (RFC 6265bis §5.7, §5.8).
@Suite struct CookieTableTests {
  static let start = Date(timeIntervalSince1970: 1_700_000_000)

  /// A table, and a clock that advances with each received or sent cookie.
  struct Bench {
    var table = CookieTable()
    var now = start

    @discardableResult
    mutating func receive(_ line: String, from url: String) throws -> Bool {
      now += 1
      return try SetCookie(line, now: now).map { table.receive($0, from: try AbsoluteURL.parse(url), now: now) == nil }
        ?? false
    }

    mutating func sent(to url: String, _ relation: SiteRelation = .same) throws -> String {
      now += 1
      return Cookie.field(table.select(for: try AbsoluteURL.parse(url), relation, now: now)) ?? ""
    }
  }

  /// RFC 6265bis §3.1.
  @Test func `follows the examples of RFC 6265bis`() throws {
    var bench = Bench()

    try bench.receive("SID=31d4d96e407aad42; Path=/; Secure; HttpOnly", from: "https://site.example/login")
    try bench.receive("lang=en-US; Path=/; Domain=site.example", from: "https://site.example/login")
    let both = try bench.sent(to: "https://site.example/x")
    let other = try bench.sent(to: "https://www.site.example/")
    let clear = try bench.sent(to: "http://site.example/")
    try bench.receive(
      "lang=; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Path=/; Domain=site.example", from: "https://site.example/")
    let rest = try bench.sent(to: "https://site.example/x")

    #expect(both == "SID=31d4d96e407aad42; lang=en-US")
    #expect(other == "lang=en-US")
    #expect(clear == "lang=en-US")
    #expect(rest == "SID=31d4d96e407aad42")
  }

  @Test func `sends longer paths first, then older cookies`() throws {
    var bench = Bench()
    try bench.receive("a=1; Path=/", from: "http://x.test/")
    try bench.receive("b=1; Path=/one", from: "http://x.test/")
    try bench.receive("c=1; Path=/one/two", from: "http://x.test/")
    try bench.receive("d=1; Path=/one", from: "http://x.test/")
    // A replaced cookie keeps its creation time.
    try bench.receive("b=2; Path=/one", from: "http://x.test/")

    #expect(try bench.sent(to: "http://x.test/one/two") == "c=1; b=2; d=1; a=1")
    #expect(try bench.sent(to: "http://x.test/one/three") == "b=2; d=1; a=1")
    #expect(try bench.sent(to: "http://x.test/on") == "a=1")
  }

  /// RFC 6265bis §5.8.3.
  @Test func `sends cookies with equal creation times in order of arrival`() throws {
    var table = CookieTable()
    let url = try AbsoluteURL.parse("http://www.x.test/")
    let names = ["c", "a", "d", "b"]
    for (name, domain) in zip(names, ["; Domain=x.test", "", "; Domain=www.x.test", ""]) {
      let line = try #require(SetCookie("\(name)=1\(domain)", now: Self.start))
      table.receive(line, from: url, now: Self.start)
    }
    // Another jar that reads the saved cookies.
    var other = CookieTable()
    for cookie in table.inOrder(Self.start) { other.put(cookie, now: Self.start) }
    let again = try #require(SetCookie("c=2; Domain=x.test", now: Self.start))
    table.receive(again, from: url, now: Self.start)

    let own = table.select(for: url, .same, now: Self.start)
    let restored = other.select(for: url, .same, now: Self.start)
    #expect(own.map(\.name) == names)
    #expect(restored.map(\.name) == names)
  }

  @Test func `distinguishes cookies by name, domain, path and host-only flag`() throws {
    var bench = Bench()
    try bench.receive("a=host", from: "http://x.test/")
    try bench.receive("a=domain; Domain=x.test", from: "http://x.test/")
    try bench.receive("a=path; Path=/p", from: "http://x.test/")
    try bench.receive("A=case", from: "http://x.test/")

    #expect(bench.table.count == 4)
    #expect(try bench.sent(to: "http://x.test/p") == "a=path; a=host; a=domain; A=case")
    #expect(try bench.sent(to: "http://www.x.test/p") == "a=domain")
  }

  @Test func `sends cookies only to hosts that match their domain`() throws {
    var bench = Bench()
    try bench.receive("host=1", from: "http://www.x.test/")
    try bench.receive("domain=1; Domain=x.test", from: "http://www.x.test/")

    let sent = try [
      "www.x.test", "x.test", "a.www.x.test", "b.x.test", "www.x.test.", "x.test.evil.test", "ax.test", "test",
      "www.x.test:8080",
    ].map { try bench.sent(to: "http://\($0)/") }

    #expect(
      sent == ["host=1; domain=1", "domain=1", "domain=1", "domain=1", "", "", "", "", "host=1; domain=1"])
  }

  @Test func `removes expired cookies`() throws {
    var bench = Bench()
    try bench.receive("a=1; Max-Age=10", from: "http://x.test/")
    try bench.receive("b=1", from: "http://x.test/")
    try bench.receive("c=1; Max-Age=0", from: "http://x.test/")

    let before = try bench.sent(to: "http://x.test/")
    bench.now += 20
    let after = try bench.sent(to: "http://x.test/")

    #expect(before == "a=1; b=1")
    #expect(after == "b=1")
    #expect(bench.table.all(bench.now).map(\.name) == ["b"])
  }

  @Test(arguments: [
    ("https://x.test/", "a=1; Secure", "http://x.test/", "a=2", false),
    ("https://x.test/", "a=1; Secure", "http://x.test/", "a=2; Max-Age=0", false),
    ("https://x.test/", "a=1; Secure", "http://x.test/y/z", "a=2", false),
    ("https://x.test/", "a=1; Secure", "http://x.test/", "a=2; Domain=x.test", false),
    ("https://x.test/", "a=1; Secure; Domain=x.test", "http://www.x.test/", "a=2", false),
    ("https://www.x.test/", "a=1; Secure", "http://www.x.test/", "a=2; Domain=x.test", false),
    ("https://x.test/", "a=1; Secure; Path=/login", "http://x.test/", "a=2; Path=/login/en", false),
    ("https://x.test/", "a=1; Secure; Path=/login", "http://x.test/", "a=2; Path=/", true),
    ("https://x.test/", "a=1; Secure", "http://x.test/", "b=2", true),
    ("https://x.test/", "a=1; Secure", "http://y.test/", "a=2", true),
    ("https://x.test/", "a=1", "http://x.test/", "a=2", true),
    ("https://x.test/", "a=1; Secure", "https://x.test/", "a=2", true),
  ]) func `http cannot replace or shadow a Secure cookie`(
    first: String, line: String, second: String, other: String, isAccepted: Bool
  ) throws {
    var bench = Bench()
    try bench.receive(line, from: first)

    #expect(try bench.receive(other, from: second) == isAccepted)
  }

  @Test(
    arguments: [
      (.same, "strict=1; lax=1; plain=1; none=1"), (.crossReading, "lax=1; plain=1; none=1"),
      (.crossWriting, "none=1"),
    ] as [(SiteRelation, String)]) func `honors SameSite`(relation: SiteRelation, expected: String) throws
  {
    var bench = Bench()
    for line in ["strict=1; SameSite=Strict", "lax=1; SameSite=Lax", "plain=1", "none=1; SameSite=None; Secure"] {
      try bench.receive(line, from: "https://x.test/")
    }

    #expect(try bench.sent(to: "https://x.test/", relation) == expected)
  }

  // MARK: Limits

  @Test func `keeps 50 cookies per domain, and evicts the least recently used`() throws {
    var bench = Bench()
    for number in 0..<50 { try bench.receive("c\(number)=1; Path=/\(number)", from: "http://x.test/") }
    // This use makes `c0` no longer the least recently used.
    _ = try bench.sent(to: "http://x.test/0")

    try bench.receive("new=1", from: "http://x.test/")

    #expect(bench.table.count == 50)
    let names = bench.table.all(bench.now).map(\.name)
    #expect(names.contains("c0") && names.contains("new") && !names.contains("c1"))
  }

  @Test func `evicts expired cookies first, then those that are not Secure`() throws {
    var bench = Bench()
    for number in 0..<48 { try bench.receive("s\(number)=1; Secure", from: "https://x.test/") }
    try bench.receive("clear=1", from: "https://x.test/")
    try bench.receive("short=1; Max-Age=5; Secure", from: "https://x.test/")

    bench.now += 10
    try bench.receive("one=1; Secure", from: "https://x.test/")
    let first = Set(bench.table.all(bench.now).map(\.name))
    try bench.receive("two=1; Secure", from: "https://x.test/")
    let second = Set(bench.table.all(bench.now).map(\.name))
    try bench.receive("three=1", from: "https://x.test/")
    let third = Set(bench.table.all(bench.now).map(\.name))

    #expect(first.count == 50 && first.isSuperset(of: ["clear", "one", "s0"]))
    #expect(second.count == 50 && second.isSuperset(of: ["one", "two", "s0"]) && !second.contains("clear"))
    // Only Secure cookies are left, and a cookie without Secure cannot evict them.
    #expect(third == second)
  }

  @Test func `keeps 3,000 cookies in total, and evicts the least recently used`() throws {
    var bench = Bench()
    for number in 0..<3_000 { try bench.receive("a=\(number)", from: "https://h\(number).test/") }
    _ = try bench.sent(to: "http://h0.test/")

    try bench.receive("a=new", from: "http://new.test/")

    #expect(bench.table.count == 3_000)
    #expect(try bench.sent(to: "http://h0.test/") == "a=0")
    #expect(try bench.sent(to: "http://h1.test/") == "")
    #expect(try bench.sent(to: "http://new.test/") == "a=new")
  }

  @Test func `keeps the last 3,000 of many cookies set at once, and evicts expired ones first`() throws {
    var bench = Bench()
    try bench.receive("a=old; Max-Age=5", from: "https://old.test/")
    bench.now += 10
    let cookies = (0..<3_100).map { number in
      var cookie = Cookie("a", "\(number)", domain: "h\(number).test")
      cookie.lastAccess = bench.now
      return cookie
    }

    bench.table.put(cookies, now: bench.now)

    #expect(bench.table.count == 3_000)
    #expect(try bench.sent(to: "http://old.test/") == "" && bench.sent(to: "http://h99.test/") == "")
    #expect(try bench.sent(to: "http://h100.test/") == "a=100" && bench.sent(to: "http://h3099.test/") == "a=3099")
  }

  @Test func `sends at most 8,190 bytes`() throws {
    var bench = Bench()
    let value = String(repeating: "v", count: 4000)
    for number in 0..<4 { try bench.receive("c\(number)=\(value)", from: "http://x.test/") }

    let sent = try bench.sent(to: "http://x.test/")

    #expect(sent.utf8.count == 8_008 && sent.hasSuffix("; c1=\(value)"))
  }
}
