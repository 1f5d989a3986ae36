import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@testable import MartletHAR
@testable import MartletOAuth

/// Secrets stay out of everything that a program may print or record.
@Suite(.hangLimit) struct OAuthSecrecyTests {
  private static let secrets = ["canary-secret", "canary-access", "canary-refresh", "canary-device", "canary-code"]

  private static let token =
    #"{"access_token":"canary-access","token_type":"Bearer","refresh_token":"canary-refresh","id_token":"canary-code"}"#
  private static let device =
    #"{"device_code":"canary-device","user_code":"canary-code","verification_uri":"https://id.test/d","expires_in":60}"#

  private static func server() -> StubTransport {
    StubTransport { request in
      let body = String(decoding: try await request.bodyData(), as: UTF8.self)
      if request.url?.path() == "/device" { return .json(device) }
      return body.contains("canary-device")
        ? .json(#"{"error":"invalid_grant","error_description":"no"}"#, status: .badRequest)
        : .json(token)
    }
  }

  private static func use(_ client: HTTPClient) async throws -> [any Error] {
    let server = OAuthClient.Server(
      tokenEndpoint: "https://id.test/token", authorizationEndpoint: "https://id.test/authorize",
      deviceEndpoint: "https://id.test/device")
    let proof = try OAuthProof(OAuthKey(pem: TestKeys.p256), for: ["https://api.test"])
    var errors: [any Error] = []
    for authentication in [OAuthClient.Authentication.secretBasic("canary-secret"), .secretPost("canary-secret")] {
      let oauth = OAuthClient(at: server, clientID: "app", authentication: authentication, through: client)
      let token = try await oauth.refresh(oauth.clientCredentials())
      let authorization = try oauth.authorization(redirectURI: "https://app.test/in")
      _ = try await oauth.token(
        for: authorization, callback: "https://app.test/in?code=canary-code&state=\(authorization.state)")
      let code = try await oauth.deviceCode()
      do { _ = try await oauth.token(for: code) } catch { errors.append(error) }
      for value in [oauth, token, authorization, code, proof, authentication, proof.key] as [Any] {
        var text = "\(value) \(String(reflecting: value))"
        dump(value, to: &text)
        #expect(secrets.allSatisfy { !text.contains($0) } && !text.contains(authorization.state), "\(text)")
      }
    }
    return errors
  }

  @Test func `descriptions, errors and logs show no secrets`() async throws {
    let lines = Shared("")
    let sink = LogSink { line in lines.withLock { $0 += "\(line)\n" } }
    let client = HTTPClient.stubbed(Self.server()) {
      $0.exchangeMiddleware = [LoggingMiddleware([.bodies, .auth], to: sink)]
    }

    let errors = try await Self.use(client)
    await sink.flush()

    var text = lines.value
    #expect(text.contains("grant_type=refresh_token") && errors.count == 2)
    for error in errors { text += "\(error) \(String(reflecting: error)) \(error.localizedDescription)" }
    for secret in Self.secrets { #expect(!text.contains(secret), "\(secret): \(text)") }
    #expect(!text.contains(Data("app:canary-secret".utf8).base64EncodedString()))
  }

  @Test func `recordings contain no secrets`() async throws {
    let folder = try TemporaryFolder()
    let recorder = try HARRecorder(
      to: URL(filePath: folder.path("x.har")), maximumBodyBytes: 64 << 10, redaction: .standard, delay: .seconds(300))
    let client = HTTPClient.stubbed(Self.server()) { $0.instruments = [recorder] }

    _ = try await Self.use(client)
    await client.drain()
    recorder.flush()

    let text = try String(contentsOfFile: folder.path("x.har"), encoding: .utf8)
    #expect(text.contains("grant_type=refresh_token"))
    for secret in Self.secrets { #expect(!text.contains(secret), "\(secret)") }
  }

  @Test func `logs show no proofs`() async throws {
    let lines = Shared("")
    let sink = LogSink { line in lines.withLock { $0 += "\(line)\n" } }
    let proof = try OAuthProof(OAuthKey(pem: TestKeys.p256), for: ["https://api.test"])
    let transport = StubTransport { _ in .text("in") }
    let client = HTTPClient.stubbed(transport) {
      $0.exchangeMiddleware = [proof, LoggingMiddleware([.headers], to: sink)]
    }

    try await client.get("https://api.test/", headers: ["Authorization": "Bearer canary-access"])
    await sink.flush()

    let sent = try #require(transport.requests.first?.headers["DPoP"])
    #expect(lines.value.lowercased().contains("dpop") && !lines.value.contains("canary"))
    #expect(!lines.value.contains(sent))
  }
}
