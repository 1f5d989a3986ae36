import Foundation

/// Splits the bytes of one connection into heads and bodies.
///
/// A value without a socket: ``append(_:)`` accepts bytes; it returns heads and body chunks.
struct RequestReader {
  /// The maximum size of a head.
  static let maximumHeadBytes = 1 << 20

  /// The way to find the end of the current body (RFC 9112 §6.3).
  enum Framing: Equatable {
    case length(Int)
    case chunkSize
    case chunkData(Int)
    case chunkEnd
    case trailers
    case finished
  }

  enum HeadResult {
    case incomplete
    case head(RequestHead)
    case malformed(String)
  }

  enum BodyResult {
    case incomplete
    case bytes(Data)
    case end(trailers: [RecordedRequest.Field])
    case malformed(String)
  }

  private var buffer: [UInt8] = []
  /// The index of the first unused byte.
  private var start = 0
  /// The start of the line that the search for the end of the head has reached.
  private var lineStart = 0
  private var framing = Framing.finished

  /// The number of received, unused bytes.
  var unusedCount: Int { buffer.count - start }

  /// The first unused bytes, for the record of a malformed request.
  var unusedBytes: Data { Data(buffer[start...].prefix(Self.maximumHeadBytes)) }

  /// Removes the unused bytes, for another protocol.
  mutating func takeUnused() -> Data {
    defer { consume(unusedCount) }
    return Data(buffer[start...])
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) { buffer.append(contentsOf: bytes) }

  /// Reads the next head, if it is complete.
  mutating func readHead() -> HeadResult {
    // A server should ignore an empty line before the request line (RFC 9112 §2.2).
    while lineStart == start, unusedCount >= 2, buffer[start] == 13, buffer[start + 1] == 10 {
      start += 2
      lineStart = start
    }
    while let newline = newline(from: lineStart) {
      let isEmpty = newline == lineStart || (newline == lineStart + 1 && buffer[lineStart] == 13)
      lineStart = newline + 1
      guard isEmpty else { continue }
      guard lineStart - start <= Self.maximumHeadBytes else { return .malformed("head over 1 MiB") }
      do {
        let head = try RequestHead(parsing: Array(buffer[start..<lineStart]))
        framing = head.framing
        consume(lineStart - start)
        return .head(head)
      } catch {
        return .malformed(error.reason)
      }
    }
    return unusedCount > Self.maximumHeadBytes ? .malformed("head over 1 MiB") : .incomplete
  }

  /// Reads the next chunk of the current body.
  mutating func readBody() -> BodyResult {
    while true {
      switch framing {
      case .finished: return .end(trailers: [])
      case .length(let count):
        guard count > 0 else {
          framing = .finished
          continue
        }
        guard let data = take(atMost: count) else { return .incomplete }
        framing = .length(count - data.count)
        return .bytes(data)
      case .chunkData(let count):
        guard let data = take(atMost: count) else { return .incomplete }
        framing = data.count == count ? .chunkEnd : .chunkData(count - data.count)
        return .bytes(data)
      case .chunkSize:
        guard let end = newline(from: start) else {
          return unusedCount > 4096 ? .malformed("chunk line over 4 KiB") : .incomplete
        }
        guard let size = Self.chunkSize(buffer[start..<end]) else { return .malformed("bad chunk size") }
        consume(end + 1 - start)
        framing = size == 0 ? .trailers : .chunkData(size)
      case .chunkEnd:
        guard unusedCount >= 2 else { return .incomplete }
        guard buffer[start] == 13, buffer[start + 1] == 10 else { return .malformed("no line end after a chunk") }
        consume(2)
        framing = .chunkSize
      case .trailers: return readTrailers()
      }
    }
  }

  private mutating func readTrailers() -> BodyResult {
    var fields: [RecordedRequest.Field] = []
    var position = start
    while let end = newline(from: position) {
      guard end > position, buffer[end - 1] == 13 else { return .malformed("bare line feed in trailers") }
      let line = buffer[position..<(end - 1)]
      position = end + 1
      guard !line.isEmpty else {
        consume(position - start)
        framing = .finished
        return .end(trailers: fields)
      }
      guard let field = RequestHead.field(line) else { return .malformed("bad trailer field") }
      fields.append(field)
    }
    return unusedCount > 1 << 16 ? .malformed("trailers over 64 KiB") : .incomplete
  }

  private mutating func take(atMost count: Int) -> Data? {
    guard unusedCount > 0 else { return nil }
    let data = Data(buffer[start..<(start + min(count, unusedCount))])
    consume(data.count)
    return data
  }

  private mutating func consume(_ count: Int) {
    start += count
    if start == buffer.count {
      buffer.removeAll(keepingCapacity: buffer.capacity <= 1 << 18)
      start = 0
    } else if start > 1 << 16 {
      // Moving the rest only now and then keeps the time linear for many pipelined requests.
      buffer.removeFirst(start)
      start = 0
    }
    lineStart = start
  }

  private func newline(from position: Int) -> Int? {
    buffer.withUnsafeBytes { bytes in
      // `memchr` instead of `firstIndex`: tests run without optimization, where `firstIndex` takes most of the time.
      guard position < bytes.count, let base = bytes.baseAddress,
        let hit = memchr(base + position, 10, bytes.count - position)
      else { return nil }
      return UnsafeRawPointer(hit) - base
    }
  }

  private static func chunkSize(_ line: ArraySlice<UInt8>) -> Int? {
    guard line.last == 13 else { return nil }
    let text = String(decoding: line.dropLast().prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
      .trimmingCharacters(in: .whitespaces)
    guard !text.isEmpty, text.utf8.count <= 15, text.utf8.allSatisfy({ $0 != 43 && $0 != 45 }) else { return nil }
    return Int(text, radix: 16)
  }
}
