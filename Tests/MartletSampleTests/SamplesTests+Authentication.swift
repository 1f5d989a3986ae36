import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

extension SamplesTests {
  private nonisolated static let basic = SignInServer.basic("ada", "secret")

  @Test func `signs in with a password`() async throws {
    let secret = "secret"
    let transport = SignInServer.accepting(Self.basic, challenge: #"Basic realm="r""#)

    let client = HTTPClient {
      $0.baseURL = "https://api.example.com"
      $0.authenticators[.baseURL] = .password(user: "ada", password: secret)
    }
    await client.update {
      $0.transport = transport
      $0.authenticators[.origin("https://files.example.com")] = .basic(
        user: "ada", password: secret, isPreemptive: true)
    }
    try await client.get("/")
    try await client.get("https://files.example.com/")

    #expect(transport.sentAuthorizations == [nil, Self.basic, Self.basic])
  }

  @Test func `signs in for one request`() async throws {
    let secret = "secret"
    let transport = SignInServer.accepting(Self.basic, challenge: #"Basic realm="r""#)
    let client = HTTPClient {
      $0.transport = transport
      $0.baseURL = "https://api.example.com"
    }

    let page = try await client.get("/report", options: .credential(.user("ada", password: secret)))
    let same = try await client.get("https://ada:secret@api.example.com/report")

    #expect(page.text == same.text)
    #expect(transport.sentAuthorizations == [nil, Self.basic, Self.basic])
  }

  @Test func `authenticates with NTLM or Negotiate`() async throws {
    let secret = "secret"
    let client = HTTPClient {
      $0.transport = SignInServer.accepting("nothing", challenge: "Negotiate, NTLM")
      $0.authenticators[.host("intranet.example.com")] = .ntlm(user: "ada", password: secret, domain: "CORP")
      $0.authenticators[.host("*.corp.example.com")] = .negotiate()
    }

    for (url, scheme) in [("https://intranet.example.com/", "NTLM"), ("https://a.corp.example.com/", "Negotiate")] {
      let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(url)) }
      #expect(error?.kind == .unsupported && error?.message.contains(scheme) == true)
    }
  }

  private nonisolated struct Token: Decodable {
    var access: String
    var refresh: String
    var seconds: Double
  }

  @Test func `renews a token`() async throws {
    let token = Credential.token("old", refreshToken: "r1")
    let signIn = Self.client(
      StubTransport { request in
        #expect(request.body == .form(["refresh_token": "r1"]))
        return .json(#"{"access":"new","refresh":"r2","seconds":3600}"#)
      })
    let transport = SignInServer.accepting("Bearer new", challenge: "Bearer")
    let client = HTTPClient {
      $0.transport = transport
      $0.authenticators[.host("*.example.com")] = .oauth2(token) { old in
        let new = try await signIn.post("/token", body: .form(["refresh_token": old?.refreshToken]), as: Token.self)
        return .token(new.access, refreshToken: new.refresh, expires: Date() + new.seconds)
      }
    }

    try await client.get("https://api.example.com/")

    #expect(transport.sentAuthorizations == ["Bearer old", "Bearer new"])
  }

  @Test func `prompts for a password and stores the credential`() async throws {
    let prompts = Log<String>()
    let prompt: @Sendable (String) async -> Credential? = {
      prompts.add($0)
      return .user("ada", password: "secret")
    }
    let store = Authenticators.MemoryCredentialStore()
    let client = HTTPClient {
      $0.transport = SignInServer.accepting(Self.basic, challenge: #"Basic realm="r""#)
      $0.authenticators[.everywhere] = .ask { challenge in
        if challenge.previousFailures > 1 { return nil }
        let warning = challenge.isSentInClear ? " (readable on the way!)" : ""
        return await prompt("Password for \(challenge.host)\(warning)")
      }
      $0.credentialStore = store
    }
    let keeping = client.derived {
      $0.credentialStore = .file(URL(filePath: "/home/ada/.config/tool/credentials.json"))
    }

    try await client.get("http://a.example/")
    try await client.signOut()

    #expect(prompts.elements == ["Password for a.example (readable on the way!)"])
    #expect(keeping.configuration.credentialStore is Authenticators.FileCredentialStore)
  }
}
