import MartletBase
import Foundation

/// Whether a file is what it should be, by what a caller and a server say of its SHA-256.
struct DownloadCheck: Sendable {
  /// What was said, and by whom.
  private var expectations: [(source: String, digits: String)] = []

  /// Gathers what was said: by the caller, and by `Repr-Digest` and `Content-Digest` (RFC 9530), as in `sha-256=:…:`.
  init(_ checksum: DownloadOptions.Checksum?, digests: [String]) {
    if let checksum { expectations.append(("the checksum", checksum.digits)) }
    for digest in digests.lazy.compactMap(Self.sha256) { expectations.append(("the server's digest field", digest)) }
  }

  var isEmpty: Bool { expectations.isEmpty }

  /// Reads a file and compares (``HTTPError/Kind/checksumMismatch``); it takes its time.
  func run(_ part: PartFile, length: Int64) throws(HTTPError) {
    guard !isEmpty else { return }
    let hash = SHA256Stream()
    var offset: Int64 = 0
    while offset < length {
      let piece = try part.read(at: offset, count: 1 << 20)
      guard !piece.isEmpty else { throw HTTPError(.file, "the part file got shorter while it was read") }
      hash.update(piece)
      offset += Int64(piece.count)
    }
    let found = hash.digits()
    for (source, digits) in expectations where digits != found {
      throw HTTPError(
        .checksumMismatch, "the SHA-256 of the file is \(found), and by \(source) it should be \(digits)",
        phase: .receiving)
    }
  }

  /// The digits of `sha-256` in a dictionary of byte sequences (RFC 8941 §3.2, §3.3.5); `nil` if it is not there, or
  /// malformed: a field that cannot be read says nothing.
  static func sha256(_ field: String) -> String? {
    for member in field.split(separator: ",") {
      let text = FieldSyntax.trimmed(member)
      guard let sign = text.firstIndex(of: "="), FieldSyntax.isSameName(text[..<sign], "sha-256") else { continue }
      let value = text[text.index(after: sign)...].prefix { $0 != ";" }
      guard value.utf8.count > 2, value.first == ":", value.last == ":",
        let bytes = Data(base64Encoded: String(value.dropFirst().dropLast())), bytes.count == 32
      else { continue }
      return SHA256Stream.text(bytes)
    }
    return nil
  }
}
