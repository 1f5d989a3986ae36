import Martlet
import MartletBase

/// A line of a journal: a change and, for a submission, the contents of the request.
///
///     ⏎ checksum ␣ change as JSON ⇥ contents as JSON ⏎
///
/// The checksum, in hexadecimal digits, covers the text after the space. JSON escapes line feeds, so the contents of a
/// request cannot imitate a line. A line feed precedes and ends each line, so a damaged byte damages only one line.
struct OutboxLine: Sendable {
  /// Larger than any request with its fields and a small body.
  static let maximumBytes = 16 << 20

  /// The change without a position; `nil` if a newer version has written it.
  let change: OutboxChange?
  /// The change, a tab and the contents.
  private let text: Data
  /// The contents; empty without contents.
  private let contents: Data

  init(_ change: OutboxChange, _ contents: OutboxContents? = nil) throws(HTTPError) {
    var encoded = Data()
    if let contents { encoded = try Self.encode(contents) }
    try self.init(change, encoded)
  }

  private init(_ change: OutboxChange, _ contents: Data) throws(HTTPError) {
    (self.change, self.contents) = (change, contents)
    text = try Self.encode(change) + [0x09] + contents
  }

  /// Parses a line without its line feeds; `nil` if it is damaged.
  init?(_ line: Data) {
    guard let space = line.firstIndex(of: 0x20), let tab = line[space...].firstIndex(of: 0x09) else { return nil }
    text = Data(line[(space + 1)...])
    guard UInt64(String(decoding: line[..<space], as: UTF8.self), radix: 16) == Self.checksum(text) else { return nil }
    (change, contents) = (Self.decode(line[(space + 1)..<tab]), Data(line[(tab + 1)...]))
  }

  var bytes: Data { Data("\n\(String(Self.checksum(text), radix: 16)) ".utf8) + text + [0x0A] }

  /// The bytes that the request needs on the disk, with its body file.
  var storedBytes: Int64 {
    if case .submitted(let entry) = change { Int64(bytes.count) + entry.bytes } else { Int64(bytes.count) }
  }

  /// The line with another change, and the same contents.
  func replacing(_ change: OutboxChange) throws(HTTPError) -> OutboxLine { try OutboxLine(change, contents) }

  /// The contents of a submitted request; `nil` for other changes.
  var request: OutboxContents? { Self.decode(contents) }

  private static func checksum(_ text: Data) -> UInt64 { text.withUnsafeBytes { RecordChecksum.of($0) } }

  private static func encode(_ value: some Encodable) throws(HTTPError) -> Data {
    let encoder = JSONEncoder()
    encoder.nonConformingFloatEncodingStrategy = floats
    do {
      return try encoder.encode(value)
    } catch {
      throw HTTPError(.fileFailed, "a record of the outbox cannot be encoded", underlying: error)
    }
  }

  private static func decode<Value: Decodable>(_ json: Data) -> Value? {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return try? decoder.decode(Value.self, from: json)
  }

  /// The program's clock may return such dates.
  private static let floats = JSONEncoder.NonConformingFloatEncodingStrategy.convertToString(
    positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
}

/// The lines of a journal, read in blocks.
struct OutboxLines {
  private let file: OpenFile
  /// The offset of the next line.
  private var place: Int64
  /// The bytes after that offset that were already read.
  private var rest = Data()

  init(_ file: OpenFile, from place: Int64) { (self.file, self.place) = (file, place) }

  /// The next complete line that is not blank, with its line feeds in the span; `nil` at the end.
  mutating func next() throws(HTTPError) -> (line: Data, span: Range<Int64>)? {
    var searched = rest.startIndex
    while true {
      while let end = rest[searched...].firstIndex(of: 0x0A) {
        let line = rest[..<end]
        rest = rest[(end + 1)...]
        searched = rest.startIndex
        let start = place
        place += Int64(line.count) + 1
        if !line.isEmpty { return (line, max(start - 1, 0)..<place) }
      }
      // Without a line feed, so many bytes are damaged.
      if rest.count > OutboxLine.maximumBytes {
        place += Int64(rest.count)
        rest = Data()
      }
      rest = Data(rest)
      searched = rest.endIndex
      let block = try file.read(at: place + Int64(rest.count), count: 1 << 20)
      if block.isEmpty { return nil }
      rest += block
    }
  }
}
