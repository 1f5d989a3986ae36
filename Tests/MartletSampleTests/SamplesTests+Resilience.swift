import Foundation
import Martlet
import MartletTesting
import Testing

/// Samples from the article on deadlines and load.
extension SamplesTests {
  private nonisolated struct Cart: Codable { var articles: [Int] }

  private static func handle() async throws -> String { "handled" }

  @Test func `works within a deadline`() async throws {
    let client = Self.client(.json(#"{"articles":[7]}"#))
    let response =
      try await withDeadline(.seconds(2), name: "checkout") {
        let cart = try await client.get("/cart", as: Cart.self)
        return try await client.post("/orders", body: .json(cart))
      }
    #expect(response.status == .ok)
    let audit =
      Deadline.$current.withValue(nil) { client.start("/audit") }
    _ = try await audit.value
  }

  @Test func `passes a deadline on`() async throws {
    let incoming: HTTPHeaders = ["grpc-timeout": "1500m"]
    let transport = StubTransport { request in .text(request.headers["grpc-timeout"] ?? "") }
    let timeout = Deadline.Header.grpcTimeout(to: ["https://orders.internal"])
    let client = HTTPClient {
      $0.baseURL = "https://orders.internal"
      $0.deadlineHeader = timeout
    }
    await client.update { $0.transport = transport }
    let text = try await withDeadline(timeout.deadline(in: incoming, name: "GET /cart")) {
      try await client.get("/orders").text
    }
    #expect(text.hasSuffix("m"))

    let headers = incoming
    let deadline = Deadline.Header.grpcTimeout(to: []).deadline(in: headers, name: "GET /cart")
    #expect(try await withDeadline(deadline) { try await Self.handle() } == "handled")
  }

  @Test func `sends a deadline header to the base URL`() {
    let client = HTTPClient {
      $0.baseURL = "https://orders.internal"
      $0.deadlineHeader = .grpcTimeout(to: ["https://orders.internal"])
    }
    #expect(client.configuration.deadlineHeader?.name == "grpc-timeout")
  }

  @Test func `hedges a request`() async throws {
    let client = Self.client(.json(#"{"id":1,"name":"Ada"}"#))
    let user = try await client.get("/users/1", options: .hedging(.afterPercentile(0.95)), as: User.self)
    #expect(user.name == "Ada")
  }

  @Test func `limits the load on servers`() throws {
    var clients: [HTTPClient] = []
    do {
      let client = HTTPClient { $0.concurrency = .adaptive }
      clients.append(client)
    }
    do {
      let client = HTTPClient { $0.rate = .perSecond(10, burst: 20) }
      clients.append(client)
    }
    do {
      let client = HTTPClient { $0.circuitBreaker = .afterFailures(5, pause: .seconds(10)) }
      clients.append(client)
    }
    do {
      let client = HTTPClient { $0.dataBudget = .perDay(50 << 20) }
      clients.append(client)
    }
    let options = RequestOptions.rate(.perMinute(60, scope: .tag)).tag("export")
    #expect(options.tag == "export")
    let file = URL(filePath: "/tmp/budget")
    let client = HTTPClient {
      var budget = DataBudget.perDay(50 << 20)
      budget.file = file
      budget.allowsExpensiveNetworks = false
      $0.dataBudget = budget
    }
    clients.append(client)
    #expect(clients.count == 5)
  }
}
