import Martlet
import MartletBase
import MartletTesting
import TestSupport
import Testing

@testable import MartletOAuth

@Suite(.hangLimit) struct TokenSessionTests {
  private typealias Server = OAuthAuthenticatorTests.Server

  private static let old = OAuthToken(accessToken: "a0", refreshToken: "r0")

  @Test func `a refresh outlives the request that waits for it`() async throws {
    let (arrival, permission) = (Promise<Bool>(), Promise<Bool>())
    let server = Server { _ in
      arrival.resolve(.success(true))
      _ = try await permission.value()
      return nil
    }
    let store = OAuthAuthenticatorTests.Store(Self.old)
    let session = TokenSession(OAuthClientTests.oauth(server.transport()), .stored(in: store))

    let first = Task { try await session.renew(Self.old.credential) }
    _ = try await arrival.value()
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    permission.resolve(.success(true))
    let token = try await session.renew(Self.old.credential)

    #expect(token?.token == "a1" && store.content.value?.refreshToken == "r1")
    #expect(server.requests.elements == ["token r0"])
  }

  @Test func `clients that share an authenticator refresh once`() async throws {
    let permission = Promise<Bool>()
    let server = Server { _ in
      _ = try await permission.value()
      // The other clients have received their 401, and can now refresh.
      for _ in 0..<100 { await Task.yield() }
      return nil
    }
    server.number.withLock { $0 = 1 }
    let (isExpired, refused) = (Shared(false), Shared(0))
    let transport = StubTransport { request in
      guard isExpired.value, request.headers["Authorization"] == "Bearer a1" else {
        return try await server.respond(to: request)
      }
      let count = refused.withLock { count in
        count += 1
        return count
      }
      if count == 4 { permission.resolve(.success(true)) }
      return .status(.unauthorized, headers: ["WWW-Authenticate": "Bearer"])
    }
    let oauth = OAuthClientTests.oauth(transport)
    let authenticator: Authenticators.TokenAuthenticator = .oauth(
      oauth, .token(OAuthToken(accessToken: "a1", refreshToken: "r1")))
    let clients = (0..<4).map { _ in HTTPClient.stubbed(transport) { $0.authenticators[.baseURL] = authenticator } }
    for client in clients { #expect(try await client.get("/").text == "in") }
    isExpired.withLock { $0 = true }

    try await withThrowingTaskGroup(of: String.self) { group in
      for client in clients { group.addTask { try await client.get("/").text } }
      for try await text in group { #expect(text == "in") }
    }

    #expect(server.requests.elements.filter { $0.hasPrefix("token") } == ["token r1"])
  }

  @Test func `a caller whose token is the result of another refresh gets the next one`() async throws {
    let (arrival, permission) = (Promise<Bool>(), Promise<Bool>())
    let server = Server { number in
      arrival.resolve(.success(true))
      if number == 1 { _ = try await permission.value() }
      return nil
    }
    let session = TokenSession(OAuthClientTests.oauth(server.transport()), .token(Self.old))

    let first = Task { try await session.renew(Self.old.credential) }
    _ = try await arrival.value()
    let second = Task { try await session.renew(.token("a1")) }
    permission.resolve(.success(true))
    let tokens = [try await first.value?.token, try await second.value?.token]

    #expect(tokens == ["a1", "a2"])
  }
}
