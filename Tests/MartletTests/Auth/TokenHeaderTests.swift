import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

/// Services that issue a token for a name and a key, and expect it in their own header field.
@Suite(.hangLimit) struct TokenHeaderTests {
  /// Moves the token into the header field that the service reads.
  private struct AuthToken: Middleware {
    func intercept(
      _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
    ) async throws -> StreamedResponse {
      var request = request
      if let field = request.headers["Authorization"], field.hasPrefix("Bearer ") {
        request.headers["X-Auth-Token"] = String(field.dropFirst("Bearer ".count))
        request.headers["Authorization"] = nil
      }
      return try await next(request)
    }
  }

  /// An object store with its own sign-in and expiring tokens.
  private final class Service: Sendable {
    private struct State {
      var token = 0
      var objects: [String: Data] = [:]
    }

    private let state = Locked(State())

    func endToken() { state.withLock { $0.token += 1 } }

    func answer(_ request: HTTPRequest) throws -> StubResponse {
      if request.url?.host() == "auth.test" {
        #expect(request.headers["X-Auth-Token"] == nil && request.headers["Authorization"] == nil)
        guard request.headers["X-Auth-User"] == "ada", request.headers["X-Auth-Key"] == "key" else {
          return .status(.unauthorized)
        }
        let token = state.withLock { state in
          state.token += 1
          return state.token
        }
        return .status(204, headers: ["X-Auth-Token": "t\(token)", "X-Storage-Url": "https://storage.test/v1"])
      }
      let path = request.url?.path() ?? ""
      let sent = request.headers["X-Auth-Token"]
      return state.withLock { state in
        #expect(request.headers["Authorization"] == nil)
        guard sent == "t\(state.token)" else { return .status(.unauthorized) }
        switch request.method {
        case .put:
          if case .data(let data)? = request.body?.content { state.objects[path] = data }
          return .status(201)
        case .delete: return .status(state.objects.removeValue(forKey: path) == nil ? 404 : 204)
        default:
          if path.hasSuffix("/") { return .text(state.objects.keys.sorted().joined(separator: "\n")) }
          return state.objects[path].map { .status(.ok, body: $0) } ?? .status(404)
        }
      }
    }
  }

  // S133
  @Test func `signs in once, sends the token in X-Auth-Token, and signs in again after it expires`() async throws {
    let service = Service()
    let transport = StubTransport { try service.answer($0) }
    let signIns = Log<Int>()
    let signIn = HTTPClient.onTestClock { $0.transport = transport }
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.baseURL = "https://storage.test/v1/"
      $0.cache = .off
      $0.exchangeMiddleware = [AuthToken()]
      $0.authenticators[.host("storage.test")] = .oauth2 { _ in
        signIns.add(1)
        let response = try await signIn.get(
          "https://auth.test/v1.0", headers: ["X-Auth-User": "ada", "X-Auth-Key": "key"])
        return response.headers["X-Auth-Token"].map { .token($0) }
      }
    }

    try await client.put("photos/a", body: .text("one"))
    try await client.put("photos/b", body: .text("two"))
    let names = try await client.get("photos/").text
    service.endToken()
    let object = try await client.get("photos/a").text
    try await client.delete("photos/a")
    let gone = await #expect(throws: HTTPError.self) { try await client.get("photos/a") }
    let elsewhere = try await client.get("https://auth.test/v1.0", options: .accepts(.any))

    #expect(names == "/v1/photos/a\n/v1/photos/b" && object == "one")
    #expect(gone?.status == 404 && elsewhere.status == .unauthorized)
    #expect(signIns.elements.count == 2)
  }
}
