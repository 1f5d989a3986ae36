public import Foundation

/// A reply from Redis (RESP2).
public enum RedisReply: Sendable, Equatable {
  /// A line, such as `OK`.
  case text(String)
  /// An error message.
  case failure(String)
  /// A number.
  case integer(Int)
  /// Bytes.
  case data(Data)
  /// A missing value.
  case nothing
  /// Several replies.
  case list([RedisReply])
}

/// Reads replies from a socket, each up to a size limit.
struct RedisReader {
  /// The maximum depth of nested lists; commands here receive at most two levels.
  private static let maximumDepth = 4
  private static let maximumLineBytes = 64 << 10

  private let socket: RedisSocket
  private let limit: Int
  private var received = 0
  private var buffer: [UInt8] = []
  private var position = 0

  init(_ socket: RedisSocket, limit: Int) {
    self.socket = socket
    self.limit = limit
  }

  /// Whether the buffer contains bytes after the last reply.
  var hasMore: Bool { position < buffer.count }

  mutating func reply(depth: Int = 0) throws(RedisError) -> RedisReply {
    let line = try line()
    let rest = line.dropFirst()
    switch line.first {
    case "+": return .text(String(rest))
    case "-": return .failure(String(rest))
    case ":":
      guard let number = Int(rest) else { throw .malformed }
      return .integer(number)
    case "$":
      guard let count = try count(rest) else { return .nothing }
      let data = try bytes(count)
      guard try byte() == UInt8(ascii: "\r"), try byte() == UInt8(ascii: "\n") else { throw .malformed }
      return .data(data)
    case "*":
      guard let count = try count(rest) else { return .nothing }
      guard depth < Self.maximumDepth else { throw .malformed }
      var list: [RedisReply] = []
      // Each element consumes bytes, whose number is limited.
      for _ in 0..<count { list.append(try reply(depth: depth + 1)) }
      return .list(list)
    default: throw .malformed
    }
  }

  /// Reads a length or a count; `nil` for a missing value.
  private func count(_ text: Substring) throws(RedisError) -> Int? {
    guard let count = Int(text), count >= -1, count <= limit else { throw .malformed }
    return count < 0 ? nil : count
  }

  private mutating func line() throws(RedisError) -> String {
    var line: [UInt8] = []
    while true {
      let byte = try byte()
      if byte == UInt8(ascii: "\n") { break }
      line.append(byte)
      guard line.count <= Self.maximumLineBytes else { throw .malformed }
    }
    guard line.popLast() == UInt8(ascii: "\r") else { throw .malformed }
    return String(decoding: line, as: UTF8.self)
  }

  private mutating func byte() throws(RedisError) -> UInt8 {
    if position == buffer.count { try fill() }
    defer { position += 1 }
    return buffer[position]
  }

  private mutating func bytes(_ count: Int) throws(RedisError) -> Data {
    var data = Data()
    while data.count < count {
      if position == buffer.count { try fill() }
      let end = position + min(count - data.count, buffer.count - position)
      data.append(contentsOf: buffer[position..<end])
      position = end
    }
    return data
  }

  private mutating func fill() throws(RedisError) {
    buffer = try socket.receive()
    position = 0
    received += buffer.count
    guard received <= limit else { throw .malformed }
  }
}
