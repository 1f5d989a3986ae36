import Foundation

/// Certificates or a key: bytes that were read and checked immediately, or their problem.
struct TLSMaterial: Sendable, Hashable {
  private enum Kind: Sendable, Hashable {
    case certificates
    case key(hasPassword: Bool)
    case pkcs12
  }

  private struct File: Sendable, Hashable {
    let url: URL
    let kind: Kind
  }

  /// The maximum file size; all roots of a system take a quarter of a megabyte.
  static let maximumBytes = 16 << 20

  let bytes: Data
  let problem: InvalidInput?
  /// The file to read again, after a lack of descriptors or memory.
  private let unread: File?

  private init(_ bytes: Data, _ name: String, _ kind: Kind) {
    let problem = Self.check(bytes, kind)
    self.bytes = problem == nil ? bytes : Data()
    self.problem = problem.map { InvalidInput("\(name) \($0)") }
    unread = nil
  }

  private init(problem: InvalidInput, unread: File?) {
    bytes = Data()
    self.problem = problem
    self.unread = unread
  }

  private init(_ file: File) {
    let name = Self.name(file)
    do throws(Failure) {
      self.init(try Self.read(file.url), name, file.kind)
    } catch {
      self.init(problem: InvalidInput("\(name) \(error.message)"), unread: error.isTransient ? file : nil)
    }
  }

  /// Whether the file could not be read for a transient reason.
  var isUnread: Bool { unread != nil }

  /// The same material, read again if it is unread.
  var reread: TLSMaterial { unread.map { TLSMaterial($0) } ?? self }

  // MARK: Kinds

  static func certificates(in url: URL) -> TLSMaterial { TLSMaterial(File(url: url, kind: .certificates)) }
  static func certificates(in data: Data) -> TLSMaterial { TLSMaterial(data, "the PEM text", .certificates) }

  static func key(in url: URL, hasPassword: Bool) -> TLSMaterial {
    TLSMaterial(File(url: url, kind: .key(hasPassword: hasPassword)))
  }

  static func key(in data: Data, hasPassword: Bool) -> TLSMaterial {
    TLSMaterial(data, "the PEM text of the key", .key(hasPassword: hasPassword))
  }

  static func pkcs12(in url: URL) -> TLSMaterial { TLSMaterial(File(url: url, kind: .pkcs12)) }
  static func pkcs12(in data: Data) -> TLSMaterial { TLSMaterial(data, "the PKCS #12 data", .pkcs12) }

  private static func check(_ data: Data, _ kind: Kind) -> String? {
    switch kind {
    case .certificates: checkCertificates(data)
    case .key(let hasPassword): checkKey(data, hasPassword)
    case .pkcs12: DER.isSequence(data) ? nil : "is not PKCS #12"
    }
  }

  private static func checkCertificates(_ data: Data) -> String? {
    let found = PEM.blocks(in: data)
    if let problem = found.problem { return problem }
    let certificates = found.blocks.filter { $0.label == "CERTIFICATE" || $0.label.hasSuffix(" CERTIFICATE") }
    if certificates.isEmpty { return "has no certificate in it" }
    guard certificates.allSatisfy({ DER.isSequence($0.content) }) else { return "has a malformed certificate" }
    return nil
  }

  private static func checkKey(_ data: Data, _ hasPassword: Bool) -> String? {
    let found = PEM.blocks(in: data)
    if let problem = found.problem { return problem }
    // Only the first key is used.
    guard let key = found.blocks.first(where: { $0.label == "PRIVATE KEY" || $0.label.hasSuffix(" PRIVATE KEY") })
    else {
      return "has no private key in it"
    }
    // Without a password, OpenSSL would ask for it on the terminal.
    if key.isEncrypted { return hasPassword ? nil : "has an encrypted key: pass its password" }
    return DER.isSequence(key.content) ? nil : "has a malformed private key"
  }

  // MARK: Files

  private struct Failure: Error {
    let message: String
    var isTransient = false
  }

  private static func name(_ file: File) -> String {
    let (what, url) = (file.kind == .pkcs12 ? "the PKCS #12 file" : "the PEM file", file.url)
    return url.isFileURL
      ? "\(what) '\(InvalidInput.printable(url.path(percentEncoded: false)))'"
      : "\(what) '\(URLRedaction.printable(url.absoluteString))'"
  }

  private static func read(_ url: URL) throws(Failure) -> Data {
    guard url.isFileURL else { throw Failure(message: "has a URL that is not a file URL") }
    let bytes: Data?
    do throws(DiskCalls.Failure) {
      bytes = try DiskCalls.contents(url.path(percentEncoded: false), upTo: maximumBytes + 1)
    } catch {
      guard !error.isAbsence else { throw Failure(message: "does not exist") }
      throw Failure(message: "cannot be read: \(error.text)", isTransient: error.isExhaustion)
    }
    guard let bytes else { throw Failure(message: "is not a regular file") }
    guard bytes.count <= maximumBytes else { throw Failure(message: "is larger than 16 MiB") }
    return bytes
  }
}
