import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// An error from the program's code fails only its own request.
@Suite(.hangLimit) struct ThrowingClosureTests {
  struct Own: Error {}

  private struct Unreadable: Decodable, Sendable {
    init(from decoder: any Decoder) throws { throw Own() }
  }

  private struct Broken: Endpoint {
    typealias Output = String
    var validates = true
    var target: RequestTarget = "/x"
    func validate(_ response: HTTPResponse) throws { if !validates { throw Own() } }
    func decode(_ response: HTTPResponse) throws -> String { throw Own() }
    func recover(from error: HTTPError) throws -> String { throw Own() }
  }

  /// A place where the program's code throws.
  struct Place: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The kind of the HTTPError that wraps the error; `nil` if the error passes unchanged.
    var kind: HTTPError.Kind?
    var configure: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
    var run: @Sendable (HTTPClient) async throws -> Void = { _ = try await $0.get("/x") }
  }

  static let places: [Place] = [
    Place(testDescription: "middleware", configure: { $0.middleware = [.closure { _, _, _ in throw Own() }] }),
    Place(
      testDescription: "exchange middleware",
      configure: { $0.exchangeMiddleware = [.closure { _, _, _ in throw Own() }] }
    ),
    Place(testDescription: "a transport", configure: { $0.transport = .stub { _ in throw Own() } }),
    Place(testDescription: "what judges a response", configure: { $0.accepts = .when { _ in throw Own() } }),
    Place(
      testDescription: "what is asked about redirects", configure: { $0.redirects = .ask { _ in throw Own() } },
      run: { _ = try await $0.get("/redirect") }),
    Place(
      testDescription: "a refresh of a token", kind: .authenticationFailed,
      configure: { $0.authenticators[.baseURL] = .oauth2 { _ in throw Own() } },
      run: { _ = try await $0.get("/locked") }),
    Place(
      testDescription: "a reader",
      run: { _ = try await $0.stream(.get("/x")) { (_: StreamedResponse) -> Int in throw Own() } }),
    Place(
      testDescription: "a body",
      run: { client in
        let pieces = AsyncThrowingStream<Data, any Error> { $0.finish(throwing: Own()) }
        _ = try await client.put("/x", body: .stream(pieces))
      }),
    Place(
      testDescription: "a type to decode", kind: .decoding,
      run: { _ = try await $0.get("/json", as: Unreadable.self) }),
    Place(testDescription: "an endpoint that validates", run: { _ = try await $0.send(Broken(validates: false)) }),
    Place(testDescription: "an endpoint that decodes", run: { _ = try await $0.send(Broken()) }),
    Place(
      testDescription: "an endpoint that recovers", run: { _ = try await $0.send(Broken(target: "/missing")) }),
  ]

  private static var transport: StubTransport {
    StubTransport { request in
      switch request.url?.path() {
      case "/redirect": .redirect(to: "/x")
      case "/locked": .status(.unauthorized)
      case "/missing": .status(404)
      case "/json": .json("1")
      default: .text("x")
      }
    }
  }

  // S21
  @Test(arguments: places) func `an error thrown by user code fails only its own request`(_ place: Place) async throws {
    let client = HTTPClient {
      $0.clock = TestClock()
      $0.transport = Self.transport
      $0.baseURL = "http://example.test"
      place.configure(&$0)
    }

    let error = try #require(await #expect(throws: (any Error).self) { try await place.run(client) })

    if let kind = place.kind {
      #expect((error as? HTTPError)?.kind == kind && (error as? HTTPError)?.underlying is Own, "\(error)")
    } else {
      #expect(error is Own, "\(error)")
    }
    await client.waitUntilEmpty()
    // The client still works.
    let other = client.derived {
      $0.transport = Self.transport
      $0.middleware = []
      $0.exchangeMiddleware = []
      $0.accepts = .success
    }
    #expect(try await other.get("/x").text == "x")
  }

  // S21
  @MainActor @Test func `callbacks receive a middleware's error wrapped in kind middleware`() async throws {
    let client = HTTPClient {
      $0.clock = TestClock()
      $0.transport = Self.transport
      $0.middleware = [.closure { _, _, _ in throw Own() }]
    }
    var errors: [HTTPError] = []

    client.get("http://example.test/x", onSuccess: { _ in Issue.record("success") }, onError: { errors.append($0) })

    await client.waitUntilEmpty()
    #expect(errors.map(\.kind) == [.middlewareFailed] && errors.first?.underlying is Own)
  }
}
