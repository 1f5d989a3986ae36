import Testing

@testable import Martlet

@Suite struct AllowedHostsTests {
  struct Case: Sendable, CustomStringConvertible {
    let pattern: String
    let url: String
    let isAllowed: Bool

    var description: String { "\(pattern) \(isAllowed ? "allows" : "refuses") \(url)" }

    init(_ pattern: String, _ url: String, _ isAllowed: Bool) {
      self.pattern = pattern
      self.url = url
      self.isAllowed = isAllowed
    }
  }

  @Test(arguments: [
    Case("a.example", "http://a.example/", true),
    Case("a.example", "https://a.example:8443/", true),
    Case("A.Example", "http://a.example/", true),
    Case("a.example", "http://A.EXAMPLE/", true),
    Case("a.example", "http://a.example./", true),
    Case("a.example.", "http://a.example/", true),
    Case(" a.example ", "http://a.example/", true),
    Case("a.example", "http://b.a.example/", false),
    Case("a.example", "http://aa.example/", false),
    Case("a.example", "http://a.example.b.example/", false),
    Case("a.example", "http://user:a.example@b.example/", false),
    Case("a.example", "http://b.example/a.example", false),
    Case("a.example", "http://b.example#a.example", false),
    Case("a.example:8443", "https://a.example:8443/", true),
    Case("a.example:8443", "https://a.example/", false),
    Case("a.example:443", "https://a.example/", true),
    Case("a.example:443", "http://a.example:443/", true),
    Case("a.example:443", "http://a.example/", false),
    Case("a.example:80", "http://a.example/", true),
    Case("a.example:80", "https://a.example/", false),
    Case("*.a.example", "http://b.a.example/", true),
    Case("*.a.example", "http://c.b.a.example/", true),
    Case("*.a.example", "http://b.a.example./", true),
    Case("*.a.example", "http://a.example/", false),
    Case("*.a.example", "http://ba.example/", false),
    Case("*.a.example:81", "http://b.a.example:81/", true),
    Case("*.a.example:81", "http://b.a.example/", false),
    Case("bücher.example", "http://xn--bcher-kva.example/", true),
    Case("xn--bcher-kva.example", "http://BÜCHER.example/", true),
    Case("*.bücher.example", "http://a.bücher.example/", true),
    Case("127.0.0.1", "http://127.0.0.1:8080/", true),
    Case("127.0.0.1", "http://127.0.0.2/", false),
    Case("127.0.0.1:8080", "http://127.0.0.1:8080/", true),
    Case("127.0.0.1:8080", "http://127.0.0.1/", false),
    Case("::1", "http://[::1]/", true),
    Case("[::1]", "http://[0:0:0:0:0:0:0:1]/", true),
    Case("[::1]:80", "http://[::1]/", true),
    Case("[::1]:80", "http://[::1]:81/", false),
    Case("::1", "http://127.0.0.1/", false),
    Case("0.1", "http://127.0.0.1/", false),
    Case("localhost", "http://localhost/", true),
    Case("localhost", "http://127.0.0.1/", false),
  ])
  func `allows only hosts that match the pattern`(_ line: Case) throws {
    let url = try AbsoluteURL.parse(line.url)

    #expect(AllowedHosts([line.pattern]).allows(url.host, port: url.effectivePort) == line.isAllowed)
  }

  @Test func `allows hosts that match any pattern, and none without patterns`() {
    let hosts = AllowedHosts(["a.example", "*.b.example"])

    #expect(hosts.problem == nil)
    #expect(hosts.allows("a.example", port: 80) && hosts.allows("x.b.example", port: 80))
    #expect(!AllowedHosts([]).allows("a.example", port: 80))
  }

  @Test(arguments: [
    "", "*", "*.", "a.*", "a*.example", "**.example", "http://a.example", "a.example/x", "u:p@a.example", "a.example:0",
    "a.example:65536", "a.example:x", "a..b", "*.127.0.0.1", "*.[::1]", "[::1", "1.2.3", "a b",
  ])
  func `reports a malformed pattern without its password`(_ text: String) {
    let problem = AllowedHosts(["a.example", text]).problem

    #expect(problem?.message.hasPrefix("allowedHosts has ") == true, "\(problem?.message ?? "none")")
    #expect(problem?.message.contains("u:p") != true)
  }
}
