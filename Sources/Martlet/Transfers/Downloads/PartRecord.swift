import MartletBase
import Foundation

/// What is known of an unfinished download: the small file beside its part file.
struct PartRecord: Codable, Equatable, Sendable {
  static let version = 2

  var version = PartRecord.version
  /// The whole URL that was asked for; it may hold secrets, so the file is its owner's only.
  var url: String
  /// What vouches for its bytes (``NetworkPartition/authority``).
  var partition: String
  /// What the finished file will be called, if that is known.
  var name: String?
  /// A strong entity tag (RFC 9110 §8.8.3).
  var entityTag: String?
  /// `Last-Modified`, if it may be taken for a strong validator (RFC 9110 §8.8.2.2).
  var lastModified: String?
  /// The number of bytes of the whole, if the server has said it.
  var length: Int64?
  var written = ByteSpans()
  /// What was written and is on the disk, so that a machine that stops suddenly does not lose it.
  var synced = ByteSpans()
  /// The run of the machine in which `written` was true.
  var boot: String?
  /// Whether bytes were written one after the other, so that the size of the file says how many there are.
  var isSequential = true
  /// Whether the whole was not what its checksum says: nothing of it is used again.
  var isRejected = false

  init(url: String, partition: String = "") {
    self.url = url
    self.partition = partition
  }

  /// What a request for a part is to hold on to, or `nil` if the server gave nothing that is good enough.
  var validator: String? { entityTag ?? lastModified }

  /// The bytes of the file that are there for certain, by its size and the machine's present run.
  func reliable(size: Int64, boot now: String?) -> ByteSpans {
    guard !isRejected, validator != nil else { return ByteSpans() }
    var spans: ByteSpans
    if let boot, boot == now {
      // What was written before the process ended is in the file, however it ended.
      spans = isSequential ? ByteSpans(upTo: size) : written.cut(at: size)
    } else {
      spans = synced.cut(at: size)
    }
    if let length { spans = spans.cut(at: length) }
    return spans
  }

  /// What there is in the place of a record.
  enum Finding {
    case missing
    /// Of another version, or nothing that a download has written.
    case damaged
    case found(PartRecord)
  }

  /// Reads a record; it is an error if it is no file of one's own.
  static func read(_ path: String) throws(HTTPError) -> Finding {
    guard let data = try PrivateFile.read(path, limit: 1 << 20) else { return .missing }
    guard let record = try? JSONDecoder().decode(PartRecord.self, from: data), record.version == version,
      record.length ?? 0 >= 0
    else { return .damaged }
    return .found(record)
  }

  /// Writes it, so that the end of the process does not undo it.
  func save(to path: String) throws(HTTPError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { throw HTTPError(.file, "the record of a download is unwritable") }
    try PrivateFile.replace(path, with: data, by: path + ".new", isSynced: false)
  }

  /// Notes what a response says of the whole.
  mutating func describe(_ headers: HTTPHeaders, length: Int64?, isResumable: Bool) {
    self.length = length
    entityTag = isResumable ? Validators.strongTag(headers) : nil
    lastModified = isResumable ? Validators.strongDate(headers) : nil
  }
}

/// What tells one version of a representation from another (RFC 9110 §8.8).
enum Validators {
  /// The entity tag, if it says that the bytes are the same.
  static func strongTag(_ headers: HTTPHeaders) -> String? {
    guard let tag = headers["ETag"].map({ String(FieldSyntax.trimmed($0)) }), EntityTag.isStrong(tag) else {
      return nil
    }
    let bytes = tag.utf8
    guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return nil }
    return bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? tag : nil
  }

  /// `Last-Modified`, if the response was made later: the file has not changed twice in that second.
  static func strongDate(_ headers: HTTPHeaders) -> String? {
    guard let text = headers["Last-Modified"], let modified = HTTPDate(text),
      let date = headers["Date"].flatMap({ HTTPDate($0) }),
      modified < date
    else { return nil }
    return String(FieldSyntax.trimmed(text))
  }
}
