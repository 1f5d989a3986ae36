import MartletBase

/// The binary format of records.
///
/// A complete record is a ``CacheRecordHeader``, the head and the body. In the head, a text is its length in 4 bytes and
/// its UTF-8, and a list is its count in 4 bytes and its members:
///
///     text        the URL of the key
///     text        the detail of the key
///     1           flags: 1 an index, 2 an entry
///     index       8 the generation; the list of selections, each a text with the names between commas
///     entry  8    the status
///            8 8  the times of request and response, in seconds since 2001 as floating point
///            8    the length of the body
///            8    the lifetime in seconds as floating point; not a number for none
///            text the reason phrase
///            list of the selectors, each two texts
///            list of the fields, each 4 and 4 bytes of length, the name and the value
///
/// Decoding is safe for arbitrary bytes: each length is checked against the available bytes before it is used.
enum CacheRecordCoding {
  // MARK: Whole records

  /// Encodes a record with its key; `nil` if the body is in a file, or the head exceeds its maximum length.
  static func encode(_ record: CacheRecord, _ key: CacheKey) -> Data? {
    guard case .data(let body) = record.body else { return nil }
    let head = head(record, key)
    guard head.count <= CacheRecordHeader.maximumHeadLength else { return nil }
    let header = CacheRecordHeader(
      head: head, bodyLength: Int64(body.count), bodyChecksum: body.withUnsafeBytes { RecordChecksum.of($0) })
    return Data(header.bytes + head) + body
  }

  /// Decodes the output of ``encode(_:_:)``; `nil` for damaged or foreign data.
  static func decode(_ data: Data) -> (key: CacheKey, record: CacheRecord)? {
    let found = decode(start: data, size: Int64(data.count)) { Data(data.dropFirst($0).prefix($1)) }
    guard let found, found.header.bodyFile == 0 else { return nil }
    return (found.key, found.record)
  }

  /// Decodes a record from its first bytes and a closure that reads the others; `nil` for damaged or foreign data.
  ///
  /// A body that follows the head is read only if it is needed, and must not exceed the maximum length.
  static func decode<Failure: Error>(
    start: Data, size: Int64, maximumBodyLength: Int64 = .max, needsBody: Bool = true,
    _ read: (_ offset: Int, _ count: Int) throws(Failure) -> Data
  ) throws(Failure) -> DiskRecord? {
    guard let header = start.withUnsafeBytes({ CacheRecordHeader($0) }), header.recordLength == size,
      header.bodyFile != 0 || header.bodyLength <= maximumBodyLength,
      var found = decodeHead(try read(CacheRecordHeader.length, header.headLength), header)
    else { return nil }
    if needsBody && header.bodyFile == 0 {
      let body = try read(CacheRecordHeader.length + header.headLength, Int(header.bodyLength))
      guard body.count == header.bodyLength, body.withUnsafeBytes({ RecordChecksum.of($0) }) == header.bodyChecksum
      else { return nil }
      found.record.body = .data(body)
    }
    return DiskRecord(header: header, key: found.key, record: found.record)
  }

  // MARK: Heads

  /// Encodes the head, which precedes the body.
  static func head(_ record: CacheRecord, _ key: CacheKey) -> [UInt8] {
    var writer = RecordWriter()
    writer.reserve(1024)
    writer.text(key.url)
    writer.text(key.detail)
    writer.number((record.index == nil ? 0 : 1) + (record.entry == nil ? 0 : 2) as UInt8)
    if let index = record.index {
      writer.number(index.generation)
      writer.length(index.selections.count)
      for names in index.selections { writer.text(names.joined(separator: ",")) }
    }
    if let entry = record.entry { write(entry, to: &writer) }
    return writer.bytes
  }

  /// Decodes a head into the key and the record without its body; `nil` if the head does not match the header.
  static func decodeHead(
    _ head: some ContiguousBytes, _ header: CacheRecordHeader
  ) -> (key: CacheKey, record: CacheRecord)? {
    head.withUnsafeBytes { bytes in
      guard bytes.count == header.headLength, RecordChecksum.of(bytes) == header.headChecksum else { return nil }
      var reader = RecordReader(bytes)
      do throws(RecordReader.Malformed) {
        let key = CacheKey(url: try reader.text(), detail: try reader.text())
        let parts: UInt8 = try reader.number()
        guard parts <= 3 else { return nil }
        var record = CacheRecord()
        if parts & 1 != 0 { record.index = try index(&reader) }
        if parts & 2 != 0 { record.entry = try entry(&reader) }
        return reader.remaining == 0 ? (key, record) : nil
      } catch {
        return nil
      }
    }
  }

  private static func index(_ reader: inout RecordReader) throws(RecordReader.Malformed) -> CacheIndex {
    var index = CacheIndex(generation: try reader.number())
    for _ in 0..<(try reader.count(ofAtLeast: 4)) {
      index.selections.append(try reader.text().split(separator: ",").map(String.init))
    }
    return index
  }

  private static func write(_ entry: CacheEntry, to writer: inout RecordWriter) {
    writer.number(Int64(entry.status))
    writer.double(entry.requestTime.timeIntervalSinceReferenceDate)
    writer.double(entry.responseTime.timeIntervalSinceReferenceDate)
    writer.number(entry.bodyLength)
    writer.double(entry.programLifetime ?? .nan)
    writer.text(entry.reasonPhrase)
    writer.length(entry.selectors.count)
    for (name, value) in entry.selectors.ordered(by: { $0.key < $1.key }) {
      writer.text(name)
      writer.text(value)
    }
    writer.length(entry.headers.count)
    for field in entry.headers { writer.field(field) }
  }

  private static func entry(_ reader: inout RecordReader) throws(RecordReader.Malformed) -> CacheEntry {
    guard let status = Int(exactly: try reader.number() as Int64) else { throw RecordReader.Malformed() }
    let times = (try reader.double(), try reader.double())
    let (bodyLength, lifetime): (Int64, Double) = (try reader.number(), try reader.double())
    var entry = CacheEntry(
      status: status, reasonPhrase: try reader.text(), headers: [:], selectors: [:],
      requestTime: Date(timeIntervalSinceReferenceDate: times.0),
      responseTime: Date(timeIntervalSinceReferenceDate: times.1), bodyLength: bodyLength,
      programLifetime: lifetime.isNaN ? nil : lifetime)
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
    var places: [ReceivedFields.FieldRange] = []
    places.reserveCapacity(count)
    for _ in 0..<count {
      let (nameLength, valueLength) = (Int(try reader.number() as UInt32), Int(try reader.number() as UInt32))
      let name = reader.position - start
      _ = try reader.bytes(nameLength + valueLength)
      // The offsets fit into `Int32`, because the length of a head is bounded.
      let (value, end) = (Int32(name + nameLength), Int32(reader.position - start))
      places.append(ReceivedFields.FieldRange(nameStart: Int32(name), nameEnd: value, valueStart: value, valueEnd: end))
    }
    return HTTPHeaders(ReceivedFields(octets, places))
  }
}
