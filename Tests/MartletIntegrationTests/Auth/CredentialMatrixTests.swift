#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Credentials are sent only to their origin after a redirect, for two ports, two names, every status and every
  /// method.
  @Suite(.hangLimit) struct CredentialMatrixTests {
    /// The way a program supplies a credential.
    enum Source: String, CaseIterable {
      case url, option, authenticator, field
    }

    private static let challenge: KeyValuePairs = ["WWW-Authenticate": #"Basic realm="r", Bearer"#]

    @Test(
      arguments: Lane.engines, Source.allCases.flatMap { source in [301, 302, 303, 307, 308].map { (source, $0) } })
    func `credentials are dropped on a redirect to another host or port`(lane: Lane, by: (source: Source, status: Int))
      async throws
    {
      let (source, status) = by
      let destinations = Shared<[String]>([])
      let server = try MockServer { request in
        let parts = request.path.split(separator: "/")
        guard parts.first == "from", parts.count == 3, let status = Int(parts[1]), let index = Int(parts[2]) else {
          return request.header("Authorization") == nil ? .status(401, headers: Self.challenge) : .ok("in")
        }
        return .status(status, headers: ["Location": destinations.withLock { $0[index] }])
      }
      let other = try MockServer { _ in .status(401, headers: Self.challenge) }
      destinations.withLock {
        $0 = [
          "\(server.url)/to", "http://localhost:\(server.port)/to", "http://127.0.0.1:\(other.port)/to",
          "http://localhost:\(other.port)/to", "http://u:p@127.0.0.1:\(other.port)/to",
        ]
      }
      let client = lane.client {
        $0.redirects = .follow
        if source == .authenticator { $0.authenticators[.origin(server.url)] = .bearer("secret") }
      }

      for method in [HTTPMethod.get, .head, .post, .put, .delete] {
        for index in 0..<5 {
          server.forgetRequests()
          other.forgetRequests()
          let response = try await Self.send(client, source, method, server, "/from/\(status)/\(index)")
          let what: Comment = "\(status) \(method) to \(index)"
          let arrived = (server.requests + other.requests).filter { $0.path == "/to" }

          #expect(response.status == (index == 0 ? .ok : .unauthorized), what)
          #expect(arrived.count == 1, what)
          for request in arrived { #expect((request.header("Authorization") != nil) == (index == 0), what) }
          let first = server.requests.first { $0.path.hasPrefix("/from") }
          #expect(first?.header("Authorization") != nil, what)
        }
      }
    }

    private static func send(
      _ client: HTTPClient, _ source: Source, _ method: HTTPMethod, _ server: MockServer, _ path: String
    ) async throws -> HTTPResponse {
      let url = "http://\(source == .url ? "u:p@" : "")127.0.0.1:\(server.port)\(path)"
      var request = HTTPRequest(method, RequestTarget(url))
      if method == .post || method == .put { request.body = .text("body") }
      if source == .field { request.headers["Authorization"] = "Bearer secret" }
      let options = source == .option ? RequestOptions.credential(.token("secret")) : RequestOptions()
      return try await client.send(request, options: options)
    }

    @Test(arguments: Lane.engines)
    func `retries and other names for the same address do not leak credentials`(lane: Lane) async throws {
      let server = try MockServer(script: [.status(503), .status(503), .status(401, headers: Self.challenge), .ok()])
      let client = lane.client {
        $0.retry = .backoff(attempts: 3)
        $0.clock = TestClock()
        $0.resolve = ["a.example:\(server.port)": ["127.0.0.1"], "b.example:\(server.port)": ["127.0.0.1"]]
        $0.authenticators[.origin("http://a.example:\(server.port)")] = .basic(user: "u", password: "p")
      }

      let own = try await client.get(RequestTarget("http://a.example:\(raw: "\(server.port)")/"))
      let other = try await client.get(RequestTarget("http://b.example:\(raw: "\(server.port)")/"))

      #expect(own.status == .ok && other.status == .ok)
      #expect(server.requests.map { $0.header("Authorization") != nil } == [false, false, false, true, false])
    }
  }
#endif
