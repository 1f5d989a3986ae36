import MartletBase
import Foundation

/// The binary format of records.
///
/// A complete record is a ``CacheRecordHeader``, the head and the body. In the head, a text is its length in 4 bytes and
/// its UTF-8, and a list is its count in 4 bytes and its members:
///
///     text        the URL of the key
///     text        the detail of the key
///     1           flags: 1 an index, 2 an entry
///     index       8 the generation; the list of selections, each a list of texts
///     entry  1    flags: 1 a URL (by default that of the key), 2 an identity, 4 a part, 8 the length of the whole
///                 representation, 16 a lifetime
///            8    the status
///            8 8  the times of request and response, in seconds since 2001 as floating point
///            8    the length of the body
///            text the reason phrase, then by flag: the URL, the identity, 8 8 the part's first and last byte,
///                 8 the length of the whole representation, 8 the lifetime
///            list of the selectors, each two texts
///            list of the fields, each 4 and 4 bytes of length, the name and the value
///
/// Decoding is safe for arbitrary bytes: each length is checked against the available bytes before it is used.
enum CacheRecordCoding {
  private struct Parts: OptionSet {
    var rawValue: UInt8

    static let index = Parts(rawValue: 1)
    static let entry = Parts(rawValue: 2)
  }

  private struct EntryParts: OptionSet {
    var rawValue: UInt8

    static let url = EntryParts(rawValue: 1)
    static let identity = EntryParts(rawValue: 2)
    static let part = EntryParts(rawValue: 4)
    static let complete = EntryParts(rawValue: 8)
    static let lifetime = EntryParts(rawValue: 16)
    static let all = EntryParts(rawValue: 31)
  }

  // MARK: Whole records

  /// Encodes a record with its key; `nil` if the body is in a file, or the head exceeds its maximum length.
  static func encode(_ record: CacheRecord, _ key: CacheKey) -> Data? {
    guard case .data(let body) = record.body else { return nil }
    let head = head(record, key)
    guard head.count <= CacheRecordHeader.maximumHeadLength else { return nil }
    let header = CacheRecordHeader(
      head: head, bodyLength: Int64(body.count), bodyChecksum: body.withUnsafeBytes { RecordChecksum.of($0) })
    var data = Data(capacity: CacheRecordHeader.length + head.count + body.count)
    data.append(contentsOf: header.bytes)
    data.append(contentsOf: head)
    data.append(body)
    return data
  }

  /// Decodes the output of ``encode(_:_:)``; `nil` for damaged or foreign data.
  static func decode(_ data: Data) -> (key: CacheKey, record: CacheRecord)? {
    data.withUnsafeBytes { bytes in
      guard let header = CacheRecordHeader(bytes), header.bodyFile == 0, header.recordLength == Int64(bytes.count)
      else { return nil }
      let split = CacheRecordHeader.length + header.headLength
      let body = UnsafeRawBufferPointer(rebasing: bytes[split...])
      guard RecordChecksum.of(body) == header.bodyChecksum,
        var found = decodeHead(UnsafeRawBufferPointer(rebasing: bytes[CacheRecordHeader.length..<split]), header)
      else { return nil }
      found.record.body = .data(Data(body))
      return found
    }
  }

  // MARK: Heads

  /// Encodes the head, which precedes the body.
  static func head(_ record: CacheRecord, _ key: CacheKey) -> [UInt8] {
    var writer = RecordWriter()
    writer.reserve(1024)
    writer.text(key.url)
    writer.text(key.detail)
    var parts: Parts = []
    if record.index != nil { parts.insert(.index) }
    if record.entry != nil { parts.insert(.entry) }
    writer.number(parts.rawValue)
    if let index = record.index { write(index, to: &writer) }
    if let entry = record.entry { write(entry, key, to: &writer) }
    return writer.bytes
  }

  /// Decodes a head into the key and the record without its body; `nil` if the head does not match the header.
  static func decodeHead(
    _ bytes: UnsafeRawBufferPointer, _ header: CacheRecordHeader
  ) -> (key: CacheKey, record: CacheRecord)? {
    guard bytes.count == header.headLength, RecordChecksum.of(bytes) == header.headChecksum else { return nil }
    var reader = RecordReader(bytes)
    do throws(RecordReader.Malformed) {
      let key = CacheKey(url: try reader.text(), detail: try reader.text())
      let parts = Parts(rawValue: try reader.number())
      guard parts.isSubset(of: [.index, .entry]) else { return nil }
      var record = CacheRecord()
      if parts.contains(.index) { record.index = try index(&reader) }
      if parts.contains(.entry) { record.entry = try entry(&reader, key) }
      return reader.remaining == 0 ? (key, record) : nil
    } catch {
      return nil
    }
  }

  private static func write(_ index: CacheIndex, to writer: inout RecordWriter) {
    writer.number(index.generation)
    writer.length(index.selections.count)
    for names in index.selections {
      writer.length(names.count)
      for name in names { writer.text(name) }
    }
  }

  private static func index(_ reader: inout RecordReader) throws(RecordReader.Malformed) -> CacheIndex {
    var index = CacheIndex(generation: try reader.number())
    for _ in 0..<(try reader.count(ofAtLeast: 4)) {
      var names: [String] = []
      for _ in 0..<(try reader.count(ofAtLeast: 4)) { names.append(try reader.text()) }
      index.selections.append(names)
    }
    return index
  }

  private static func write(_ entry: CacheEntry, _ key: CacheKey, to writer: inout RecordWriter) {
    var parts: EntryParts = []
    // Compare bytes: strings with different bytes may be equal.
    if !entry.url.utf8.elementsEqual(key.url.utf8) { parts.insert(.url) }
    if entry.identity != nil { parts.insert(.identity) }
    if entry.part != nil { parts.insert(.part) }
    if entry.part?.complete != nil { parts.insert(.complete) }
    if entry.programLifetime != nil { parts.insert(.lifetime) }
    writer.number(parts.rawValue)
    writer.number(Int64(entry.status))
    writer.double(entry.requestTime.timeIntervalSinceReferenceDate)
    writer.double(entry.responseTime.timeIntervalSinceReferenceDate)
    writer.number(entry.bodyLength)
    writer.text(entry.reasonPhrase)
    if parts.contains(.url) { writer.text(entry.url) }
    if let identity = entry.identity { writer.text(identity) }
    if let part = entry.part {
      writer.number(part.first)
      writer.number(part.last)
      if let complete = part.complete { writer.number(complete) }
    }
    if let lifetime = entry.programLifetime { writer.double(lifetime) }
    writer.length(entry.selectors.count)
    for (name, value) in entry.selectors.sorted(by: { $0.key < $1.key }) {
      writer.text(name)
      writer.text(value)
    }
    writer.length(entry.headers.count)
    for field in entry.headers { writer.field(field) }
  }

  private static func entry(
    _ reader: inout RecordReader, _ key: CacheKey
  ) throws(RecordReader.Malformed) -> CacheEntry {
    let parts = EntryParts(rawValue: try reader.number())
    guard parts.isSubset(of: .all), let status = Int(exactly: try reader.number() as Int64) else {
      throw RecordReader.Malformed()
    }
    let requestTime = Date(timeIntervalSinceReferenceDate: try reader.double())
    let responseTime = Date(timeIntervalSinceReferenceDate: try reader.double())
    let bodyLength: Int64 = try reader.number()
    let reasonPhrase = try reader.text()
    var entry = CacheEntry(
      url: parts.contains(.url) ? try reader.text() : key.url, status: status, reasonPhrase: reasonPhrase, headers: [:],
      selectors: [:], identity: nil, requestTime: requestTime, responseTime: responseTime, bodyLength: bodyLength)
    if parts.contains(.identity) { entry.identity = try reader.text() }
    if parts.contains(.part) {
      entry.part = CacheEntry.Part(first: try reader.number(), last: try reader.number())
      if parts.contains(.complete) { entry.part?.complete = try reader.number() }
      // The bounds that `Content-Range` has, so that arithmetic cannot overflow.
      guard let part = entry.part, 0 <= part.first, part.first <= part.last, part.last < part.complete ?? .max else {
        throw RecordReader.Malformed()
      }
    }
    if parts.contains(.lifetime) { entry.programLifetime = try reader.double() }
    for _ in 0..<(try reader.count(ofAtLeast: 8)) {
      let name = try reader.text()
      entry.selectors[name] = try reader.text()
    }
    entry.headers = try fields(&reader)
    return entry
  }

  /// Decodes the fields lazily: they become strings when they are read.
  private static func fields(_ reader: inout RecordReader) throws(RecordReader.Malformed) -> HTTPHeaders {
    let count = try reader.count(ofAtLeast: 8)
    guard count > 0 else { return [:] }
    let start = reader.position
    let octets = [UInt8](reader.rest)
    var places: [ReceivedFields.Place] = []
    places.reserveCapacity(count)
    for _ in 0..<count {
      let (name, value) = (Int(try reader.number() as UInt32), Int(try reader.number() as UInt32))
      let nameStart = reader.position - start
      _ = try reader.bytes(name)
      _ = try reader.bytes(value)
      // The offsets fit into `Int32`, because the length of a head is bounded.
      places.append(
        ReceivedFields.Place(
          nameStart: Int32(nameStart), nameEnd: Int32(nameStart + name), valueStart: Int32(nameStart + name),
          valueEnd: Int32(nameStart + name + value)))
    }
    return HTTPHeaders(ReceivedFields(octets, places))
  }
}
