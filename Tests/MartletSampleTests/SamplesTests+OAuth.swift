import Foundation
import Martlet
import MartletOAuth
import MartletTesting
import TestSupport
import Testing

private nonisolated struct TokenFile: OAuthTokenStore {
  let path: String

  func token() async throws -> OAuthToken? {
    guard let data = FileManager.default.contents(atPath: path) else { return nil }
    return try JSONDecoder().decode(OAuthToken.self, from: data)
  }

  func save(_ token: OAuthToken) async throws {
    // The file gets its permissions before its content, and replaces the old one as a whole.
    let new = "\(path).new"
    try? FileManager.default.removeItem(atPath: new)
    guard FileManager.default.createFile(atPath: new, contents: nil, attributes: [.posixPermissions: 0o600]) else {
      throw CocoaError(.fileWriteUnknown)
    }
    try JSONEncoder().encode(token).write(to: URL(filePath: new))
    guard rename(new, path) == 0 else { throw CocoaError(.fileWriteUnknown) }
  }
}

extension SamplesTests {
  private nonisolated static let idServer = OAuthClient.Server(
    tokenEndpoint: "https://id.example.com/token", authorizationEndpoint: "https://id.example.com/authorize",
    deviceEndpoint: "https://id.example.com/device")

  private nonisolated static let signInTransport = StubTransport { request in
    switch request.url?.path() {
    case "/device":
      .json(#"{"device_code":"d","user_code":"WDJB","verification_uri":"https://id.example.com/d","expires_in":60}"#)
    case "/token": .json(#"{"access_token":"new","token_type":"Bearer","refresh_token":"r"}"#)
    default: request.headers["Authorization"] == "Bearer new" ? .text("in") : .status(.unauthorized)
    }
  }

  @Test func `adds a client's tokens`() async throws {
    let secret = "secret"

    let oauth = OAuthClient(
      at: .init(tokenEndpoint: "https://id.example.com/token"), clientID: "reports",
      authentication: .secretBasic(secret))
    let client = HTTPClient {
      $0.baseURL = "https://api.example.com"
      $0.authenticators[.baseURL] = .oauth(oauth, .clientCredentials(scope: "read"))
    }

    // Not sent, because the sample's client uses the network.
    let request = {
      let report = try await client.get("/reports/7").text
      return report
    }
    #expect("\(oauth)" == "OAuthClient(reports)")
    _ = request
  }

  @Test func `signs in with a browser or a device code`() async throws {
    let oauth = OAuthClient(at: Self.idServer, clientID: "app", through: Self.client(Self.signInTransport))
    let opened = Log<URL>()
    let openBrowser = { (url: URL) in opened.add(url) }
    let callback = { (redirectURI: String) in
      let query = URLComponents(string: opened.elements.last?.absoluteString ?? "")?.queryItems
      let state = query?.first { $0.name == "state" }?.value ?? ""
      return "\(redirectURI)?code=c&state=\(state)"
    }
    try await {
      let nextCallback = { callback("com.example.app:/signed-in") }
      let authorization = try oauth.authorization(redirectURI: "com.example.app:/signed-in", scope: "read")
      openBrowser(authorization.url)
      let token = try await oauth.token(for: authorization, callback: nextCallback())
      #expect(token.accessToken == "new")
    }()
    try await {
      let nextCallback = { callback("http://127.0.0.1:8400/signed-in") }
      let authorization = try oauth.authorization(redirectURI: "http://127.0.0.1:8400/signed-in", scope: "read")
      openBrowser(authorization.url)
      let token = try await oauth.token(for: authorization, callback: nextCallback())
      #expect(token.refreshToken == "r")
    }()

    let code = try await oauth.deviceCode(scope: "read")
    print("Open \(code.verificationURI) and enter \(code.userCode)")
    let token = try await oauth.token(for: code)

    #expect(token.accessToken == "new")
  }

  @Test func `refreshes a stored token`() async throws {
    let folder = try TemporaryFolder()
    let store = TokenFile(path: folder.path("token.json"))
    try await store.save(OAuthToken(accessToken: "old", refreshToken: "r0"))
    let oauth = OAuthClient(at: Self.idServer, clientID: "app", through: Self.client(Self.signInTransport))

    let client = HTTPClient {
      $0.baseURL = "https://api.example.com"
      $0.authenticators[.baseURL] = .oauth(oauth, .stored(in: store))
    }
    await client.update { $0.transport = Self.signInTransport }
    let response = try await client.get("/")

    #expect(response.text == "in")
    #expect(try await store.token()?.refreshToken == "r")
    let mode = try FileManager.default.attributesOfItem(atPath: store.path)[.posixPermissions] as? NSNumber
    #expect(mode == 0o600)
    let keychain = store
    await client.update {
      $0.authenticators[.baseURL] = .oauth(oauth, .stored(in: keychain))
    }
  }

  @Test func `signs and proves with keys`() async throws {
    let server = Self.idServer
    let store = TokenFile(path: "")
    // A new P-256 key in PKCS #8, from CryptoKit or openssl in a program.
    let text = "no key"
    #expect(throws: HTTPError.self) {
      let key = try OAuthKey(pem: text, keyID: "2026-11")
      let oauth = OAuthClient(at: server, clientID: "reports", authentication: .privateKey(key))
      _ = oauth
    }
    let prove = {
      let proof = try OAuthProof(.generate(), for: ["https://api.example.com"])
      let oauth = OAuthClient(at: server, clientID: "app", dpop: proof)
      let client = HTTPClient {
        $0.authenticators[.origin("https://api.example.com")] = .oauth(oauth, .stored(in: store))
        $0.exchangeMiddleware.append(proof)
      }
      return client
    }

    do {
      #expect(try prove().configuration.exchangeMiddleware.count == 1)
    } catch let error as HTTPError {
      // A machine without libcrypto.
      #expect(error.kind == .unsupported)
    }
  }

  @Test func `handles a refused refresh token`() async throws {
    let oauth = OAuthClient(
      at: Self.idServer, clientID: "app",
      through: Self.client(.json(#"{"error":"invalid_grant"}"#, status: .badRequest)))
    let client = Self.client(.status(.unauthorized)).derived {
      $0.authenticators[.baseURL] = .oauth(oauth, .token(OAuthToken(accessToken: "old", refreshToken: "r0")))
    }
    let calls = Log<String>()
    let signInAgain = { calls.add("sign in") }

    do {
      try await client.get("/reports/7")
    } catch let error as HTTPError where error.oauthError?.code == .invalidGrant {
      signInAgain()
    }

    #expect(calls.elements == ["sign in"])
  }
}
