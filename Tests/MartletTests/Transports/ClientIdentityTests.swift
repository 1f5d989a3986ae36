import Foundation
import Testing

@testable import Martlet
@testable import MartletBase

@Suite(.hangLimit) struct ClientIdentityTests {
  static let imports: [(status: Int32, identities: Int, words: String?)] = [
    (0, 1, nil),
    (0, 0, "the client certificate in PKCS #12 contains no certificate with its private key"),
    (0, 3, "the client certificate in PKCS #12 contains 3 certificates with private keys: only one can be used"),
    (-25293, 0, "has another password, or a format that the system does not support"),
    (-25264, 0, "`openssl pkcs12 -export -legacy`"), (-25260, 0, "has another password"),
    (-26275, 0, "is malformed, or has a format"), (-1, 0, "cannot be imported: status -1"),
    // Whatever the items are, a status other than 0 is a failure.
    (-25293, 1, "has another password"), (1, 1, "cannot be imported: status 1"),
  ]

  @Test(arguments: imports)
  func `accepts an import with exactly one identity`(_ status: Int32, _ identities: Int, _ words: String?) {
    let problem = ClientIdentity.problem(ofImport: status, identities: identities)

    #expect((problem == nil) == (words == nil))
    if let words { #expect(problem?.message.contains(words) == true, "\(problem?.message ?? "")") }
  }

  static let searches: [(status: Int32, identities: Int, words: String?)] = [
    (0, 1, nil), (0, 0, "the keychain's item 'me\\n' contains no certificate with its private key"),
    (-25300, 0, "contains no certificate with its private key"), (0, 2, "contains 2 certificates with private keys"),
    (-25300, 1, "contains no certificate"), (-34018, 0, "the keychain's item 'me\\n' cannot be read: status -34018"),
    (-34018, 1, "cannot be read"),
  ]

  @Test(arguments: searches)
  func `accepts a search that finds exactly one identity`(_ status: Int32, _ identities: Int, _ words: String?) {
    let problem = ClientIdentity.problem(ofSearch: status, identities: identities, label: "me\n")

    #expect((problem == nil) == (words == nil))
    if let words { #expect(problem?.message.contains(words) == true, "\(problem?.message ?? "")") }
  }

  @Test func `presents the certificate to the request's server only, and once`() {
    let server = ServerTrust.Peer(host: "a.test", challenged: "a.test", isProxy: false)
    let other = ServerTrust.Peer(host: "a.test", challenged: "b.test", isProxy: false)
    let proxy = ServerTrust.Peer(host: "a.test", challenged: "p.test", isProxy: true)

    #expect(ClientIdentity.step(for: server, hasCertificate: true, failures: 0) == .present)
    #expect(ClientIdentity.step(for: server, hasCertificate: false, failures: 0) == .systemDefault)
    #expect(ClientIdentity.step(for: proxy, hasCertificate: true, failures: 0) == .systemDefault)
    #expect(
      ClientIdentity.step(for: server, hasCertificate: true, failures: 1)
        == .refuse(.tls, "a.test did not accept the client certificate"))
    #expect(
      ClientIdentity.step(for: other, hasCertificate: true, failures: 0)
        == .refuse(.tls, "the challenge is for b.test instead of a.test"))
  }

  @Test func `presents a proxy's credentials once`() {
    let open: Proxy = "http://p.test:3128"
    let named: Proxy = "http://ada:secret@p.test:3128"

    #expect(ClientIdentity.step(for: named, failures: 0) == .present)
    for (proxy, failures, words) in [(open, 0, "requires credentials"), (named, 1, "did not accept the credentials")] {
      guard case .refuse(.authenticationFailed, let reason) = ClientIdentity.step(for: proxy, failures: failures) else {
        Issue.record("\(proxy) is not refused")
        continue
      }
      #expect(reason.contains("http://p.test:3128") && reason.contains(words) && !reason.contains("secret"))
    }
  }

  @Test func `a keychain item has a label, and its own partition`() {
    func settings(_ label: String) -> TransportSettings {
      var settings = TransportSettings()
      settings.tls.clientCertificate = TLSSettings.ClientCertificate(source: .keychain(label: label), password: nil)
      return settings
    }

    #expect(settings("").problem?.message == "the label of the client certificate is empty")
    #expect(settings("me").problem == nil)
    #expect(settings("me").tls.description == "system roots, TLS 1.2 or later, client certificate (keychain)")
    #expect(NetworkPartition(settings("me")).certificate == NetworkPartition(settings("me")).certificate)
    #expect(NetworkPartition(settings("me")).certificate != NetworkPartition(settings("you")).certificate)
  }

  // MARK: Settings of the system's loader

  private static let pem = Data("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n".utf8)
  private static let key = Data("-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n".utf8)

  static let settings: [(name: String, onApple: Bool, change: @Sendable (inout TransportSettings) -> Void)] = [
    ("nothing", true, { _ in }), ("roots", true, { $0.tls = .customRoots(pem: pem) }),
    ("added roots", true, { $0.tls = .system(adding: pem) }), ("anything", true, { $0.tls = .insecureTrustAnything }),
    ("pins", true, { $0.tls.pins = [CertificateVector.rsa.pin] }),
    ("minimum version", true, { $0.tls.minimumVersion = .v1_3 }),
    ("PKCS #12", true, { $0.tls.clientCertificate = .pkcs12(Data([0x30, 0])) }),
    ("proxy", true, { $0.proxy = .proxy("http://p.test") }), ("environment", true, { $0.proxy = .environment }),
    ("resolver", true, { $0.proxy = .resolver { _ in nil } }),
    ("PEM", false, { $0.tls.clientCertificate = .pem(certificate: pem, key: key) }),
    ("addresses", false, { $0.addresses = AddressPolicy(except: []) }),
    ("resolve", false, { $0.resolve = ["a.test": ["127.0.0.1"]] }), ("unixSocket", false, { $0.unixSocket = "/s" }),
    ("localInterface", false, { $0.localInterface = "lo" }),
  ]

  @Test(arguments: settings)
  func `the system's loader refuses what it does not support, by name`(
    _ name: String, _ onApple: Bool, _ change: @Sendable (inout TransportSettings) -> Void
  ) {
    var settings = TransportSettings()
    change(&settings)

    func problem(_ loader: TransportSettings.SystemLoader) -> HTTPError? {
      settings.systemLoaderProblem(for: .get("https://a.test/"), .automatic, isLimited: false, loader: loader)
    }
    let (apple, foundation) = (problem(.apple), problem(.foundation))

    #expect((apple == nil) == onApple)
    #expect((foundation == nil) == (name == "nothing"))
    for error in [apple, foundation].compactMap({ $0 }) { #expect(error.kind == .unsupported) }
    if name == "PEM" { #expect(apple?.message.contains("use .pkcs12") == true) }
  }
}
