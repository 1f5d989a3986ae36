import Foundation
import Martlet
import MartletBase

/// The parts of a request and its response that `--print` selects.
struct ShownParts: Equatable, Sendable {
  /// The head and the body of the request, which `--offline` shows.
  static let request = ShownParts(letters: ["H", "B"])

  /// The letters and their parts, for the help and errors.
  static let names = [
    ("H", "head of the request"), ("B", "body of the request"), ("h", "head of the response"),
    ("b", "body of the response"), ("m", "phases of the request, as with --timing"),
  ]

  private let letters: Set<Character>

  private init(letters: Set<Character>) { self.letters = letters }

  /// Reads letters: `H` and `B` for head and body of the request, `h` and `b` for the response, `m` for the timing.
  init(_ text: String) throws(UsageError) {
    let known = Self.names.map(\.0).joined()
    let meaning = "H and B select the request's head and body, h and b the response's, m the timing"
    if let letter = text.first(where: { !known.contains($0) }) {
      throw UsageError("--print has no part '\(letter)'; \(meaning)")
    }
    if text.isEmpty { throw UsageError("--print needs at least one letter; \(meaning)") }
    letters = Set(text)
  }

  var requestHead: Bool { letters.contains("H") }
  var requestBody: Bool { letters.contains("B") }
  var responseHead: Bool { letters.contains("h") }
  var responseBody: Bool { letters.contains("b") }
  var timing: Bool { letters.contains("m") }

  /// Writes the selected parts of a request.
  ///
  /// A pipe gets all bytes of the body, without a further line end if the body is the only part.
  ///
  /// - Parameters:
  ///   - request: The request as it is sent.
  ///   - printer: The printer of the output.
  ///   - isLast: Whether nothing follows.
  ///   - sink: Writes bytes.
  /// - Throws: The error of `sink`, or ``UsageError`` if a file cannot be read.
  func write(
    _ request: HTTPRequest, _ printer: Printer, isLast: Bool, to sink: (Data) throws -> Void
  ) throws {
    let isAlone = letters == ["B"] && !printer.isForTerminal
    var last: UInt8?
    func write(_ data: Data) throws {
      try sink(data)
      last = data.last ?? last
    }
    if requestHead { try write(Data(printer.head(of: request).utf8)) }
    if requestBody, let content = request.body?.content, content.length != 0 {
      if last != nil { try write(Data("\n".utf8)) }
      if printer.isForTerminal {
        try write(Data(printer.body(of: request).utf8))
      } else {
        try printer.writeBytes(of: content, to: write)
      }
      if !isAlone, last != UInt8(ascii: "\n") { try write(Data("\n".utf8)) }
    }
    if last != nil, !isLast, !isAlone { try write(Data("\n".utf8)) }
  }
}

/// The look of `--pretty`, which does not depend on whether the output is a terminal.
enum Pretty: String, CaseIterable, Sendable {
  /// Colors and indented JSON.
  case all
  /// Indented JSON.
  case format
  /// The text of the body unchanged.
  case none

  var palette: Palette { self == .all ? .colored : .plain }
}

/// A value that several tasks share.
final class Kept<Value: Sendable>: Sendable {
  private let state: Locked<Value>

  init(_ value: Value) { state = Locked(value) }

  var value: Value { state.withLock { $0 } }

  func change(_ body: (inout Value) -> Void) { state.withLock { body(&$0) } }
}

/// Keeps the last request, without the engine's own field; with ``isOffline``, prevents sending the request.
struct RequestKeeper: Middleware {
  /// The error that replaces the response of a request that is not sent.
  struct NotSent: Error {}

  var isOffline = false
  let last = Kept<HTTPRequest?>(nil)

  func intercept(
    _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
  ) async throws -> StreamedResponse {
    last.change { $0 = request }
    if isOffline { throw NotSent() }
    return try await next(request)
  }
}

/// Splits a body of JSON Lines or events, and formats each line of JSON as it arrives.
struct JSONLines {
  /// The media types of JSON Lines and event streams, which may never end.
  static let types: Set = [
    "application/x-ndjson", "application/ndjson", "application/jsonl", "application/jsonlines",
    "application/x-jsonlines", "text/event-stream",
  ]

  var palette = Palette.plain
  private var rest = Data()

  init(palette: Palette = .plain) { self.palette = palette }

  /// Adds a chunk.
  ///
  /// - Returns: The lines that the chunk completes, formatted for a terminal.
  mutating func add(_ chunk: Data) -> String {
    rest.append(chunk)
    guard let end = rest.lastIndex(of: 0x0A) else { return "" }
    let lines = rest[..<end].split(separator: 0x0A, omittingEmptySubsequences: false)
    rest = Data(rest[rest.index(after: end)...])
    return lines.map { shown($0) + "\n" }.joined()
  }

  /// The last line if no line end follows.
  mutating func finish() -> String {
    defer { rest = Data() }
    return rest.isEmpty ? "" : shown(rest) + "\n"
  }

  private func shown(_ line: Data) -> String {
    let text = String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
    return JSONFormatter(palette: palette).format(text) ?? Visible.text(text)
  }
}
