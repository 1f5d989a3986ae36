import Foundation
import MartletWebSocket

/// Splits standard input into the messages of a WebSocket.
struct MessageInput {
  /// The messages of the input.
  enum Unit: Equatable, Sendable {
    /// Each line is a text message.
    case lines
    /// Each line is a binary message, because a terminal passes lines.
    case binaryLines
    /// Each block is a binary message, as it arrives.
    case blocks
    /// The whole file is one binary message.
    case file
  }

  /// The queue for reading, which blocks.
  private static let queue = DispatchQueue(label: "martlet.messages")
  private static let lineEnd = UInt8(ascii: "\n")

  private let unit: Unit
  /// The maximum size of a message in bytes.
  private let limit: Int
  private let input: StandardInput
  /// The bytes that have been read, but do not belong to a message yet.
  private var rest = Data()
  /// The number of bytes at the beginning of ``rest`` that contain no line end.
  private var searched = 0
  private var isOver = false
  /// The number of messages so far.
  private(set) var count = 0

  /// - Parameters:
  ///   - unit: The messages of the input.
  ///   - limit: The maximum size of a message in bytes.
  ///   - input: The input.
  init(_ unit: Unit, limit: Int, _ input: StandardInput = StandardInput()) {
    (self.unit, self.limit, self.input) = (unit, limit, input)
  }

  /// The next message, or `nil` at the end; waits for it.
  ///
  /// - Returns: The message.
  /// - Throws: ``UsageError`` for a message that is too large or, as a text, is not UTF-8.
  mutating func next() async throws -> WebSocket.Message? {
    guard let data = try await nextData() else { return nil }
    count += 1
    guard unit == .lines else { return .binary(data) }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw UsageError("line \(count) of standard input is not UTF-8 text; --binary sends bytes", code: .failure)
    }
    return .text(text)
  }

  private mutating func nextData() async throws -> Data? {
    while true {
      switch unit {
      case .lines, .binaryLines: if let line = try nextLine() { return line }
      case .blocks: if !rest.isEmpty { return take(min(rest.count, limit)) }
      case .file: if rest.count > limit { throw tooLarge }
      }
      if isOver { return rest.isEmpty ? nil : take(rest.count) }
      if let block = try await read() { rest += block } else { isOver = true }
    }
  }

  /// Removes the next line; returns `nil` if it is incomplete.
  private mutating func nextLine() throws -> Data? {
    guard let end = rest.dropFirst(searched).firstIndex(of: Self.lineEnd) else {
      searched = rest.count
      // One byte more, because the line may end with CR LF.
      if searched > limit + 1 || isOver && searched > limit { throw tooLarge }
      return nil
    }
    let line = rest[..<end]
    rest = rest[end...].dropFirst()
    searched = 0
    let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    if text.count > limit { throw tooLarge }
    return Data(text)
  }

  private mutating func take(_ count: Int) -> Data {
    let data = Data(rest.prefix(count))
    rest = rest.dropFirst(count)
    return data
  }

  private var tooLarge: UsageError {
    let place = unit == .file ? "standard input" : "line \(count + 1) of standard input"
    return UsageError("\(place) has more than \(limit) bytes; --max-message allows more", code: .failure)
  }

  private func read() async throws -> Data? {
    try await withCheckedThrowingContinuation { continuation in
      Self.queue.async { [input] in continuation.resume(with: Result { try input.block() }) }
    }
  }
}
