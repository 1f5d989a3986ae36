import Foundation
import Martlet
import MartletTesting
import Testing

extension SamplesTests {
  @Test func `rejects a request that a guard disallows`() async throws {
    func text(_ link: String, _ client: HTTPClient) async throws -> String {
      do {
        let page = try await client.get(RequestTarget(link))
        return page.text
      } catch let error as HTTPError where error.kind == .refusedByGuard {
        return "not allowed: \(error.message)"
      }
    }
    let client = HTTPClient {
      $0.guards = [.httpsOnly]
      $0.transport = .stub { _ in .text("x") }
    }

    #expect(try await text("https://a.test/", client) == "x")
    #expect(try await text("http://a.test/", client) == "not allowed: httpsOnly refuses a.test: the URL is not https")
  }

  @Test func `configures guards`() async throws {
    func plain() -> HTTPClient {
      let client = HTTPClient { $0.guards = [.httpsOnly, .publicAddressesOnly] }
      return client
    }
    func exceptions() -> HTTPClient {
      let client = HTTPClient { $0.guards = [.publicAddressesOnly(except: ["10.20.0.0/16", "fd12::7"])] }
      return client
    }
    func hosts() -> HTTPClient {
      let client = HTTPClient {
        $0.guards = [.allowedHosts(["api.example.com", "*.cdn.example.com", "localhost:8080"])]
      }
      return client
    }
    func hsts() -> HTTPClient {
      let client = HTTPClient { $0.guards = [.hsts(.file(URL(filePath: "/var/lib/me/hsts")))] }
      return client
    }

    for client in [plain(), exceptions(), hosts(), hsts()] {
      #expect(!client.configuration.guards.isEmpty)
      let stubbed = client.derived { $0.transport = StubTransport { _ in .text("x") } }
      #expect(try await stubbed.get("https://api.example.com/").text == "x")
    }
  }
}
