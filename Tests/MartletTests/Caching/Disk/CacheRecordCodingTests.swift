import Foundation
import MartletBase
import TestSupport
import Testing

@testable import Martlet

@Suite struct CacheRecordCodingTests {
  private static let key = CacheKey.sample("a")

  @Test func `encoding and decoding preserve a record`() throws {
    let found = try #require(CacheRecordCoding.encode(.sample(), Self.key).flatMap { CacheRecordCoding.decode($0) })

    #expect(found.key == Self.key)
    #expect(found.record.index == CacheRecord.sample().index)
    #expect(found.record.entry == CacheRecord.sample().entry)
    #expect(found.record.entry?.headers.map(\.name) == ["ETag", "Vary", "X-Text", "vary", ""])
    #expect(found.record.entry?.headers["x-text"] == "äöü 😀")
    #expect(found.record.entry?.headers[all: "VARY"] == ["accept", ""])
    #expect(found.record.bodyBytes == Data("body".utf8))
  }

  @Test func `encoding and decoding preserve absent values`() throws {
    let entry = CacheEntry(
      status: -1, reasonPhrase: "", headers: [:], selectors: [:], requestTime: .distantPast,
      responseTime: .distantFuture, bodyLength: .min)
    let records = [
      CacheRecord(), CacheRecord(index: CacheIndex(generation: 0)), CacheRecord(entry: entry),
      CacheRecord(entry: entry, body: .data(Data(count: 70_000))),
    ]

    for record in records {
      let found = try #require(CacheRecordCoding.encode(record, Self.key).flatMap { CacheRecordCoding.decode($0) })

      #expect(found.record.index == record.index)
      #expect(found.record.entry == record.entry)
      #expect(found.record.bodyBytes == record.bodyBytes)
    }
  }

  @Test func `decodes a slice of larger data`() throws {
    let data = try #require(CacheRecordCoding.encode(.sample(), Self.key))
    let slice = (Data([1, 2, 3]) + data).dropFirst(3)

    #expect(CacheRecordCoding.decode(slice)?.key == Self.key)
  }

  @Test func `does not encode a record whose body is in a file`() throws {
    let folder = try ShelfFolder()
    let sink = try #require(try folder.shelf().makeSink())

    #expect(CacheRecordCoding.encode(CacheRecord(body: sink.finish()), Self.key) == nil)
  }

  /// Earlier versions have other contents.
  ///
  /// Version 1 does not record how a response was validated. Version 2 stored the digests of encoded bodies with
  /// decoded bodies. Version 3 has a different head.
  @Test(arguments: [1, 2, 3, 5] as [UInt8]) func `does not decode a record of another version`(version: UInt8) throws {
    var data = try #require(CacheRecordCoding.encode(.sample(), Self.key))
    #expect(data[8] == 4)
    data[8] = version
    let checksum = data.prefix(CacheRecordHeader.length - 8).withUnsafeBytes { RecordChecksum.of($0) }
    withUnsafeBytes(of: checksum.littleEndian) {
      data.replaceSubrange((CacheRecordHeader.length - 8)..<CacheRecordHeader.length, with: $0)
    }

    #expect(CacheRecordCoding.decode(data) == nil)
  }

  // MARK: Damage

  @Test func `does not decode truncated or extended records`() throws {
    let data = try #require(CacheRecordCoding.encode(.sample(), Self.key))

    for count in 0..<data.count { #expect(CacheRecordCoding.decode(data.prefix(count)) == nil, "\(count)") }
    #expect(CacheRecordCoding.decode(data + [0]) == nil)
    #expect(CacheRecordCoding.decode(data + data) == nil)
  }

  @Test func `detects any flipped bit`() throws {
    var data = try #require(CacheRecordCoding.encode(.sample(), Self.key))

    for bit in 0..<(data.count * 8) {
      data[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(CacheRecordCoding.decode(data) == nil, "bit \(bit)")
      data[bit / 8] ^= 1 << UInt8(bit % 8)
    }
    #expect(CacheRecordCoding.decode(data) != nil)
  }

  /// The checksums are correct in this test, so the whole head parser is reached.
  @Test func `decodes or rejects damaged heads without trapping`() throws {
    var random = SeededGenerator(seed: 5)
    let head = CacheRecordCoding.head(.sample(), Self.key)
    var read = 0

    for round in 0..<Stress.count(10_000, full: 20_000) {
      var bytes = head
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
        case 1: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 2: bytes.removeSubrange(place...)
        default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
        }
        if bytes.isEmpty { bytes = [UInt8](repeating: 0xFF, count: round % 64 + 1) }
      }
      let header = CacheRecordHeader(head: bytes, bodyLength: 0, bodyChecksum: 0)
      guard let found = bytes.withUnsafeBytes({ CacheRecordCoding.decodeHead($0, header) }) else { continue }
      read += 1
      let count = found.record.entry?.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } ?? 0
      // Bytes that are not UTF-8 become longer, at most threefold.
      #expect(count <= bytes.count * 3)
    }

    // Some heads must be rejected and some decoded.
    #expect((1..<20_000).contains(read))
  }

  @Test(arguments: [UInt32.max, 1 << 31, 1 << 24, 1000]) func `rejects an impossible count`(count: UInt32) {
    for place in [0, 1, 2] {
      var writer = RecordWriter()
      writer.text("")
      writer.text("")
      if place == 0 {
        writer.number(1 as UInt8)
        writer.number(0 as UInt64)
        writer.number(count)
      } else {
        writer.number(2 as UInt8)
        for _ in 0..<5 { writer.number(0 as UInt64) }
        writer.text("")
        if place == 2 { writer.length(0) }
        writer.number(count)
      }
      writer.append([1, 2, 3])
      let header = CacheRecordHeader(head: writer.bytes, bodyLength: 0, bodyChecksum: 0)

      #expect(writer.bytes.withUnsafeBytes { CacheRecordCoding.decodeHead($0, header) } == nil)
    }
  }

  @Test func `rejects out-of-range lengths`() throws {
    for (head, body) in [(16 << 20 + 1, Int64(0)), (0, -1), (0, .max), (0, .min), (0, .max / 2)] {
      var header = CacheRecordHeader(head: [], bodyLength: body, bodyChecksum: 0)
      header.headLength = head

      #expect(header.bytes.withUnsafeBytes { CacheRecordHeader($0) } == nil, "\(head) \(body)")
    }
  }

  // MARK: Checksum

  @Test func `the checksum does not depend on how the bytes are split`() {
    var random = SeededGenerator(seed: 1)
    let bytes = (0..<300).map { _ in UInt8.random(in: 0...255, using: &random) }
    let whole = bytes.withUnsafeBytes { RecordChecksum.of($0) }

    for _ in 0..<500 {
      var sum = RecordChecksum()
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Int.random(in: 0...min(rest.count, 50), using: &random)
        Array(rest.prefix(count)).withUnsafeBytes { sum.update($0) }
        rest = rest.dropFirst(count)
      }
      #expect(sum.value == whole)
    }
  }

  @Test func `checksums of zeros differ by length`() {
    let sums = (0..<200).map { [UInt8](repeating: 0, count: $0).withUnsafeBytes { RecordChecksum.of($0) } }

    #expect(Set(sums).count == 200)
  }

  /// Stored records must stay readable: a different checksum requires a new version.
  @Test func `the checksum of a known text has not changed`() {
    let sum = Array("The quick brown fox jumps over the lazy dog".utf8).withUnsafeBytes { RecordChecksum.of($0) }

    #expect(sum == 17_719_259_871_106_797_205)
  }
}
