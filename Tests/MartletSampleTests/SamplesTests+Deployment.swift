import Foundation
import Martlet
import MartletTesting
import Testing

/// Samples from the article on deployment.
extension SamplesTests {
  private func check(_ client: HTTPClient) throws {
    let facts = client.diagnostics
    print(facts)
    if let problem = facts.engineProblem {
      throw HTTPError(.unsupported, "this image has no usable libcurl: \(problem)")
    }
  }

  @Test func `checks which loader sends requests`() throws {
    let client = HTTPClient { $0.transport = StubTransport { _ in .text("x") } }

    try check(client)

    #expect(client.diagnostics.loader == HTTPClient.Diagnostics.Loader.other("StubTransport"))
  }

  #if canImport(Darwin) || URLSession
    @Test func `requires the engine`() {
      let client = HTTPClient { $0.transport = .urlSession(loader: .engine) }

      #expect(client.configuration.transport is URLSessionTransport)
    }
  #endif

  @Test func `adds a certificate authority`() async throws {
    let client = HTTPClient { $0.tls = .system(adding: URL(filePath: "/run/secrets/internal-ca.pem")) }

    // The file does not exist.
    let error = await #expect(throws: HTTPError.self) { try await client.get("https://localhost:1/") }
    #expect(error?.kind == .invalidRequest)
  }

  @Test func `uses the environment's proxy`() {
    let client = HTTPClient { $0.proxy = .environment }

    #expect("\(client.configuration.proxy)" == "environment")
  }
}
