import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@testable import MartletOAuth

@Suite(.hangLimit) struct OAuthAuthenticatorTests {
  /// A store in memory, which records what happens to it.
  final class Store: OAuthTokenStore {
    let content: Shared<OAuthToken?>
    let saved = Log<String>()
    let failures = Shared(0)

    init(_ token: OAuthToken?) { content = Shared(token) }

    func token() async throws -> OAuthToken? { content.value }

    func save(_ token: OAuthToken) async throws {
      let fails = failures.withLock { count in
        defer { count -= 1 }
        return count > 0
      }
      if fails { throw CocoaError(.fileWriteOutOfSpace) }
      content.withLock { $0 = token }
      saved.add(token.accessToken)
    }
  }

  /// A server that issues `a1`, `a2` … for the refresh tokens `r0`, `r1` …, each of which is valid once.
  final class Server: Sendable {
    let number = Shared(0)
    let requests = Log<String>()
    let onToken: @Sendable (Int) async throws -> StubResponse?

    init(onToken: @escaping @Sendable (Int) async throws -> StubResponse? = { _ in nil }) { self.onToken = onToken }

    func transport() -> StubTransport { StubTransport { [self] request in try await respond(to: request) } }

    func respond(to request: HTTPRequest) async throws -> StubResponse {
      guard request.url?.path() == "/token" else {
        requests.add(request.headers["Authorization"] ?? "none")
        let isIn = request.headers["Authorization"] == "Bearer a\(number.value)" && number.value > 0
        return isIn ? .text("in") : .status(.unauthorized, headers: ["WWW-Authenticate": "Bearer"])
      }
      let body = Query(parsing: String(decoding: try await request.bodyData(), as: UTF8.self)).items
      let refreshToken = body.first { $0.name == "refresh_token" }?.value
      requests.add("token \(refreshToken ?? "client")")
      guard refreshToken == nil || refreshToken == "r\(number.value)" else {
        return .json(#"{"error":"invalid_grant"}"#, status: .badRequest)
      }
      let next = number.withLock { number in
        number += 1
        return number
      }
      if let other = try await onToken(next) { return other }
      return .json(#"{"access_token":"a\#(next)","token_type":"Bearer","expires_in":3600,"refresh_token":"r\#(next)"}"#)
    }
  }

  private static func client(
    _ transport: StubTransport, _ grant: OAuthClient.Grant, _ authentication: OAuthClient.Authentication = .none,
    change: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
  ) -> HTTPClient {
    let oauth = OAuthClientTests.oauth(transport, authentication)
    return .stubbed(transport) {
      $0.authenticators[.baseURL] = .oauth(oauth, grant)
      change(&$0)
    }
  }

  private static let old = OAuthToken(accessToken: "a0", refreshToken: "r0")

  @Test func `requests a client's token before the first request, once for all`() async throws {
    let server = Server()
    let client = Self.client(server.transport(), .clientCredentials(scope: "read"), .secretBasic("s"))

    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 { group.addTask { try await client.get("/").text } }
      for try await text in group { #expect(text == "in") }
    }

    #expect(server.requests.elements.count { $0 == "token client" } == 1)
    #expect(server.requests.elements.count { $0 == "Bearer a1" } == 50 && server.requests.elements.count == 51)
  }

  @Test func `requests a client's next token with its secret, even if there is a refresh token`() async throws {
    let server = Server()
    let client = Self.client(server.transport(), .clientCredentials(), .secretBasic("s"))
    try await client.get("/")
    // The server has forgotten both tokens.
    server.number.withLock { $0 = 7 }

    #expect(try await client.get("/").text == "in")
    #expect(server.requests.elements == ["token client", "Bearer a1", "Bearer a1", "token client", "Bearer a8"])
  }

  @Test func `saves a new token before it is used`() async throws {
    let server = Server()
    let store = Store(Self.old)
    let transport = server.transport()
    let client = Self.client(transport, .stored(in: store)) {
      $0.exchangeMiddleware = [
        ClosureMiddleware { request, _, next in
          if request.headers["Authorization"] == "Bearer a1" { #expect(store.saved.elements == ["a1"]) }
          return try await next(request)
        }
      ]
    }

    let response = try await client.get("/")

    #expect(response.text == "in" && store.content.value?.refreshToken == "r1")
    #expect(server.requests.elements == ["Bearer a0", "token r0", "Bearer a1"])
  }

  @Test func `refreshes a stored token that has expired before a request`() async throws {
    let server = Server()
    var expired = Self.old
    expired.expires = Date(timeIntervalSince1970: 1_700_000_005)
    let client = Self.client(server.transport(), .stored(in: Store(expired)))

    try await client.get("/")

    #expect(server.requests.elements == ["token r0", "Bearer a1"])
  }

  @Test func `keeps a token that could not be saved, and saves it again`() async throws {
    let server = Server()
    let store = Store(Self.old)
    store.failures.withLock { $0 = 1 }
    let client = Self.client(server.transport(), .stored(in: store))

    let error = await #expect(throws: HTTPError.self) { try await client.get("/") }
    let response = try await client.get("/")

    #expect(error?.kind == .authenticationFailed && error?.underlying is CocoaError)
    #expect(response.text == "in" && store.saved.elements == ["a1"])
    #expect(server.requests.elements.count { $0.hasPrefix("token") } == 1)
  }

  @Test func `refreshes a token that has expired before it could be saved`() async throws {
    let short = #"{"access_token":"a1","token_type":"Bearer","expires_in":5,"refresh_token":"r1"}"#
    let server = Server { $0 == 1 ? .json(short) : nil }
    let store = Store(Self.old)
    store.failures.withLock { $0 = 1 }
    let client = Self.client(server.transport(), .stored(in: store))

    await #expect(throws: HTTPError.self) { try await client.get("/") }

    #expect(try await client.get("/").text == "in" && store.saved.elements == ["a1", "a2"])
    #expect(server.requests.elements.filter { $0.hasPrefix("token") } == ["token r0", "token r1"])
  }

  @Test func `uses the token that another process has saved`() async throws {
    let server = Server()
    let store = Store(Self.old)
    let client = Self.client(server.transport(), .stored(in: store))
    try await client.get("/")
    // The other process has refreshed.
    server.number.withLock { $0 = 2 }
    store.content.withLock { $0 = OAuthToken(accessToken: "a2", refreshToken: "r2") }

    let response = try await client.get("/")

    #expect(response.text == "in")
    #expect(server.requests.elements == ["Bearer a0", "token r0", "Bearer a1", "Bearer a1", "Bearer a2"])
  }

  @Test func `reads the store again if another process was faster`() async throws {
    let server = Server()
    let store = Store(Self.old)
    let transport = StubTransport { request in
      // The other process refreshes between this one's reading and its request.
      if request.url?.path() == "/token", server.number.value == 0 {
        server.number.withLock { $0 = 1 }
        store.content.withLock { $0 = OAuthToken(accessToken: "a1", refreshToken: "r1") }
      }
      return try await server.respond(to: request)
    }
    let client = Self.client(transport, .stored(in: store))

    let response = try await client.get("/")

    #expect(response.text == "in" && server.requests.elements == ["Bearer a0", "token r0", "Bearer a1"])
  }

  @Test func `reports that the user must sign in, to all waiting requests`() async throws {
    let server = Server()
    let client = Self.client(server.transport(), .token(OAuthToken(accessToken: "x", refreshToken: "stolen")))

    let error = await #expect(throws: HTTPError.self) { try await client.get("/") }

    #expect(error?.kind == .authenticationFailed && error?.oauthError?.code == .invalidGrant)
    #expect(error?.oauthError?.followsLostResponse == false)
  }

  @Test func `sends a refused refresh token once, and continues with another one`() async throws {
    let server = Server()
    let store = Store(OAuthToken(accessToken: "x", refreshToken: "stolen"))
    let client = Self.client(server.transport(), .stored(in: store))

    for _ in 0..<3 {
      let error = await #expect(throws: HTTPError.self) { try await client.get("/") }
      #expect(error?.oauthError?.code == .invalidGrant)
    }
    #expect(server.requests.elements.count { $0 == "token stolen" } == 1)
    server.number.withLock { $0 = 1 }
    store.content.withLock { $0 = OAuthToken(accessToken: "a1", refreshToken: "r1") }

    #expect(try await client.get("/").text == "in")
  }

  @Test func `tells a lost response from a stolen token`() async throws {
    let server = Server { $0 == 1 ? .failure(HTTPError(.connectionLost, "cut")) : nil }
    let client = Self.client(server.transport(), .token(Self.old))

    let first = await #expect(throws: HTTPError.self) { try await client.get("/") }
    let second = await #expect(throws: HTTPError.self) { try await client.get("/") }

    #expect(first?.kind == .authenticationFailed && first?.oauthError == nil)
    #expect(second?.oauthError?.code == .invalidGrant && second?.oauthError?.followsLostResponse == true)
    #expect(server.requests.elements.count { $0 == "token r0" } == 2)
  }

  @Test func `sends nothing after signing out`() async throws {
    let server = Server()
    let store = Store(Self.old)
    let client = Self.client(server.transport(), .stored(in: store))
    try await client.get("/")

    try await client.signOut()
    let error = await #expect(throws: HTTPError.self) { try await client.get("/") }

    #expect(error?.status == .unauthorized)
    #expect(server.requests.elements.last == "none")
  }

  /// A store that contains another user's token.
  private struct OtherCredentials: CredentialStore {
    let calls = Log<String>()

    func credential(for space: ProtectionSpace) async throws -> Credential? {
      calls.add("read")
      return .token("other", refreshToken: "other")
    }
    func set(_ credential: Credential?, for space: ProtectionSpace) async throws { calls.add("write") }
    func removeAll() async throws {}
  }

  @Test func `does not use the credential store`() async throws {
    let server = Server()
    let credentials = OtherCredentials()
    let client = Self.client(server.transport(), .stored(in: Store(Self.old))) { $0.credentialStore = credentials }

    #expect(try await client.get("/").text == "in" && credentials.calls.elements.isEmpty)
    #expect(server.requests.elements == ["Bearer a0", "token r0", "Bearer a1"])
  }
}
