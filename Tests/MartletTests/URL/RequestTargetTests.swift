import Foundation
import Testing

@testable import Martlet

@Suite struct RequestTargetTests {
  @Test(arguments: [
    ("https://a.test/api/v1", "/users", "https://a.test/api/v1/users"),
    ("https://a.test/api/v1", "users", "https://a.test/api/v1/users"),
    ("https://a.test/api/v1/", "/users", "https://a.test/api/v1/users"),
    ("https://a.test/api/v1/", "users", "https://a.test/api/v1/users"),
    ("https://a.test", "users", "https://a.test/users"),
    ("https://a.test/", "/users/", "https://a.test/users/"),
    ("https://a.test/api", "/", "https://a.test/api/"),
    ("https://a.test/api", "", "https://a.test/api"),
    ("https://a.test/api/", "", "https://a.test/api/"),
    ("https://a.test/api", "?q=1", "https://a.test/api?q=1"),
    ("https://a.test/api?k=1", "?q=1", "https://a.test/api?k=1&q=1"),
    ("https://a.test/api?k=1", "users?q=1#f", "https://a.test/api/users?k=1&q=1#f"),
    ("https://a.test/api?k=1", "users?", "https://a.test/api/users?k=1"),
    ("https://a.test/api?", "users", "https://a.test/api/users?"),
    ("https://a.test/api#top", "users", "https://a.test/api/users"),
    ("https://a.test/api#top", "", "https://a.test/api"),
    ("https://a.test/api", "#f", "https://a.test/api#f"),
    ("https://a.test/api/v1", "../users", "https://a.test/api/users"),
    ("https://a.test/api/v1", "./users", "https://a.test/api/v1/users"),
    ("https://a.test/api", "../../../../x", "https://a.test/x"),
    ("https://a.test/api?k=1", "https://b.test/x", "https://b.test/x"),
    ("https://a.test/api", "HTTP://b.test", "http://b.test/"),
    ("https://a.test/api", "/users:search", "https://a.test/api/users:search"),
    ("https://a.test/api", "/a//b", "https://a.test/api/a//b"),
    ("https://a.test/api", "/b\\c", "https://a.test/api/b%5Cc"),
    ("https://a.test/api", "@evil.test", "https://a.test/api/@evil.test"),
    ("https://a.test", "@evil.test", "https://a.test/@evil.test"),
    ("https://a.test", ".evil.test", "https://a.test/.evil.test"),
  ])
  func `joins a target to a base URL`(_ base: String, _ target: String, _ expected: String) throws {
    let url = try RequestTarget(target).resolve(against: RequestTarget(base))

    #expect(url.string == expected)
  }

  @Test(arguments: [
    "//b.test/x", "///x", "\\\\b.test\\x", "\\x", "ftp://b.test/", "users:search", "b.test:80/x", ":x", "http:x",
    "http:/x",
    "1:2/x", "/x\r\n", "x\0",
  ])
  func `rejects targets that cannot be joined to a base URL`(_ target: String) {
    #expect(throws: InvalidInput.self) { try RequestTarget(target).resolve(against: "https://a.test/api") }
  }

  @Test(arguments: [" /users", "  users", " ?q=1", " //b.test/x", " users:search", " https://b.test/"])
  func `the error names a leading blank`(_ target: String) {
    for base in ["https://a.test/api", nil] as [RequestTarget?] {
      let error = #expect(throws: InvalidInput.self) { try RequestTarget(target).resolve(against: base) }

      #expect(error?.message.hasSuffix("begins with a blank (0x20): trim it") == true, "\(error?.message ?? "")")
    }
  }

  @Test func `the error explains how to add a missing scheme`() {
    let bare = #expect(throws: InvalidInput.self) { try RequestTarget("google.com").resolve(against: nil) }
    let other = #expect(throws: InvalidInput.self) { try RequestTarget("//b.test/x").resolve(against: nil) }
    let base = #expect(throws: InvalidInput.self) { try RequestTarget("/x").resolve(against: "/api") }

    #expect(bare?.message == "no scheme in \"google.com\": set baseURL, or write a full URL that begins with https://")
    #expect(other?.message == "\"//b.test/x\" would change the host: write the scheme, https://, before it")
    #expect(base?.message == "baseURL: no scheme in \"/api\": write a full URL, such as https://a.example/")
  }

  @Test func `adds query items of base, target and call in this order`() throws {
    let target: RequestTarget = "/x?b=2&b"

    let joined = try target.resolve(against: "https://a.test?a=1", adding: ["c": "3 +", "a": 4])
    let full = try RequestTarget("https://b.test/?b=2").resolve(against: "https://a.test?a=1", adding: ["c": 3])

    #expect(joined.string == "https://a.test/x?a=1&b=2&b&c=3%20%2B&a=4")
    #expect(full.string == "https://b.test/?b=2&c=3")
  }

  @Test func `applies the userinfo of the base only to relative targets`() throws {
    let own = try RequestTarget("/x").resolve(against: "https://u:p@a.test")
    let other = try RequestTarget("https://b.test/x").resolve(against: "https://u:p@a.test")

    #expect(own.user == "u" && own.password == "p")
    #expect(other.user == nil && other.password == nil)
  }

  @Test func `resolves a resolved URL to itself`() throws {
    let url = try AbsoluteURL.parse("https://u@a.test/x?y=1#z")

    #expect(try RequestTarget(url).resolve(against: "https://b.test") == url)
    #expect(try RequestTarget(url).resolve(against: nil, adding: ["q": 1]).string == "https://a.test/x?y=1&q=1#z")
    #expect(try RequestTarget("/w").resolve(against: RequestTarget(url)).string == "https://a.test/x/w?y=1")
  }

  @Test func `accepts a Foundation URL`() throws {
    let url = try #require(URL(string: "https://a.test/x y?q=ü"))
    let relative = try #require(URL(string: "users/1"))

    #expect(try RequestTarget(url).resolve(against: nil).string == "https://a.test/x%20y?q=%C3%BC")
    #expect(try RequestTarget(relative).resolve(against: "https://a.test/v1").string == "https://a.test/v1/users/1")
    #expect(throws: InvalidInput.self) { try RequestTarget(URL(fileURLWithPath: "/etc/passwd")).resolve(against: nil) }
  }

  @Test func `describes itself without secrets`() throws {
    let text = "https://user:canary@a.test/x?token=canary&flag#canary"
    let targets = [RequestTarget(text), RequestTarget(try AbsoluteURL.parse(text))]

    for target in targets {
      var dumped = ""
      dump(target, to: &dumped)

      #expect(target.description == "https://a.test/x?token=***&flag")
      #expect(String(reflecting: target) == target.description)
      #expect(!dumped.contains("canary"))
    }
    #expect(RequestTarget("/a\u{1B}[2J\r\n\u{202E}").description == "/a\\u{1b}[2J\\r\\n\\u{202e}")
    #expect(RequestTarget("/users/a@b.test").description == "/users/a@b.test")
  }
}
