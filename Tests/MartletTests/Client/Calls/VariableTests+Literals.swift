import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// Literals that a compiler could read as a `String` or a dictionary.
extension VariableTests {
  private enum Role { case admin }

  private static let id = "a/../b?c#d"
  private static let fields = ["B": "2", "A": "1"]

  private static func client() -> (HTTPClient, StubTransport) {
    let transport = StubTransport { _ in .json(#"{"a":1}"#) }
    return (HTTPClient.stubbed(transport), transport)
  }

  @MainActor @Test func `escapes values of every type in a literal`() async throws {
    let (client, transport) = Self.client()
    let id = Self.id
    let page: Int? = 2
    let none: String? = nil

    try await client.get("/u/\(id)?page=\(page, default: "1")")
    try await client.get("/u/\(id)?page=\(page, default: "1")", headers: Self.fields)
    try await client.post("/u/\(id)?page=\(page, default: "1")", headers: Self.fields)
    try await client.send("/u/\(id)?page=\(page, default: "1")")
    try await client.send(.get("/u/\(id)?page=\(page, default: "1")", headers: Self.fields))
    _ = try await client.start("/u/\(id)?page=\(page, default: "1")").value
    _ = try await client.get("/u/\(id)?page=\(page, default: "1")", onSuccess: { _ in }).value
    _ = try await client.get("/u/\(id)?page=\(page, default: "1")", headers: Self.fields, onSuccess: { _ in }).value
    try await client.stream("/u/\(id)?page=\(page, default: "1")") { _ in }
    let target: RequestTarget = .init("/u/\(id)?page=\(page, default: "1")")
    try await client.get(target)
    try await client.get(.init("/u/\(id)?page=\(page, default: "1")"))
    try await client.send(HTTPRequest("/u/\(id)?page=\(page, default: "1")"))
    #expect(
      transport.requests.map { $0.url?.absoluteString }
        == Array(repeating: "http://example.test/u/a%2F..%2Fb%3Fc%23d?page=2", count: 12))

    try await client.get("/u/\(id)/\(none, default: "a/b")/\(Role.admin)")
    try await client.get("/u/\(id)/\(none, default: "a/b")/\(Role.admin)", headers: Self.fields)
    #expect(
      transport.requests.suffix(2).map { $0.url?.absoluteString }
        == Array(repeating: "http://example.test/u/a%2F..%2Fb%3Fc%23d/a%2Fb/admin", count: 2))
  }

  @available(*, deprecated, message: "tests what a warning announces")
  @Test func `an optional in a literal fails before anything is sent`() async throws {
    let (client, transport) = Self.client()
    let name: String? = "ada"
    let target: RequestTarget = "/x"

    for wrong: RequestTarget in ["/u/\(Self.id)/\(name)", "/u/\(Self.id)\(target)"] {
      let error = await #expect(throws: HTTPError.self) { try await client.get(wrong) }
      #expect(error?.kind == .invalidRequest && error?.description.contains("interpolated") == true, "\(error as Any)")
    }
    await #expect(throws: HTTPError.self) { try await client.get("/u/\(Self.id)/\(name)") }
    await #expect(throws: HTTPError.self) { try await client.get("/u/\(Self.id)/\(name)", headers: Self.fields) }

    #expect(transport.requests.isEmpty)
  }

  @MainActor @Test func `a literal query with a header dictionary keeps its values`() async throws {
    let (client, transport) = Self.client()
    let url = try #require(URL(string: "http://example.test/x"))
    let text = "a b"
    let limit: Int? = nil

    try await client.get("/x", query: ["page": 9_007_199_254_740_993, "ratio": 0.5, "q": text], headers: Self.fields)
    try await client.get(url, query: ["page": 9_007_199_254_740_993, "ratio": 0.5, "q": text], headers: Self.fields)
    _ = try await client.get(
      "/x", query: ["page": 9_007_199_254_740_993, "ratio": 0.5, "q": text, "limit": limit], headers: Self.fields,
      as: Item.self)
    try await client.post(
      "/x", query: ["page": 9_007_199_254_740_993, "ratio": 0.5, "q": text, "limit": nil], headers: Self.fields)
    _ = try await client.get(
      "/x", query: ["page": 9_007_199_254_740_993, "ratio": 0.5, "q": text], headers: Self.fields, onSuccess: { _ in }
    ).value
    try await client.send(
      .get("/x", query: ["page": 9_007_199_254_740_993, "ratio": 0.5, "q": text], headers: Self.fields))
    #expect(
      transport.requests.map { $0.url?.absoluteString }
        == Array(repeating: "http://example.test/x?page=9007199254740993&ratio=0.5&q=a%20b", count: 6))
    #expect(transport.requests.allSatisfy { $0.headers["A"] == "1" && $0.headers["B"] == "2" })

    try await client.get("/x", query: ["page": 1, "ratio": 0.5], headers: Self.fields)
    #expect(transport.requests.last?.url?.query() == "page=1&ratio=0.5")
    try await client.get("/x", query: [:], headers: Self.fields)
    #expect(transport.requests.last?.url?.query() == nil)
  }

  @Test func `a dictionary of different types becomes a sorted query`() {
    let mixed: [String: any QueryValue] = ["b": 1, "a": ["x", "y"], "c": 0.5]

    #expect(Query(mixed).encoded == "a=x&a=y&b=1&c=0.5")
    #expect(Query(["b": 0.5, "a": 1.5]).encoded == "a=1.5&b=0.5")
  }
}
