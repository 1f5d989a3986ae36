#if os(Linux)
  import Foundation
  import Martlet
  import MartletOAuth
  import TestSupport
  import Testing

  /// An authorization server and an API by other authors: `oauth.py` on authlib.
  struct OAuthServer {
    struct Facts: Decodable {
      var tokens = 0, refreshes = 0, reuses = 0, proofs = 0, nonces = 0
    }

    static let redirectURI = "http://127.0.0.1:8400/in"
    static var problem: String? { PythonPackage.problem("authlib") }

    let url: String
    /// Controls the server.
    private let client = Lane.curl.client()
    private let process: ToolProcess

    /// Starts the server on a free port.
    ///
    /// - Throws: A test failure if the server does not start.
    init() async throws {
      let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "oauth.py").path
      let process = try TestProgram.python.start(["-u", program])
      _ = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("\n") || !process.isRunning }
      let line = process.outputSoFar.split(separator: "\n").first.map(String.init) ?? ""
      let port = try #require(Int(line), "the server has not started: \(process.errorsSoFar)")
      url = "http://127.0.0.1:\(port)"
      self.process = process
    }

    var errors: String { process.errorsSoFar }

    func target(_ path: String) -> RequestTarget { RequestTarget("\(raw: url)/\(raw: path)") }

    /// Posts a command.
    func command(_ path: String, _ body: HTTPBody? = nil) async throws {
      let response = try await client.post(target(path), body: body)
      try #require(response.status == .ok, "\(path): \(errors)")
    }

    func facts() async throws -> Facts { try await client.get(target("facts"), as: Facts.self) }

    /// Opens a URL like a browser, and returns where it is redirected to.
    func callback(of url: URL, parameters: Query = [:]) async throws -> String {
      let response = try await client.get(RequestTarget(url), query: parameters)
      return try #require(response.headers["Location"], "\(response.status) \(response.text) \(errors)")
    }

    func oauth(
      _ id: String, _ authentication: OAuthClient.Authentication = .none, dpop: OAuthProof? = nil
    ) -> OAuthClient {
      var server = OAuthClient.Server(
        issuer: url, tokenEndpoint: "\(url)/token", authorizationEndpoint: "\(url)/authorize",
        deviceEndpoint: "\(url)/device")
      server.requiresIssuer = true
      return OAuthClient(
        at: server, clientID: id, authentication: authentication, dpop: dpop, through: Lane.curl.client())
    }

    /// A client of the API.
    func api(
      _ oauth: OAuthClient, _ grant: OAuthClient.Grant,
      change: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
    ) -> HTTPClient {
      Lane.curl.client {
        $0.authenticators[.origin(url)] = .oauth(oauth, grant)
        if let proof = oauth.dpop { $0.exchangeMiddleware = [proof] }
        change(&$0)
      }
    }
  }
#endif
