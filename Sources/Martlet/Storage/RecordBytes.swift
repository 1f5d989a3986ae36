/// Decodes the output of ``RecordWriter``; safe for arbitrary bytes.
struct RecordReader {
  /// The bytes are not a record.
  struct Malformed: Error {}

  private let source: UnsafeRawBufferPointer
  private(set) var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { source = bytes }

  var remaining: Int { source.count - position }

  /// A little-endian number with the width of its type.
  mutating func number<Number: FixedWidthInteger>() throws(Malformed) -> Number {
    guard remaining >= MemoryLayout<Number>.size else { throw Malformed() }
    defer { position += MemoryLayout<Number>.size }
    return Number(littleEndian: source.loadUnaligned(fromByteOffset: position, as: Number.self))
  }

  mutating func double() throws(Malformed) -> Double { Double(bitPattern: try number()) }

  /// The number of following items, each with a minimum size.
  ///
  /// An impossible count is rejected before memory is allocated for it.
  mutating func count(ofAtLeast size: Int) throws(Malformed) -> Int {
    let count = Int(try number() as UInt32)
    guard count <= remaining / size else { throw Malformed() }
    return count
  }

  /// The next bytes, without copying them.
  mutating func bytes(_ count: Int) throws(Malformed) -> UnsafeRawBufferPointer {
    guard count >= 0, count <= remaining else { throw Malformed() }
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: source[position..<(position + count)])
  }

  var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: source[position...]) }

  mutating func text() throws(Malformed) -> String {
    String(decoding: try bytes(Int(try number() as UInt32)), as: UTF8.self)
  }
}

/// Encodes numbers and text.
struct RecordWriter {
  private(set) var bytes: [UInt8] = []

  mutating func number(_ number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func double(_ double: Double) { number(double.bitPattern) }

  /// Writes the length of a text, or the number of items.
  ///
  /// The number is clamped: a record with more exceeds the maximum size, and is rejected.
  mutating func length(_ length: Int) { number(UInt32(clamping: length)) }

  mutating func text(_ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      length(utf8.count)
      bytes.append(contentsOf: utf8)
    }
  }

  /// Writes both lengths of a header field, its name, and the octets of its value.
  mutating func field(_ field: HTTPHeaders.Field) {
    let value = field.octets
    length(field.name.utf8.count)
    length(value.count)
    bytes.append(contentsOf: field.name.utf8)
    bytes.append(contentsOf: value)
  }

  mutating func reserve(_ count: Int) { bytes.reserveCapacity(count) }

  mutating func append(_ more: [UInt8]) { bytes += more }
}
