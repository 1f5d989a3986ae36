import Foundation

/// Certificates or a key: bytes that were read and checked when they were named, or why they cannot be used.
struct TLSMaterial: Sendable, Hashable {
  /// The largest file that is read: all roots of a system take a quarter of a megabyte.
  static let maximumBytes = 16 << 20

  let bytes: Data
  let problem: InvalidInput?

  private init(_ bytes: Data, _ name: String, _ check: (Data) -> String?) {
    let problem = check(bytes)
    self.bytes = problem == nil ? bytes : Data()
    self.problem = problem.map { InvalidInput("\(name) \($0)") }
  }

  private init(_ url: URL, _ what: String, _ check: (Data) -> String?) {
    switch Self.read(url) {
    case .success(let bytes): self.init(bytes, Self.name(url, what), check)
    case .failure(let failure): self.init(Data(), Self.name(url, what)) { _ in failure.message }
    }
  }

  // MARK: Kinds

  static func certificates(in url: URL) -> TLSMaterial { TLSMaterial(url, "the PEM file", checkCertificates) }
  static func certificates(in data: Data) -> TLSMaterial { TLSMaterial(data, "the PEM text", checkCertificates) }

  static func key(in url: URL, hasPassword: Bool) -> TLSMaterial {
    TLSMaterial(url, "the PEM file") { checkKey($0, hasPassword) }
  }

  static func key(in data: Data, hasPassword: Bool) -> TLSMaterial {
    TLSMaterial(data, "the PEM text of the key") { checkKey($0, hasPassword) }
  }

  static func pkcs12(in url: URL) -> TLSMaterial { TLSMaterial(url, "the PKCS #12 file", checkPKCS12) }
  static func pkcs12(in data: Data) -> TLSMaterial { TLSMaterial(data, "the PKCS #12 data", checkPKCS12) }

  private static func checkCertificates(_ data: Data) -> String? {
    let found = PEM.blocks(in: data)
    if let problem = found.problem { return problem }
    let certificates = found.blocks.filter { $0.label == "CERTIFICATE" || $0.label.hasSuffix(" CERTIFICATE") }
    if certificates.isEmpty { return "has no certificate in it" }
    guard certificates.allSatisfy({ DER.isSequence($0.content) }) else { return "has a certificate that is not one" }
    return nil
  }

  private static func checkKey(_ data: Data, _ hasPassword: Bool) -> String? {
    let found = PEM.blocks(in: data)
    if let problem = found.problem { return problem }
    // The first one is the one that is used.
    guard let key = found.blocks.first(where: { $0.label == "PRIVATE KEY" || $0.label.hasSuffix(" PRIVATE KEY") })
    else {
      return "has no private key in it"
    }
    // Without one, OpenSSL would ask for it on the terminal.
    if key.isEncrypted { return hasPassword ? nil : "has an encrypted key, and there is no password" }
    return DER.isSequence(key.content) ? nil : "has a private key that is not one"
  }

  private static func checkPKCS12(_ data: Data) -> String? { DER.isSequence(data) ? nil : "is not PKCS #12" }

  // MARK: Files

  private struct Failure: Error {
    let message: String
  }

  private static func name(_ url: URL, _ what: String) -> String {
    url.isFileURL
      ? "\(what) '\(InvalidInput.printable(url.path(percentEncoded: false)))'"
      : "\(what) '\(URLRedaction.printable(url.absoluteString))'"
  }

  private static func read(_ url: URL) -> Result<Data, Failure> {
    guard url.isFileURL else { return .failure(Failure(message: "has a URL that is not a file URL")) }
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: url.resolvingSymlinksInPath().path) else {
      return .failure(Failure(message: "does not exist"))
    }
    guard attributes[.type] as? FileAttributeType == .typeRegular else {
      return .failure(Failure(message: "is not a regular file"))
    }
    guard let file = try? FileHandle(forReadingFrom: url) else { return .failure(Failure(message: "cannot be read")) }
    defer { try? file.close() }
    guard let bytes = try? file.read(upToCount: maximumBytes + 1) ?? Data() else {
      return .failure(Failure(message: "cannot be read"))
    }
    guard bytes.count <= maximumBytes else { return .failure(Failure(message: "is larger than 16 MiB")) }
    return .success(bytes)
  }
}
