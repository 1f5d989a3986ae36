import MartletBase

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
  /// A weak entity tag, which only shows a change.
  var weakTag: String?
  /// `Last-Modified`, if it counts as a strong validator (RFC 9110 §8.8.2.2).
  var lastModified: String?
  /// The content codings of the bytes; `nil` without any.
  var coding: String?
  /// The server's SHA-256 of the bytes of the whole file, in hexadecimal digits.
  var digest: String?
  /// Whether the bytes came from another URL; `nil` if not.
  var isFromOtherURL: Bool?
  /// The server of a cluster whose bytes these are; `nil` without one, and if all servers are one service.
  var server: String?
  /// The number of bytes of the whole file, if the server has sent it.
  var length: Int64?
  var written = ByteSpans()
  /// The written bytes that are on the disk, which a sudden stop of the machine does not lose.
  var synced = ByteSpans()
  /// The boot of the machine for which `written` is valid.
  var boot: String?
  /// Whether bytes were written in sequence, so the file size shows how many there are.
  var isSequential = true
  /// Whether the complete file failed its checksum; none of it is reused.
  var isRejected = false

  /// The validator for a request for a part, or `nil` if the server sent no strong one.
  var validator: String? { entityTag ?? lastModified }

  /// The version of the file that the bytes belong to.
  var knownVersion: RepresentationVersion {
    RepresentationVersion(
      entityTag: entityTag ?? weakTag, lastModified: lastModified, size: length, coding: coding ?? "", digest: digest)
  }

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
    /// The record is of another version, or was not written by a download.
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

  /// Writes the record, so it survives the end of the process.
  func save(to path: String) throws(HTTPError) {
    try PrivateFile.replace(path, withJSON: self, isPretty: false, isSynced: false)
  }

  /// Describes a new version of the file, from the head of its first response.
  mutating func describe(_ headers: HTTPHeaders, length: Int64?, isResumable: Bool) {
    let tag = isResumable ? Validators.tag(headers) : nil
    let isStrong = tag.map { EntityTag.isStrong($0) } ?? false
    let coding = RepresentationVersion.coding(headers)
    self.length = length
    entityTag = isStrong ? tag : nil
    weakTag = isStrong ? nil : tag
    lastModified = isResumable ? Validators.strongDate(headers) : nil
    self.coding = coding.isEmpty ? nil : coding
    digest = nil
    isFromOtherURL = nil
    server = nil
  }
}
