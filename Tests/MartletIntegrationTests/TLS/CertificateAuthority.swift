import Foundation
import TestSupport

/// A throwaway authority, created with the `openssl` program in a temporary folder.
final class CertificateAuthority {
  /// A certificate and its key, as PEM files.
  struct Identity {
    let certificate: URL
    let key: URL
  }

  private let folder: TemporaryFolder
  private var count = 0

  /// Creates an authority with its own root.
  init() async throws {
    folder = try TemporaryFolder()
    try folder.write("", to: "index")
    try folder.write("01\n", to: "serial")
    try folder.write(Self.configuration(folder.url.path), to: "ca.cnf")
    try await openssl(
      ["req", "-x509", "-extensions", "root", "-subj", "/CN=Martlet Test Root", "-days", "30"]
        + newKey("ca.key") + ["-out", folder.path("ca.pem")])
  }

  /// The file of the root certificate.
  var root: URL { folder.url.appendingPathComponent("ca.pem") }

  /// The contents of the root certificate's file.
  var rootPEM: Data { get throws { try folder.contents("ca.pem") } }

  /// Signs a certificate for a common name and for the hosts that present it.
  func identity(
    _ name: String = "server", for hosts: String = "IP:127.0.0.1,DNS:localhost", isExpired: Bool = false
  ) async throws -> Identity {
    let identity = newIdentity()
    try folder.write("subjectAltName = \(hosts)\nbasicConstraints = critical, CA:FALSE\n", to: "\(count).ext")
    try await openssl(
      ["req", "-new", "-subj", "/CN=\(name)"] + newKey(identity.key.lastPathComponent)
        + ["-out", folder.path("\(count).csr")])
    try await openssl(
      ["ca", "-batch", "-notext", "-extfile", folder.path("\(count).ext"), "-in", folder.path("\(count).csr")]
        + ["-out", identity.certificate.path]
        + (isExpired ? ["-startdate", "20200101000000Z", "-enddate", "20200201000000Z"] : []))
    return identity
  }

  /// Signs a certificate that may sign others.
  func intermediate() async throws -> Identity {
    let identity = newIdentity()
    try folder.write("basicConstraints = critical, CA:TRUE\nkeyUsage = critical, keyCertSign\n", to: "\(count).ext")
    try await openssl(
      ["req", "-new", "-subj", "/CN=intermediate"] + newKey(identity.key.lastPathComponent)
        + ["-out", folder.path("\(count).csr")])
    try await sign(identity, certificate: "ca.pem", key: "ca.key")
    return identity
  }

  /// Signs a certificate for 127.0.0.1 with the key of an intermediate certificate.
  func identity(signedBy signer: Identity) async throws -> Identity {
    let identity = newIdentity()
    try folder.write("subjectAltName = IP:127.0.0.1\nbasicConstraints = critical, CA:FALSE\n", to: "\(count).ext")
    try await openssl(
      ["req", "-new", "-subj", "/CN=server"] + newKey(identity.key.lastPathComponent)
        + ["-out", folder.path("\(count).csr")])
    try await sign(
      identity, certificate: signer.certificate.lastPathComponent, key: signer.key.lastPathComponent)
    return identity
  }

  private func sign(_ identity: Identity, certificate: String, key: String) async throws {
    try await TestProgram.openssl.run([
      "x509", "-req", "-in", folder.path("\(count).csr"), "-extfile", folder.path("\(count).ext"), "-days", "30",
      "-CA", folder.path(certificate), "-CAkey", folder.path(key), "-set_serial", "\(1000 + count)", "-out",
      identity.certificate.path,
    ])
  }

  /// Creates a self-signed certificate, by default with a key of P-256.
  func selfSigned(_ keyOptions: [String]? = nil) async throws -> Identity {
    let identity = newIdentity()
    let name = identity.key.lastPathComponent
    try await openssl(
      ["req", "-x509", "-extensions", "self", "-subj", "/CN=self", "-days", "30"]
        + (keyOptions.map { $0 + ["-nodes", "-keyout", folder.path(name)] } ?? newKey(name))
        + ["-out", identity.certificate.path])
    return identity
  }

  /// Stores certificates in one file.
  func file(of certificates: [URL]) throws -> URL {
    count += 1
    return try folder.write(try certificates.reduce(Data()) { try $0 + Data(contentsOf: $1) }, to: "\(count).chain")
  }

  /// Stores a certificate and its key in one file.
  func pkcs12(_ identity: Identity, password: String) async throws -> URL {
    count += 1
    let file = folder.url.appendingPathComponent("\(count).p12")
    try await TestProgram.openssl.run([
      "pkcs12", "-export", "-in", identity.certificate.path, "-inkey", identity.key.path, "-out", file.path,
      "-passout", "pass:\(password)",
    ])
    return file
  }

  /// Encrypts a certificate's key.
  func encrypted(_ identity: Identity, password: String) async throws -> Identity {
    count += 1
    let key = folder.url.appendingPathComponent("\(count).enc.key")
    try await TestProgram.openssl.run([
      "pkcs8", "-topk8", "-v2", "aes-256-cbc", "-in", identity.key.path, "-out", key.path, "-passout",
      "pass:\(password)",
    ])
    return Identity(certificate: identity.certificate, key: key)
  }

  /// Returns the pin of a certificate's key.
  func pin(_ identity: Identity) async throws -> String {
    count += 1
    let names = ["pub", "spki", "hash"].map { folder.path("\(count).\($0)") }
    let openssl = TestProgram.openssl
    try await openssl.run(["x509", "-in", identity.certificate.path, "-noout", "-pubkey", "-out", names[0]])
    try await openssl.run(["pkey", "-pubin", "-in", names[0], "-outform", "der", "-out", names[1]])
    try await openssl.run(["dgst", "-sha256", "-binary", "-out", names[2], names[1]])
    return "sha256//" + (try folder.contents("\(count).hash")).base64EncodedString()
  }

  private func newIdentity() -> Identity {
    count += 1
    return Identity(
      certificate: folder.url.appendingPathComponent("\(count).pem"),
      key: folder.url.appendingPathComponent("\(count).key"))
  }

  private func newKey(_ name: String) -> [String] {
    ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", folder.path(name)]
  }

  private func openssl(_ arguments: [String]) async throws {
    try await TestProgram.openssl.run([arguments[0], "-config", folder.path("ca.cnf")] + arguments.dropFirst())
  }

  /// Returns everything that the system's configuration would supply otherwise.
  private static func configuration(_ folder: String) -> String {
    """
    [req]
    distinguished_name = name
    prompt = no
    [name]
    CN = nobody
    [ca]
    default_ca = this
    [this]
    database = \(folder)/index
    serial = \(folder)/serial
    new_certs_dir = \(folder)
    certificate = \(folder)/ca.pem
    private_key = \(folder)/ca.key
    default_md = sha256
    default_days = 30
    policy = any
    unique_subject = no
    [any]
    commonName = supplied
    [root]
    basicConstraints = critical, CA:TRUE
    keyUsage = critical, keyCertSign, cRLSign
    subjectKeyIdentifier = hash
    [self]
    subjectAltName = IP:127.0.0.1, DNS:localhost

    """
  }
}
