import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

extension SamplesTests {
  nonisolated private struct Order: Codable, Sendable { var item = "tea" }

  @Test func `explains decisions`() async throws {
    let client = HTTPClient {
      $0.baseURL = "http://a.test"
      $0.transport = StubTransport { request in
        request.method == .post
          ? .status(.serviceUnavailable) : .text("x", headers: ["Set-Cookie": "a=1; Domain=b.test"])
      }
      $0.clock = TestClock()
    }
    let order = Order()
    let printed = Log<String>()
    func print(_ items: Any...) { printed.add(items.map { "\($0)" }.joined(separator: " ")) }

    let response = try await client.get("/repos", options: .explains())
    print(response.explanation)

    for case .cookies(.refused(let name, let reason)) in response.explanation.decisions {
      print(name, reason)
    }

    do {
      try await client.post("/orders", body: .json(order))
    } catch let error as HTTPError {
      print(error.explanation)
    }

    let lines = printed.elements
    #expect(lines.count == 3 && lines[0].contains("the status 200 is accepted (RFC 9110 §15)"), "\(lines)")
    #expect(lines[1] == "a foreignDomain(\"b.test\")")
    #expect(lines[2].contains("the status 503 is an error"))
  }
}
