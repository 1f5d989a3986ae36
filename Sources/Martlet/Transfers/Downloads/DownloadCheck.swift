import MartletBase
import Foundation

/// Verifies a file by the SHA-256 digests that caller and server gave.
struct DownloadCheck: Sendable {
  private var expectations: [(source: String, digits: String)] = []

  /// The digests come from the caller, and from `Repr-Digest` and `Content-Digest` (RFC 9530), as in `sha-256=:…:`.
  init(_ checksum: DownloadOptions.Checksum?, digests: [String]) {
    if let checksum { expectations.append(("the checksum", checksum.digits)) }
    for digest in digests.lazy.compactMap(Self.sha256) { expectations.append(("the server's digest field", digest)) }
  }

  var isEmpty: Bool { expectations.isEmpty }

  /// Reads a file and verifies it (``HTTPError/Kind/checksumMismatch``); may take long.
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

  /// The digits of `sha-256` in a dictionary of byte sequences (RFC 8941 §3.2, §3.3.5).
  ///
  /// `nil` if it is missing or malformed: an unreadable field is ignored.
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
