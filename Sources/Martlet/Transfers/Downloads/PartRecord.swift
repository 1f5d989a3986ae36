import MartletBase
import Foundation

/// The record of an unfinished download, stored beside its part file.
struct PartRecord: Codable, Equatable, Sendable {
  static let version = 2

  var version = PartRecord.version
  /// The complete URL of the request; it may contain secrets, so the record is private.
  var url: String
  /// The partition that the bytes belong to (``NetworkPartition/authority``).
  var partition = ""
  /// The name of the finished file, if it is known.
  var name: String?
  /// A strong entity tag (RFC 9110 §8.8.3).
  var entityTag: String?
  /// `Last-Modified`, if it counts as a strong validator (RFC 9110 §8.8.2.2).
  var lastModified: String?
  /// The number of bytes of the whole file, if the server has sent it.
  var length: Int64?
  var written = ByteSpans()
  /// The written bytes that are on the disk, which a sudden stop of the machine does not lose.
  var synced = ByteSpans()
  /// The boot of the machine for which `written` is valid.
  var boot: String?
  /// Whether bytes were written in sequence, so that the file size shows how many there are.
  var isSequential = true
  /// Whether the complete file failed its checksum; none of it is reused.
  var isRejected = false

  /// The validator for a request for a part, or `nil` if the server sent no strong one.
  var validator: String? { entityTag ?? lastModified }

  /// The bytes that certainly exist, by the file size and the current boot.
  func reliable(size: Int64, boot now: String?) -> ByteSpans {
    guard !isRejected, validator != nil else { return ByteSpans() }
    var spans: ByteSpans
    if let boot, boot == now {
      // Bytes written before the process ended are in the file, however the process ended.
      spans = isSequential ? ByteSpans(upTo: size) : written.cut(at: size)
    } else {
      spans = synced.cut(at: size)
    }
    if let length { spans = spans.cut(at: length) }
    return spans
  }

  enum Finding {
    case missing
    /// Of another version, or not written by a download.
    case damaged
    case found(PartRecord)
  }

  /// Reads a record; throws if the file is not a regular file of this user.
  static func read(_ path: String) throws(HTTPError) -> Finding {
    guard let data = try PrivateFile.read(path, limit: 1 << 20) else { return .missing }
    guard let record = try? JSONDecoder().decode(PartRecord.self, from: data), record.version == version,
      record.length ?? 0 >= 0
    else { return .damaged }
    return .found(record)
  }

  /// Writes the record, so that it survives the end of the process.
  func save(to path: String) throws(HTTPError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { throw HTTPError(.file, "the record of a download is unwritable") }
    try PrivateFile.replace(path, with: data, by: path + ".new", isSynced: false)
  }

  mutating func describe(_ headers: HTTPHeaders, length: Int64?, isResumable: Bool) {
    self.length = length
    entityTag = isResumable ? Validators.strongTag(headers) : nil
    lastModified = isResumable ? Validators.strongDate(headers) : nil
  }
}

/// The validators of a representation (RFC 9110 §8.8).
enum Validators {
  /// The entity tag as ``WireText``, if it is strong: equal tags then mean equal bytes (RFC 9110 §8.8.3).
  static func strongTag(_ headers: HTTPHeaders) -> String? {
    guard let tag = headers[wire: "ETag"].map({ String(FieldSyntax.trimmed($0)) }) else { return nil }
    let isQuoted = tag.utf8.count >= 2 && tag.utf8.first == 0x22 && tag.utf8.last == 0x22
    return isQuoted && tag.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } ? tag : nil
  }

  /// `Last-Modified`, if `Date` is later: the file has not changed twice in that second.
  static func strongDate(_ headers: HTTPHeaders) -> String? {
    guard let text = headers["Last-Modified"], let modified = HTTPDate(text),
      let date = headers["Date"].flatMap({ HTTPDate($0) }),
      modified < date
    else { return nil }
    return String(FieldSyntax.trimmed(text))
  }
}
