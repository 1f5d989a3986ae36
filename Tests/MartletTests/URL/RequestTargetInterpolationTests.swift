import Foundation
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite struct RequestTargetInterpolationTests {
  private static let base: RequestTarget = "https://a.test:8443/api"

  private func path(_ target: RequestTarget) throws -> String {
    try target.resolve(against: Self.base).pathAndQuery
  }

  private func isRefused(_ target: RequestTarget) -> Bool {
    (try? target.resolve(against: Self.base)) == nil
  }

  @Test func `escapes values in the path, the query and the fragment`() throws {
    let text = "a/b?c#d%e;f=g&h+i\r\n é"
    let escaped = "a%2Fb%3Fc%23d%25e%3Bf%3Dg%26h%2Bi%0D%0A%20%C3%A9"

    let url = try ("/users/\(text)?q=\(text)#\(text)" as RequestTarget).resolve(against: Self.base)

    #expect(url.string == "https://a.test:8443/api/users/\(escaped)?q=\(escaped)#\(escaped)")
  }

  @Test func `accepts values of many types`() throws {
    let id = try #require(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))
    let word = "a b".dropFirst(2)

    #expect(try path("/\(7)/\(-1)/\(1.5)/\(true)/\(id)/\(word)") == "/api/7/-1/1.5/true/\(id)/b")
    #expect(try path("/x?\(Query(dictionaryLiteral: ("a", "1&2")))") == "/api/x?a=1%262")
    #expect(isRefused("/x/\(Query(dictionaryLiteral: ("a", "1")))"))
    #expect(try path(RequestTarget("/\("a/b")")) == "/api/a%2Fb")
  }

  @Test func `accepts raw text and paths`() throws {
    #expect(try path("/x\(raw: "/y?z=1&w")=\("a&b")") == "/api/x/y?z=1&w=a%26b")
    #expect(try path("/f/\(path: "a b/c?d/e%")") == "/api/f/a%20b/c%3Fd/e%25")
    #expect(try path("\(path: "a:b/c")") == "/api/a%3Ab/c")
    #expect(try path("?p=\(path: "a//b&c")") == "/api?p=a//b%26c")
  }

  @Test(arguments: ["", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b"])
  func `rejects a path with dot segments or empty segments`(_ path: String) {
    #expect(isRefused("/f/\(path: path)"))
    #expect(isRefused("/f/\(path: path)/x"))
  }

  @Test(arguments: ["", ".", ".."])
  func `rejects a value that makes a segment empty or a dot segment`(_ id: String) {
    #expect(isRefused("/users/\(id)"))
    #expect(isRefused("/users/\(id)/x"))
    #expect(isRefused("/\(id)/x"))
    #expect(isRefused("/users/\(id)?q"))
    #expect(isRefused("/users/\(id)#f"))
    #expect(isRefused("\(id)/x"))
    #expect(isRefused("\(id)"))
    #expect(isRefused("https://b.test/\(id)"))
    #expect(isRefused("/a/\("")\(id)\("")/x"))
  }

  @Test func `checks segments after literals and values are joined`() throws {
    #expect(isRefused("/a/.\(".")"))
    #expect(isRefused("/a/\(".")\(".")/b"))
    #expect(isRefused("/a/.\("")/b"))
    #expect(isRefused("/a/%2\("e")") == false)
    #expect(try path("/a/%2\("e")") == "/api/a/%252e")
    #expect(try path("/a/%\("2e")/%\("2F")") == "/api/a/%252e/%252F")
    #expect(try path("/a/%2e%2\(raw: "e")/%\("x")") == "/api/%25x")
    #expect(try path("/a/50%\("25")") == "/api/a/50%2525")
    #expect(isRefused("/a/%2e\("")"))
    #expect(try path("/a/x\("")/\("...")") == "/api/a/x/...")
  }

  @Test func `the error shows the path with the empty segment`() {
    let id = ""

    let error = #expect(throws: InvalidInput.self) {
      try ("/users/\(id)/repos" as RequestTarget).resolve(against: Self.base)
    }

    #expect(error?.message == "a value makes an empty segment in the path \"/users//repos\"")
  }

  @Test(arguments: [
    "//evil.test", "\\\\evil.test", "evil.test:80", "javascript:x", "@evil.test", "\u{0}",
  ])
  func `treats a value at the start as a path segment`(_ text: String) throws {
    for target in ["\(text)", "\(text)/x", "/\(text)", "/\(text)/x"] as [RequestTarget] {
      let url = try target.resolve(against: Self.base)

      #expect(url.origin.description == "https://a.test:8443")
      #expect(url.path.utf8.count { $0 == UInt8(ascii: "/") } <= 3)
      #expect(throws: InvalidInput.self) { try target.resolve(against: nil) }
    }
  }

  @Test(arguments: [
    "http://evil.test", "https://user:secret@a.test/?key=secret", "HTTPS://a.test", "ftp://a.test", " https://a.test",
    "\n\thttp://a.test",
  ])
  func `rejects a URL string at the start and suggests raw`(_ text: String) throws {
    let targets = ["\(text)", "\(text)/x", "\(path: text)", RequestTarget("\(text)/x")] as [RequestTarget]

    for target in targets {
      let error = #expect(throws: InvalidInput.self) { try target.resolve(against: Self.base) }

      let message = try #require(error?.message)
      #expect(message.contains("write \\(raw:)"))
      #expect(message.contains("secret") == false)
    }
    #expect(try path("/go/\(text)").hasPrefix("/api/go/"))
    #expect(try path("?to=\(text)").hasPrefix("/api?to="))
  }

  @Test func `text and raw use a string without escaping`() throws {
    let (port, rest, base) = (8080, "/x?a=b", "https://b.test/v1")

    #expect(try RequestTarget(text: "http://127.0.0.1:\(port)\(rest)").resolve(against: nil).pathAndQuery == "/x?a=b")
    #expect(try RequestTarget(text: "\(base)/users").resolve(against: nil).string == "https://b.test/v1/users")
    #expect(try ("\(raw: base)/users" as RequestTarget).resolve(against: nil).string == "https://b.test/v1/users")
  }

  @Test func `the error explains how to begin a path after a host`() {
    let (port, rest) = (8080, "/x?key=secret")

    let error = #expect(throws: InvalidInput.self) {
      try RequestTarget("http://127.0.0.1:\(port)\(rest)").resolve(against: nil)
    }

    #expect(error?.message.contains("begin the path in the literal, or write \\(raw:)") == true)
    #expect(error?.message.contains("secret") == false)
  }

  @Test func `treats an interpolated international host like a literal one`() throws {
    let (host, label) = ("Bücher.test", "bücher")
    let plain = try RequestTarget("https://Bücher.test/").resolve(against: nil)

    #expect(plain.host == "xn--bcher-kva.test")
    #expect(try ("https://\(host)/" as RequestTarget).resolve(against: nil) == plain)
    #expect(try ("https://\(label).test" as RequestTarget).resolve(against: nil) == plain)
    #expect(isRefused("https://b\("ü")cher.test/"))
  }

  @Test func `accepts an interpolated scheme at the start`() throws {
    #expect(try ("\("https")://b.test/x" as RequestTarget).resolve(against: nil).string == "https://b.test/x")
    #expect(try ("\("HTTP")://\("b.test")/\("c")" as RequestTarget).resolve(against: nil).string == "http://b.test/c")
    #expect(isRefused("\("ftp")://b.test/"))
    #expect(isRefused("\("")://b.test/"))
    #expect(isRefused("\("https:")//b.test/") == false)
    #expect(try path("\("https:")//b.test/") == "/api/https%3A//b.test/")
  }

  @Test func `uses a Foundation URL at the start unchanged`() throws {
    let url = try #require(URL(string: "https://b.test/v1?q=1"))
    let root = try #require(URL(string: "https://b.test/"))

    #expect(try ("\(url)" as RequestTarget).resolve(against: Self.base).string == "https://b.test/v1?q=1")
    #expect(try ("\(root)/users" as RequestTarget).resolve(against: nil).string == "https://b.test/users")
    #expect(try ("\(root)users" as RequestTarget).resolve(against: nil).string == "https://b.test/users")
    #expect(try ("\(root)//users" as RequestTarget).resolve(against: nil).string == "https://b.test//users")
    #expect(try path("/go?to=\(url)") == "/api/go?to=https%3A%2F%2Fb.test%2Fv1%3Fq%3D1")
    #expect(try path("/go/\(root)") == "/api/go/https%3A%2F%2Fb.test%2F")
    #expect(isRefused("\(root)\("")"))
  }

  @Test(arguments: [
    ("b.test", 80, "http://b.test/"), ("B-1.test", 8080, "http://b-1.test:8080/"),
    ("127.0.0.1", 1, "http://127.0.0.1:1/"),
    ("::1", 80, "http://[::1]/"), ("[::1]", 81, "http://[::1]:81/"),
  ])
  func `accepts an interpolated host and port`(_ host: String, _ port: Int, _ expected: String) throws {
    #expect(try ("http://\(host):\(port)/" as RequestTarget).resolve(against: nil).string == expected)
    #expect(try ("http://\(host):\(port)" as RequestTarget).resolve(against: nil).string == expected)
    #expect(try ("http://u@\(host):\(port)?" as RequestTarget).resolve(against: nil).string == expected + "?")
  }

  @Test func `accepts an IPv6 address between brackets`() throws {
    #expect(try ("http://[\("::1")]/" as RequestTarget).resolve(against: nil).string == "http://[::1]/")
    #expect(isRefused("http://[\("[::1]")]/"))
    #expect(isRefused("http://[\("b.test")]/"))
  }

  @Test(arguments: [
    "", " ", "b.test/x", "b.test?x", "b.test#x", "b.test:80", "u@b.test", "@", "b\\c", "b%2ec", "b%", "\r\n", "\0",
    "bücher.test/x", "bücher.test@evil.test", "b\u{FC}%2f", "bü\u{2044}c／d", "\u{AD}", "xn--ü",
    "[::1", "::1]", "[::1]:80", "::1%25eth0", "[", "]", "127.1", "..", "a..b", "／",
  ])
  func `rejects invalid values for a host`(_ host: String) {
    #expect(isRefused("http://\(host)/"))
    #expect(isRefused("http://\(host)"))
    #expect(isRefused("http://\(host):80/"))
    #expect(isRefused("http://u@\(host)/"))
  }

  @Test(arguments: ["", "0", "65536", "x", "-1", "80/x", "80@evil.test", "80.1", "8 0"])
  func `rejects invalid values for a port`(_ port: String) {
    #expect(isRefused("http://b.test:\(port)/"))
  }

  @Test(arguments: [".evil.test", "-x.evil.test", "@evil.test", ":80@evil.test", "/x", "\\x"])
  func `rejects values that would extend or replace a literal host`(_ text: String) {
    #expect(isRefused("https://api.test\(text)"))
    #expect(isRefused("https://api.test\(text)/x"))
    #expect(isRefused("https://\("api")\(text)/x"))
  }

  @Test func `accepts a value as part of a host`() throws {
    #expect(try ("https://\("eu").api.test/" as RequestTarget).resolve(against: nil).host == "eu.api.test")
    #expect(try ("https://api-\("eu").test/" as RequestTarget).resolve(against: nil).host == "api-eu.test")
    #expect(try ("https://api.\("b.test")/" as RequestTarget).resolve(against: nil).host == "api.b.test")
  }

  @Test func `random text stays in its component`() throws {
    var generator = SeededGenerator(seed: 20_000)
    let usual = try ("/users/\("x")/y?q=\("x")&r=1#f\("x")" as RequestTarget).resolve(against: Self.base)
    let rounds = Stress.count(2_000, full: 20_000)
    var resolved = 0
    for _ in 0..<rounds {
      let text = HostileText.random(upTo: 8, using: &generator)
      let target: RequestTarget = "/users/\(text)/y?q=\(text)&r=1#f\(text)"
      guard let url = try? target.resolve(against: Self.base) else {
        #expect(["", ".", ".."].contains(text))
        continue
      }
      resolved += 1
      let segments = url.path.split(separator: "/", omittingEmptySubsequences: false)
      let query = Query(parsing: url.query ?? "")

      let keepsPlace =
        url.origin == usual.origin && segments.count == 5 && segments[2] == "users" && segments[4] == "y"
        && segments[3].removingPercentEncoding.map { Array($0.utf8) } == Array(text.utf8)
        && query.items.count == 2 && query["q"].map { Array($0.utf8) } == Array(text.utf8) && query["r"] == "1"
        && url.fragment?.removingPercentEncoding.map { Array($0.utf8) } == Array("f\(text)".utf8)
        && url.string.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
      if !keepsPlace { Issue.record("\(InvalidInput.printable(text)) became \(url.string)") }
    }
    #expect(resolved > rounds * 3 / 4)
  }

  @Test func `random text stays in its component at the start, in a host and after a percent sign`() throws {
    var generator = SeededGenerator(seed: 20_001)
    for _ in 0..<Stress.count(2_000, full: 20_000) {
      let text = HostileText.random(upTo: 4, using: &generator)
      let shown = InvalidInput.printable(text)
      if let url = try? ("\(text)/y" as RequestTarget).resolve(against: Self.base) {
        let segments = url.path.split(separator: "/", omittingEmptySubsequences: false)
        if url.host != "a.test" || segments.count != 4 { Issue.record("start: \(shown) became \(url.string)") }
      }
      if let url = try? ("/%\(text)/%2\(text)" as RequestTarget).resolve(against: Self.base) {
        let decoded = url.path.split(separator: "/").last?.removingPercentEncoding
        if decoded.map({ Array($0.utf8) }) != Array("%2\(text)".utf8) {
          Issue.record("percent: \(shown) became \(url.string)")
        }
      }
      if let url = try? ("http://h\(text).test:90/y" as RequestTarget).resolve(against: Self.base) {
        if url.host != "h\(text).test".lowercased() || url.port != 90 || url.user != nil || url.path != "/y" {
          Issue.record("host: \(shown) became \(url.string)")
        }
      }
      _ = try? ("\(raw: text)\(text)?\(raw: text)=\(text)" as RequestTarget).resolve(against: Self.base)
      _ = try? ("http://\(raw: text)\(text):\(text)/\(path: text)" as RequestTarget).resolve(against: nil)
    }
  }
}
