import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// Targets and pairs in variables, together with literals whose values are escaped.
@Suite(.hangLimit) struct VariableTests {
  struct Item: Decodable, Sendable { var a: Int }

  /// A type that cannot leave the caller's actor.
  final class OwnItem: Decodable {}

  final class Owner {}

  private static let id = "a/../b?c#d"
  private static let escaped = "/u/a%2F..%2Fb%3Fc%23d"
  private static let fields = ["B": "2", "A": "1"]
  private static let items = ["n": ["2", "1"], "m": ["b c"]]

  private static func client() -> (HTTPClient, StubTransport) {
    let transport = StubTransport { request in
      request.headers["Accept"] == "text/event-stream"
        ? .text("data: a\n\n", headers: ["Content-Type": "text/event-stream"]) : .json(#"{"a":1}"#)
    }
    return (HTTPClient.stubbed(transport), transport)
  }

  /// A way to send a request, written with a literal and with a variable.
  struct Way: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let literal: @MainActor @Sendable (HTTPClient, String) async throws -> Void
    let url: @MainActor @Sendable (HTTPClient, URL) async throws -> Void
    let text: @MainActor @Sendable (HTTPClient, String) async throws -> Void
  }

  @MainActor @Test(arguments: ways + bodyWays + callbackWays + requestWays)
  func `escapes the values in a literal, and nothing in a variable`(way: Way) async throws {
    // Some ways download to the temporary folder.
    try TemporaryFolder.requireRoom()
    let (client, transport) = Self.client()
    let text = "http://other.test/a%2Fb/é?x=1%262"
    // Foundation would escape the percent signs again if the text contained an unescaped character.
    let url = try #require(URL(string: "http://other.test/a%2Fb/%C3%A9?x=1%262"))

    try await way.literal(client, Self.id)
    try await way.url(client, url)
    try await way.text(client, text)
    await client.waitUntilEmpty()

    let sent = transport.requests.map { $0.url?.absoluteString ?? "" }
    #expect(sent.count == 3)
    #expect(sent.first == "http://example.test\(Self.escaped)")
    #expect(sent.dropFirst().allSatisfy { $0 == "http://other.test/a%2Fb/%C3%A9?x=1%262" })
  }

  @MainActor @Test(arguments: asyncDictionaryWays + callbackDictionaryWays)
  func `accepts dictionaries together with literals, URLs and strings`(way: Way) async throws {
    let (client, transport) = Self.client()
    let url = try #require(URL(string: "http://example.test/x"))

    try await way.literal(client, Self.id)
    try await way.url(client, url)
    try await way.text(client, "/x")
    await client.waitUntilEmpty()

    let query = "?m=b%20c&n=2&n=1"
    #expect(
      transport.requests.map { $0.url?.absoluteString } == [
        "http://example.test\(Self.escaped)\(query)", "http://example.test/x\(query)", "http://example.test/x\(query)",
      ])
    for request in transport.requests {
      #expect(request.headers.filter { Self.fields.keys.contains($0.name) }.map(\.name) == ["A", "B"])
      #expect((request.headers["A"], request.headers["B"]) == ("1", "2"))
    }
  }

  @Test func `keeps the order and repetition of literals with a variable target`() async throws {
    let (client, transport) = Self.client()
    let target = "/x"

    try await client.get(target, query: ["b": 1, "a": "x", "b": 2], headers: ["B": "1", "A": "2", "B": "3"])

    let request = try #require(transport.requests.first)
    #expect(request.url?.query() == "b=1&a=x&b=2")
    #expect(request.headers.filter { ["A", "B"].contains($0.name) }.map(\.value) == ["1", "2", "3"])
  }

  @Test func `an enum of routes can be a target`() async throws {
    enum Route: RequestTargetConvertible {
      case user(String)
      var requestTarget: RequestTarget {
        switch self {
        case .user(let id): "/u/\(id)"
        }
      }
    }
    let (client, transport) = Self.client()

    try await client.get(Route.user(Self.id))

    #expect(transport.requests.first?.url?.absoluteString == "http://example.test\(Self.escaped)")
  }

  @Test(arguments: [
    ("/users", "no scheme in \"/users\": set baseURL, or write a full URL that begins with https://"),
    ("//a.test/x", "\"//a.test/x\" would change the host: write the scheme, https://, before it"),
    ("a:1/x/y\n", ""), ("http:///x", ""), ("http://a b/", ""), ("ftp://a.test/", ""), ("http://a.test:99999/", ""),
  ]) func `an invalid string fails before anything is sent, and the error names the cure`(
    text: String, cure: String
  ) async throws {
    let transport = StubTransport { _ in .text("") }
    let client = HTTPClient { $0.transport = transport }

    let error = await #expect(throws: HTTPError.self) { try await client.get(text) }

    #expect(cure.isEmpty || error?.description.contains(cure) == true)
    #expect(transport.requests.isEmpty)
  }

  @Test func `an empty dictionary adds nothing`() async throws {
    let (client, transport) = Self.client()

    try await client.get("/x", query: [String: String](), headers: [String: String]())

    #expect(transport.requests.first?.url?.absoluteString == "http://example.test/x")
  }

  @Test func `sorts the pairs of a dictionary by name`() async throws {
    let optional: [String: Int?] = ["c": 3, "a": nil, "b": 2]

    #expect(Query(optional).encoded == "b=2&c=3")
    #expect(Query(Self.items).encoded == "m=b%20c&n=2&n=1")
    #expect(HTTPHeaders(["b": "1", "B": "2", "A": "3"]).map(\.name) == ["A", "B", "b"])
    #expect(try await HTTPBody.form(Self.items).bytes() == Data("m=b+c&n=2&n=1".utf8))
    #expect(try await HTTPBody.form(["z": "1", "a": "2"]).bytes() == Data("z=1&a=2".utf8))
  }

  @Test func `closures change the caller's variables`() async throws {
    let transport = StubTransport { _ in .text("abc") }
    var changes = 0
    var bytes = 0

    let client = HTTPClient {
      $0.transport = transport
      changes += 1
    }
    let derived = client.derived { _ in changes += 1 }
    try await derived.stream("http://a.test/") { response in
      for try await chunk in response.body { bytes += chunk.count }
    }

    #expect((changes, bytes) == (2, 3))
  }

  @MainActor @Test func `the closure of a stream runs on the caller's actor`() async throws {
    let (client, _) = Self.client()

    try await client.stream("/") { _ in MainActor.assertIsolated() }
  }

  @Test func `delete sends a body`() async throws {
    let (client, transport) = Self.client()

    try await client.delete("/x", body: .text("a"))
    _ = try await client.delete("/x", body: .text("b"), as: Item.self)
    try await client.send(.delete("/x", body: .text("c")))

    var bodies: [Data] = []
    for request in transport.requests { bodies.append(try await #require(request.body).bytes()) }
    #expect(bodies == ["a", "b", "c"].map { Data($0.utf8) })
  }
}
