import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite(.hangLimit) struct TLSSettingsTests {
  /// A transport that records the settings it is prepared for.
  private final class Recorder: Transport {
    let seen = Locked<[TLSSettings]>([])

    func prepared(for settings: TransportSettings) -> any Transport {
      seen.withLock { $0.append(settings.tls) }
      return StubTransport(script: [.text("ok")])
    }

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      throw HTTPError(.unsupported, "not prepared")
    }
  }

  /// A certificate and a key with only the parts that are checked.
  private static let certificate = pem("CERTIFICATE", "MAA=")
  private static let key = pem("PRIVATE KEY", "MAA=")
  private static let pin = "sha256//" + Data(repeating: 1, count: 32).base64EncodedString()

  @Test(arguments: ["sha256//", "sha256/"]) func `reads a pin whose base64 begins with a slash`(prefix: String) {
    let hash = Data(repeating: 0xFF, count: 32).base64EncodedString()

    #expect(hash.hasPrefix("/"))
    #expect(TLSSettings.pins(["\(prefix)\(hash)"]).normalizedPins == ["sha256//\(hash)"])
  }

  private static func pem(_ label: String, _ lines: String) -> Data {
    Data("a comment\n-----BEGIN \(label)-----\n\(lines)\n-----END \(label)-----\n".utf8)
  }

  private static func settings(_ certificate: TLSSettings.ClientCertificate) -> TLSSettings {
    var settings = TLSSettings.system
    settings.clientCertificate = certificate
    return settings
  }

  private static let missing = URL(fileURLWithPath: "/nowhere/at all.pem")

  static let invalid: [(TLSSettings, String)] = [
    (.customRoots(pem: missing), "the PEM file '/nowhere/at all.pem' does not exist"),
    (.system(adding: missing), "the PEM file '/nowhere/at all.pem' does not exist"),
    (.customRoots(pem: URL(fileURLWithPath: "/")), "the PEM file '/' is not a regular file"),
    (.customRoots(pem: URL(fileURLWithPath: "/dev/zero")), "the PEM file '/dev/zero' is not a regular file"),
    (
      .customRoots(pem: URL(string: "https://u:secret@a.example/x") ?? missing),
      "has a URL that is not a file URL"
    ),
    (.customRoots(pem: Data()), "the PEM text contains no certificate"),
    (.customRoots(pem: Data("not PEM".utf8)), "the PEM text contains no certificate"),
    (.customRoots(pem: key), "the PEM text contains no certificate"),
    (
      .customRoots(pem: Data("/etc/acme/roots.pem\n".utf8)),
      "the PEM text is a path instead of the file's contents: pass URL(filePath:)"
    ),
    (
      .customRoots(pem: Data("roots.pem".utf8)),
      "the PEM text is a path instead of the file's contents: pass URL(filePath:)"
    ),
    (.customRoots(pem: pem("CERTIFICATE", "MAA=!")), "the PEM text contains a block that is not base64"),
    (.customRoots(pem: pem("CERTIFICATE", "")), "the PEM text contains a block that is not base64"),
    (.customRoots(pem: pem("CERTIFICATE", "AAAA")), "the PEM text contains a malformed certificate"),
    (.customRoots(pem: pem("CERTIFICATE", "MIIB")), "the PEM text contains a malformed certificate"),
    (.customRoots(pem: certificate + pem("CERTIFICATE", "AAAA")), "the PEM text contains a malformed certificate"),
    (.customRoots(pem: certificate.dropLast(5)), "the PEM text has a BEGIN line without its END line"),
    (
      .customRoots(pem: Data("-----BEGIN A-----\n".utf8) + certificate),
      "the PEM text has a BEGIN line without its END line"
    ),
    (.pins([]), "the list of pins is empty"),
    (.pins([pin, "sha256//AAAA"]), "the pin 'sha256//AAAA' is not"),
    (.pins([String(pin.dropFirst(8))]), "is not 'sha256//' and the base64 of the 32 bytes of a SHA-256"),
    (.pins([pin + ";" + pin]), "is not 'sha256//'"),
    (.pins(["md5//" + Data(count: 32).base64EncodedString()]), "the pin 'md5//"),
    (.pins([""]), "the pin '' is not"),
    (settings(.pem(certificate: missing, key: missing)), "the PEM file '/nowhere/at all.pem' does not exist"),
    (settings(.pem(certificate: key, key: key)), "the PEM text contains no certificate"),
    (settings(.pem(certificate: certificate, key: certificate)), "contains no private key"),
    (settings(.pem(certificate: certificate, key: pem("PRIVATE KEY", "AAAA"))), "contains a malformed private key"),
    (
      settings(.pem(certificate: certificate, key: pem("ENCRYPTED PRIVATE KEY", "MAA="))),
      "contains an encrypted key: pass its password"
    ),
    (
      settings(
        .pem(certificate: certificate, key: pem("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: x,y\n\nAAAA"))),
      "contains an encrypted key: pass its password"
    ),
    (
      settings(.pem(certificate: certificate, key: key, password: "hunter2\0")),
      "the client certificate's password contains a zero octet"
    ),
    (settings(.pkcs12(missing, password: "hunter2")), "the PKCS #12 file '/nowhere/at all.pem' does not exist"),
    (settings(.pkcs12(Data("no archive".utf8), password: "hunter2")), "the PKCS #12 data is not PKCS #12"),
    (settings(.pkcs12(Data([0x30, 0x85, 1, 1, 1, 1, 1]))), "the PKCS #12 data is not PKCS #12"),
    (settings(.pkcs12(Data([0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF]))), "the PKCS #12 data is not PKCS #12"),
    (settings(.pkcs12(Data())), "the PKCS #12 data is not PKCS #12"),
  ]

  @Test(arguments: invalid)
  func `invalid settings reject every request before it is sent`(_ tls: TLSSettings, _ words: String) async {
    let transport = StubTransport(script: [.text("ok")])
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.tls = tls
    }

    for target: RequestTarget in ["http://a.example/", "https://a.example/"] {
      let error = await #expect(throws: HTTPError.self) { try await client.get(target) }
      #expect(error?.kind == .invalidRequest)
      #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("hunter2") == false && error?.message.contains("secret") == false)
    }
    #expect(transport.requests.isEmpty)
    await client.update { $0.tls = .system }
    #expect(await (try? client.get("https://a.example/"))?.status == 200)
  }

  @Test func `accepts well-formed settings`() {
    let base64 = Data(repeating: 0xFB, count: 32).base64EncodedString()
    var settings = TLSSettings.customRoots(pem: Self.certificate + Self.pem("TRUSTED CERTIFICATE", "MAA=\r"))
    settings.pins = ["sha256/\(base64)", "sha256//\(base64)"]
    settings.clientCertificate = .pem(
      certificate: Self.certificate, key: Self.pem("ENCRYPTED PRIVATE KEY", "AAAA"), password: "hunter2")

    #expect(settings.problem == nil)
    #expect(settings.normalizedPins == ["sha256//\(base64)", "sha256//\(base64)"])
    #expect(Self.settings(.pkcs12(Data([0x30, 0x80, 0, 0]))).problem == nil)
    #expect(Self.settings(.pkcs12(Data([0x30, 0x81, 1, 0]))).problem == nil)
    #expect(TLSSettings.system.problem == nil && TLSSettings.insecureTrustAnything.problem == nil)
  }

  @Test func `reads a file once, when the settings are created`() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let file = try folder.write(Self.certificate, to: "roots.pem")
    let settings = TLSSettings.customRoots(pem: file)
    try FileManager.default.removeItem(at: file)

    #expect(settings.problem == nil)
    #expect(settings.trust.material?.bytes == TLSSettings.customRoots(pem: Self.certificate).trust.material?.bytes)
    #expect(TLSSettings.customRoots(pem: file).problem != nil)
  }

  @Test func `prepares a new transport for each change of the TLS settings`() async {
    let transport = Recorder()
    let client = HTTPClient.onTestClock { $0.transport = transport }
    #expect(transport.seen.withLock { $0 } == [.system])

    await client.update { $0.headers["X-A"] = "1" }
    #expect(transport.seen.withLock { $0.count } == 1)
    await client.update { $0.tls = .insecureTrustAnything }
    await client.update { $0.tls.pins = [Self.pin] }
    await client.update { $0.tls = .system }
    _ = client.derived { $0.tls.minimumVersion = .v1_3 }

    let seen = transport.seen.withLock { $0 }
    #expect(seen.count == 5)
    #expect(seen[1] == .insecureTrustAnything && seen[2].pins == [Self.pin] && seen[3] == .system)
    #expect(seen[4].minimumVersion == .v1_3)
  }

  @Test func `descriptions omit passwords and keys`() {
    var configuration = HTTPClient.Configuration()
    let secret = Data("-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n".utf8)
    configuration.tls = .customRoots(pem: Self.certificate)
    configuration.tls.clientCertificate = .pem(certificate: Self.certificate, key: secret, password: "hunter2")
    var dumped = ""
    dump(configuration.tls, to: &dumped)
    dump(configuration, to: &dumped)
    dump(configuration.transportSettings, to: &dumped)
    let shown = [
      dumped, "\(configuration)", String(reflecting: configuration), "\(configuration.tls)",
      String(reflecting: configuration.tls.clientCertificate), "\(configuration.transportSettings)",
    ].joined(separator: "\n")

    #expect(configuration.tls.description == "custom roots, TLS 1.2 or later, client certificate (PEM)")
    #expect(shown.contains("client certificate (PEM)"))
    #expect(!shown.contains("hunter2") && !shown.contains("PRIVATE") && !shown.contains("\(secret.count) bytes"))
  }
}
