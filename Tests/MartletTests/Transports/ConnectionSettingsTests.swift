import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct ConnectionSettingsTests {
  struct Mistake: Sendable, CustomStringConvertible {
    let name: String
    let value: String
    let make: @Sendable (inout HTTPClient.Configuration) -> Void

    var description: String { "\(name): \(value)" }

    init(_ name: String, _ value: String, _ make: @escaping @Sendable (inout HTTPClient.Configuration) -> Void) {
      self.name = name
      self.value = value
      self.make = make
    }
  }

  static let mistakes = [
    Mistake("resolve", "\"a.example\"") { $0.resolve = ["a.example": []] },
    Mistake("resolve", "\"localhost\"") { $0.resolve = ["a.example": ["localhost"]] },
    Mistake("resolve", "\"1.2.3\"") { $0.resolve = ["a.example": ["::1", "1.2.3"]] },
    Mistake("resolve", "\"a.example:0\"") { $0.resolve = ["a.example:0": ["::1"]] },
    Mistake("resolve", "\"a..b\"") { $0.resolve = ["a..b": ["::1"]] },
    Mistake("resolve", "\"127.0.0.1\"") { $0.resolve = ["127.0.0.1": ["::1"]] },
    Mistake("resolve", "\"\"") { $0.resolve = ["": ["::1"]] },
    Mistake("unixSocket", "\"\"") { $0.unixSocket = "" },
    Mistake("unixSocket", "\"/tmp/a\\u{0}b\"") { $0.unixSocket = "/tmp/a\0b" },
    Mistake("unixSocket", "/aaa") { $0.unixSocket = "/" + String(repeating: "a", count: 107) },
    Mistake("localInterface", "\"\"") { $0.localInterface = "" },
    Mistake("localInterface", "\"host!::1\"") { $0.localInterface = "host!::1" },
    Mistake("localInterface", "\"a/b\"") { $0.localInterface = "a/b" },
    Mistake("localInterface", "\"0123456789abcdef\"") { $0.localInterface = "0123456789abcdef" },
    Mistake("idleConnectionLifetime", "-1.0 seconds") { $0.idleConnectionLifetime = .seconds(-1) },
    Mistake("proxy", "\"ftp://proxy.example\"") { $0.proxy = .proxy("ftp://user:secret@proxy.example") },
    Mistake("proxy", "\"1.2.3.4/99\"") { $0.proxy = .proxy("http://proxy.example", except: ["1.2.3.4/99"]) },
    Mistake("unixSocket", "proxy") {
      $0.unixSocket = "/tmp/a"
      $0.proxy = .environment
    },
  ]

  @Test(arguments: mistakes)
  func `rejects invalid settings by name and value before sending a request`(_ mistake: Mistake) async {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      mistake.make(&$0)
    }

    let error = await #expect(throws: HTTPError.self) { try await client.get("http://a.example/") }

    #expect(error?.kind == .invalidRequest)
    #expect(
      error?.message.contains(mistake.name) == true && error?.message.contains(mistake.value) == true,
      "\(error?.message ?? "")")
    #expect(error?.message.contains("secret") == false)
    #expect(transport.requests.isEmpty)
  }

  @Test func `prefers the addresses of a host and port over those of the host`() {
    let overrides = AddressOverrides([
      "A.example": ["127.0.0.1", "::1"], "a.example:80": ["127.0.0.2"], "a.example:8443": ["[::2]"],
      "bücher.example": ["127.0.0.3"],
    ])

    #expect(overrides.problem == nil)
    #expect(overrides.entry(for: "a.example", port: 443) == "a.example:443:127.0.0.1,[::1]")
    #expect(overrides.entry(for: "a.example", port: 80) == "a.example:80:127.0.0.2")
    #expect(overrides.entry(for: "a.example", port: 8443) == "a.example:8443:[::2]")
    #expect(overrides.entry(for: "xn--bcher-kva.example", port: 443) == "xn--bcher-kva.example:443:127.0.0.3")
    #expect(overrides.entry(for: "b.example", port: 80) == nil)
    #expect(AddressOverrides([:]).isEmpty)
  }

  @Test func `merges the HTTP version like every other option`() {
    let merged = RequestOptions.httpVersion(.http1_1).over(.httpVersion(.http2))

    #expect(merged.httpVersion == .http1_1)
    #expect(RequestOptions().over(merged).httpVersion == .http1_1)
    #expect(ResolvedOptions(RequestOptions()).httpVersion == .automatic)
  }
}
