import MartletBase

/// Certificates or a key: bytes that were read and checked immediately, or their problem.
///
/// ``TLSFiles`` reads changed files again.
struct TLSMaterial: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case certificates
    case key(hasPassword: Bool)
    case pkcs12
  }

  struct File: Sendable, Hashable {
    let url: URL
    let kind: Kind

    var path: String { url.path(percentEncoded: false) }
  }

  /// The maximum file size; all of a system's roots occupy a quarter of a megabyte.
  static let maximumBytes = 16 << 20

  let bytes: Data
  let problem: InvalidInput?
  /// The file that was read; `nil` for bytes.
  let file: File?
  /// Whether the file could not be read for a transient reason.
  ///
  /// That is a lack of descriptors or memory.
  let isUnread: Bool

  private init(_ name: String, _ kind: Kind, of url: URL? = nil, _ read: () throws(Failure) -> Data) {
    file = url.map { File(url: $0, kind: kind) }
    do throws(Failure) {
      let data = try read()
      if let problem = Self.check(data, kind) { throw Failure(message: problem) }
      (bytes, problem, isUnread) = (data, nil, false)
    } catch {
      (bytes, problem) = (Data(), InvalidInput("\(name) \(error.message)"))
      isUnread = error.isTransient
    }
  }

  init(_ data: Data, _ kind: Kind) {
    let name =
      switch kind {
      case .certificates: "the PEM text"
      case .key: "the PEM text of the key"
      case .pkcs12: "the PKCS #12 data"
      }
    self.init(name, kind) { data }
  }

  init(_ url: URL, _ kind: Kind) {
    let what = kind == .pkcs12 ? "the PKCS #12 file" : "the PEM file"
    let shown =
      url.isFileURL
      ? InvalidInput.printable(url.path(percentEncoded: false)) : URLRedaction.printable(url.absoluteString)
    self.init("\(what) '\(shown)'", kind, of: url) { () throws(Failure) in try Self.read(url) }
  }

  /// The same material, read again if it is unread.
  var reread: TLSMaterial { isUnread ? renewed : self }

  /// The same material, read again if it is from a file.
  var renewed: TLSMaterial { file.map { TLSMaterial($0.url, $0.kind) } ?? self }

  /// The certificates of PEM material, as DER.
  var certificates: [Data] { Self.certificates(in: PEM.blocks(in: bytes).blocks) }

  private static func certificates(in blocks: [PEM.Block]) -> [Data] {
    blocks.filter { $0.isLabelled("CERTIFICATE") }.map(\.content)
  }

  private static func check(_ data: Data, _ kind: Kind) -> String? {
    if kind == .pkcs12 { return DER.isSequence(data) ? nil : "is not PKCS #12" }
    let (blocks, problem) = PEM.blocks(in: data)
    if let problem { return problem }
    if blocks.isEmpty, isPath(data) { return "is a path instead of the file's contents: pass URL(filePath:)" }
    guard case .key(let hasPassword) = kind else {
      let certificates = certificates(in: blocks)
      if certificates.isEmpty { return "contains no certificate" }
      return certificates.allSatisfy(DER.isSequence) ? nil : "contains a malformed certificate"
    }
    // Only the first key is used.
    guard let key = blocks.first(where: { $0.isLabelled("PRIVATE KEY") }) else { return "contains no private key" }
    // Without a password, OpenSSL would ask for it on the terminal.
    if key.isEncrypted { return hasPassword ? nil : "contains an encrypted key: pass its password" }
    return DER.isSequence(key.content) ? nil : "contains a malformed private key"
  }

  /// Whether a text looks like the path of a file.
  private static func isPath(_ data: Data) -> Bool {
    guard data.count < 4_096, let text = String(validating: data, as: UTF8.self) else { return false }
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count == 1, let line = words.first else { return false }
    return line.hasPrefix("/") || line.hasPrefix("./") || line.hasPrefix("~/")
      || [".pem", ".crt", ".cer", ".key"].contains { line.hasSuffix($0) }
  }

  private struct Failure: Error {
    let message: String
    var isTransient = false
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
