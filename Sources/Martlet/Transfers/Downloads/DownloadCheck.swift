import Foundation

/// Verifies a file by the SHA-256 digests that caller and server gave.
struct DownloadCheck: Sendable {
  private var expectations: [(source: String, digits: String)] = []

  /// The digests come from the caller, and from `Repr-Digest` or `Content-Digest` (RFC 9530).
  init(_ checksum: DownloadOptions.Checksum?, digest: String?) {
    if let checksum { expectations.append(("the checksum", checksum.digits)) }
    if let digest { expectations.append(("the server's digest field", digest)) }
  }

  var isEmpty: Bool { expectations.isEmpty }

  /// Reads a file and verifies it (``HTTPError/Kind/checksumMismatch``); may take long.
  func run(_ part: PartFile, length: Int64) throws(HTTPError) {
    guard !isEmpty else { return }
    let hash = SHA256Stream()
    var offset: Int64 = 0
    while offset < length {
      let piece = try part.read(at: offset, count: 1 << 20)
      guard !piece.isEmpty else { throw HTTPError(.fileFailed, "the part file got shorter while it was read") }
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
}
