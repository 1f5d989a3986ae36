import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

/// Text that a program prints by accident never contains a secret.
@Suite(.hangLimit) struct CredentialSecrecyTests {
  private static let canaries = ["canaryuser", "canarypass", "canarytoken", "canaryrefresh"]

  private static func shows(_ value: Any) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    let text = "\(value) \(String(reflecting: value)) \(dumped)"
    let encoded = Data("canaryuser:canarypass".utf8).base64EncodedString()
    return (canaries + [encoded]).filter { text.contains($0) }
  }

  private static func configure(_ configuration: inout HTTPClient.Configuration) {
    configuration.baseURL = "http://a.test"
    configuration.options.credential = .user("canaryuser", password: "canarypass")
    configuration.authenticators[.origin("http://b.test")] = .bearer("canarytoken")
    configuration.authenticators[.origin("http://c.test")] = .oauth2(
      .token("canarytoken", refreshToken: "canaryrefresh")
    ) { _ in nil }
    configuration.headers["Authorization"] = "canarytoken"
  }

  @Test func `descriptions and dumps show no credential`() async throws {
    let password = Credential.user("canaryuser", password: "canarypass")
    let token = Credential.token("canarytoken", refreshToken: "canaryrefresh")
    let challenge = AuthenticationChallenge(
      space: ProtectionSpace(scheme: "http", host: "a.test", port: 80), scheme: .basic, rejected: password)
    let store = Authenticators.MemoryCredentialStore()
    await store.set(token, for: challenge.space)
    let values: [Any] = [
      password, token, challenge, RequestOptions.credential(token), store,
      Authenticators.CredentialAuthenticator(password),
      Authenticators.TokenAuthenticator(token, timeout: .seconds(1)) { _ in nil },
      Credential.user("canaryuser", password: "canarypass", domain: "D"),
      Handshake(
        scheme: .ntlm, origin: Origin(scheme: "https", host: "a", port: 443), user: "canaryuser",
        password: "canarypass"),
      Answer(unasked: password), CallCredential(credential: token, origin: Origin(scheme: "http", host: "a", port: 80)),
    ]

    for value in values { #expect(Self.shows(value).isEmpty, "\(type(of: value))") }
  }

  @Test func `a client, its errors and its responses show no credential after sending it`() async throws {
    let client = HTTPClient.onTestClock {
      $0.transport = .stub { _ in AuthServer.refusal(#"Basic realm="r""#) }
      Self.configure(&$0)
    }

    for url in ["http://canaryuser:canarypass@a.test/", "/", "http://b.test/", "http://c.test/"] {
      let error = try await #require(throws: HTTPError.self) { try await client.get(RequestTarget(url)) }
      #expect(Self.shows(error).isEmpty && error.kind == .status)
      #expect(Self.shows(try #require(error.response)).isEmpty)
    }
    #expect(Self.shows(client.configuration).isEmpty)
    #expect(Self.shows(client).isEmpty)
  }

  @Test func `a failed refresh reports the type of its error, but not the description`() async throws {
    struct Leaky: Error, CustomStringConvertible { var description: String { "canarytoken" } }
    let client = HTTPClient.onTestClock {
      $0.transport = .stub { _ in AuthServer.refusal("Bearer") }
      $0.baseURL = "http://a.test"
      $0.authenticators[.baseURL] = .oauth2(.token("canarytoken")) { _ in throw Leaky() }
    }

    let error = try await #require(throws: HTTPError.self) { try await client.get("/") }

    #expect(!error.description.contains("canarytoken") && error.description.contains("Leaky"))
  }
}
