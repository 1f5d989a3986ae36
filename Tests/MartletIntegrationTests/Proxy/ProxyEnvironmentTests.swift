#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// The environment belongs to the whole process, so each test runs in its own process.
  @Suite(.ownThreads, .hangLimit) struct ProxyEnvironmentTests {
    private static func answer(_ settings: ProxySettings, _ variables: [String]) async throws -> String {
      let proxy = try MockServer(.ok("proxy"))
      let origin = try MockServer(.ok("origin"))
      for variable in variables {
        let parts = variable.split(separator: "=", maxSplits: 1).map(String.init)
        setenv(parts[0], parts.count > 1 ? parts[1] : proxy.url, 1)
      }
      let client = Lane.curl.client(.proxy(settings))
      // The environment is read once, so later changes have no effect.
      for name in ["http_proxy", "all_proxy"] { setenv(name, "ftp://later", 1) }
      return try await client.get(RequestTarget(origin.url)).text
    }

    private static func expect(_ text: String, _ settings: ProxySettings, _ variables: [String]) async throws {
      let answer = try await answer(settings, variables)
      #expect(answer == text)
    }

    private static func failure(_ settings: ProxySettings, _ variables: [String]) async -> HTTPError? {
      do {
        _ = try await answer(settings, variables)
        return nil
      } catch {
        return error as? HTTPError
      }
    }

    @Test func `ignores the environment unless configured`() async {
      await #expect(processExitsWith: .success) {
        try await Self.expect("origin", .direct, ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
      }
    }

    @Test func `reads the proxy variables when the client is created`() async {
      await #expect(processExitsWith: .success) {
        try await Self.expect("proxy", .environment, ["http_proxy"])
      }
      await #expect(processExitsWith: .success) {
        try await Self.expect("origin", .environment, ["ALL_PROXY", "no_proxy=127.0.0.1"])
      }
    }

    @Test func `ignores HTTP_PROXY, and http_proxy in a CGI program`() async {
      await #expect(processExitsWith: .success) {
        try await Self.expect("origin", .environment, ["HTTP_PROXY"])
      }
      await #expect(processExitsWith: .success) {
        try await Self.expect("origin", .environment, ["http_proxy", "REQUEST_METHOD=GET"])
      }
    }

    @Test func `fails requests if a proxy variable is not a valid proxy URL`() async {
      await #expect(processExitsWith: .success) {
        let error = await Self.failure(.environment, ["http_proxy=ftp://user:secret@x"])
        #expect(error?.kind == .invalidRequest && error?.message.contains("http_proxy") == true)
        #expect(error?.description.contains("secret") == false)
      }
    }
  }
#endif
