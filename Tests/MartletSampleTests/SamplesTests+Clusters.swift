import Foundation
import Martlet
import MartletTesting
import Testing

/// Samples from the article on clusters.
extension SamplesTests {
  @Test func `sends requests to the servers of a cluster`() async throws {
    let client = HTTPClient {
      $0.baseURL = "https://api.example.com/v1"
      $0.cluster = .roundRobin(
        ["https://a.example.com", "https://b.example.com"], isOneService: true)
    }
    let transport = StubTransport { _ in .json(Self.ada) }
    let stubbed = client.derived {
      $0.transport = transport
      $0.random = { 0 }
      $0.cluster?.health = .afterFailures(5, pause: .seconds(10))
    }

    #expect(try await user(stubbed).name == "Ada")
    #expect(transport.requests.map { $0.url?.absoluteString } == ["https://a.example.com/v1/users/1"])
  }

  private func user(_ client: HTTPClient) async throws -> User {
    let user = try await client.get("/users/1", as: User.self)
    return user
  }
}
