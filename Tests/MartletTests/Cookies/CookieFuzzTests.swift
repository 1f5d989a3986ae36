import Foundation
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

/// With random lines from random hosts, nothing crashes and no cookie leaves its domain.
@Suite struct CookieFuzzTests {
  static let seed: UInt64 = 0xC00C_1E5

  static let hosts = [
    "example.com", "www.example.com", "a.b.example.com", "evil.test", "example.com.evil.test", "co.uk", "x.co.uk",
    "y.co.uk", "github.io", "me.github.io", "you.github.io", "127.0.0.1", "127.0.0.2", "[::1]", "localhost",
    "a.localhost", "xn--85x722f.xn--55qx5d.cn", "www.ck", "a.b.ck", "example.com.", "com",
  ]

  static let names = ["a", "sid", "__Host-a", "__Secure-b", "", "ä", "a b", "__hOsT-c"]

  static let attributes = [
    "Path=/", "Path=/x", "Path=x", "Path", "Secure", "HttpOnly", "SameSite=None", "SameSite=Strict", "SameSite=Lax",
    "Max-Age=0", "Max-Age=60", "Max-Age=-1", "Max-Age=99999999999999999999", "Expires=Sun, 06 Nov 1994 08:49:37 GMT",
    "Expires=Fri, 31 Dec 9999 23:59:59 GMT", "Domain=", "Domain=com", "Domain=uk", "Domain=.co.uk", "Domain=1",
    "Domain=0.0.1", "Domain=::1", "Domain=[::1]", "=", "", "\t",
  ]

  private static func line(_ random: inout SeededGenerator) -> [UInt8] {
    guard Int.random(in: 0..<4, using: &random) > 0 else {
      return (0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
    let name = names.randomElement(using: &random) ?? ""
    var text = "\(name)=\(Int.random(in: 0..<100, using: &random))"
    for _ in 0..<Int.random(in: 0...5, using: &random) {
      let host = hosts.randomElement(using: &random) ?? ""
      text += ["; ", ";", " ;\t"].randomElement(using: &random) ?? ";"
      text += Bool.random(using: &random) ? "Domain=\(host)" : attributes.randomElement(using: &random) ?? ""
    }
    var octets = Array(text.utf8)
    for _ in 0..<Int.random(in: 0...2, using: &random) where !octets.isEmpty && Bool.random(using: &random) {
      octets[Int.random(in: octets.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
    }
    return octets
  }

  private static let count = Stress.count(3_000, full: 100_000)

  @Test func `cookies from random Set-Cookie lines are not sent to foreign hosts`() async throws {
    print("CookieFuzzTests: seed \(Self.seed)")
    var random = SeededGenerator(seed: Self.seed)
    var table = CookieTable()
    var now = Date(timeIntervalSince1970: 1_700_000_000)
    let urls = try Self.hosts.flatMap { host in
      try ["http", "https"].map { try AbsoluteURL.parse("\($0)://\(host)/x/y") }
    }
    var accepted = 0
    var sent = 0

    for number in 0..<Self.count {
      if number.isMultiple(of: 500) { await Task.yield() }
      now += 0.25
      let url = urls[Int.random(in: urls.indices, using: &random)]
      let octets = Self.line(&random)
      guard let line = SetCookie(octets, now: now) else { continue }
      if let cookie = try? Cookie(line, from: url, now: now) {
        accepted += 1
        if let fault = Self.fault(of: cookie, from: url, now) { Issue.record("\(fault): \(octets) from \(url.string)") }
      }
      table.receive(line, from: url, now: now)
      guard number % 10 == 0 else { continue }
      let other = urls[Int.random(in: urls.indices, using: &random)]
      let cookies = table.select(for: other, .same, now: now)
      sent += cookies.count
      for cookie in cookies where !Self.isAtHome(cookie, other) || cookie.isSecure && !other.isSecure {
        Issue.record("\(cookie) to \(other.string)")
      }
      if let field = Cookie.field(cookies) {
        #expect(FieldSyntax.isFieldValue(field))
        #expect(field.utf8.count <= Cookie.maximumHeaderBytes)
      }
    }

    #expect(accepted > Self.count / 10)
    #expect(sent > Self.count / 10)
    #expect(table.count <= 50 * Self.hosts.count)
  }

  // These functions state the rules again, independently of the code under test.

  private static func isAtHome(_ cookie: Cookie, _ url: AbsoluteURL) -> Bool {
    cookie.domain == url.host || !cookie.isHostOnly && url.host.hasSuffix(".\(cookie.domain)")
  }

  private static func fault(of cookie: Cookie, from url: AbsoluteURL, _ now: Date) -> String? {
    guard isAtHome(cookie, url) else { return "a foreign domain" }
    if cookie.domain != url.host {
      if !cookie.domain.contains(".") || publicSuffixes.contains(cookie.domain) { return "a public suffix" }
      if url.host.hasPrefix("127.") || url.host.hasPrefix("[") { return "a part of an address" }
    }
    if cookie.isSecure && !url.isSecure { return "Secure from http" }
    if cookie.name.lowercased().hasPrefix("__host-"), !cookie.isHostOnly || cookie.path != "/" { return "a prefix" }
    if let expires = cookie.expires, expires > now + 400 * 86_400 { return "too long a life" }
    return cookie.checked() == cookie ? nil : "not what a file could bring back"
  }

  static let publicSuffixes: Set = ["com", "co.uk", "github.io", "localhost", "b.ck", "xn--55qx5d.cn"]
}
