public import Foundation
public import Martlet
import Synchronization

/// The messages of a streaming response, as they arrive; readable once.
///
/// The sequence throws the error at the end of the stream, and a `ConnectError` with the code `internal` for a response
/// that is truncated or malformed. Releasing it cancels the RPC.
public struct ConnectStream: AsyncSequence, Sendable {
  public typealias Element = Data

  private final class End: Sendable {
    let trailers = Mutex<HTTPHeaders>([:])
  }

  /// The header fields of the response.
  public let headers: HTTPHeaders
  private let body: ResponseBody
  private let maximumMessageBytes: Int
  private let end = End()

  init(_ response: StreamedResponse, _ maximumMessageBytes: Int) {
    headers = response.headers
    body = response.body
    self.maximumMessageBytes = maximumMessageBytes
  }

  /// The trailing metadata; empty before the end of the stream.
  public var trailers: HTTPHeaders { end.trailers.withLock { $0 } }

  /// Iterates over messages.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let stream: ConnectStream
    private var chunks: ResponseBody.AsyncIterator
    private var envelopes: ConnectEnvelopes
    private var isOver = false

    init(_ stream: ConnectStream) {
      self.stream = stream
      chunks = stream.body.makeAsyncIterator()
      envelopes = ConnectEnvelopes(maximumMessageBytes: stream.maximumMessageBytes)
    }

    /// Returns the next message, or `nil` at the end and after an error.
    public mutating func next() async throws -> Data? {
      guard !isOver else { return nil }
      do {
        while true {
          switch try envelopes.next() {
          case .message(let message)?: return message
          case .end(let json)?:
            isOver = true
            try await finish(json)
            return nil
          case nil:
            guard let chunk = try await chunks.next() else {
              throw ConnectError(.internal, "the response ended without an end of its stream")
            }
            envelopes.append(chunk)
          }
        }
      } catch {
        isOver = true
        guard var error = error as? ConnectError else { throw error }
        (error.headers, error.trailers) = (stream.headers, stream.trailers)
        throw error
      }
    }

    /// Reads the end of the body, so its connection can be reused, and throws the error of the RPC.
    private mutating func finish(_ json: Data) async throws {
      // An empty end is tolerated, and so is `"error": null`.
      let end = json.isEmpty ? JSONValue.object([:]) : try? JSONValue(parsing: json)
      guard let end, end.object != nil else {
        throw ConnectError(.internal, "the end of the stream is not a JSON object")
      }
      var trailers: HTTPHeaders = [:]
      for (name, values) in end["metadata"].object ?? [:] {
        for value in values.array ?? [] { trailers.append(value.string ?? "", for: name) }
      }
      stream.end.trailers.withLock { [trailers] in $0 = trailers }
      if end["error"].object != nil { throw ConnectError(end["error"], otherwise: .unknown) }
      var isMore = !envelopes.isEmpty
      while !isMore, let chunk = try await chunks.next() { isMore = !chunk.isEmpty }
      if isMore { throw ConnectError(.internal, "the response has bytes after the end of its stream") }
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

/// Reads enveloped messages from bytes: flags, a length in four bytes, and the message.
struct ConnectEnvelopes {
  enum Envelope: Equatable {
    case message(Data)
    case end(Data)
  }

  static let headBytes = 5
  let maximumMessageBytes: Int
  private var bytes = Data()

  init(maximumMessageBytes: Int) { self.maximumMessageBytes = maximumMessageBytes }

  var isEmpty: Bool { bytes.isEmpty }

  mutating func append(_ chunk: Data) {
    // A slice keeps the memory before its start, which would grow with the stream.
    if bytes.startIndex > 0 { bytes = Data(bytes) }
    bytes.append(chunk)
  }

  /// Removes the next complete message.
  ///
  /// Throws as soon as the head announces a message that is too large, or has flags that were not negotiated.
  mutating func next() throws -> Envelope? {
    guard bytes.count >= Self.headBytes else { return nil }
    let start = bytes.startIndex
    let flags = bytes[start]
    let count = bytes[start + 1..<start + Self.headBytes].reduce(0) { $0 << 8 | Int($1) }
    // No `Connect-Accept-Encoding` was sent, so no message may be compressed.
    guard flags & ~2 == 0 else {
      throw ConnectError(.internal, "a message has the flags \(flags); only 0 and 2 are expected without compression")
    }
    guard count <= maximumMessageBytes else {
      throw ConnectError(.resourceExhausted, "a message has \(count) bytes; at most \(maximumMessageBytes) are allowed")
    }
    guard bytes.count - Self.headBytes >= count else { return nil }
    let message = Data(bytes[start + Self.headBytes..<start + Self.headBytes + count])
    bytes = bytes[(start + Self.headBytes + count)...]
    return flags == 0 ? .message(message) : .end(message)
  }

  /// Adds the head to a message.
  static func envelope(_ message: Data) throws -> Data {
    guard let count = UInt32(exactly: message.count) else {
      throw ConnectError(.invalidArgument, "a message has \(message.count) bytes; at most \(UInt32.max) are allowed")
    }
    var envelope = Data([0])
    envelope.reserveCapacity(headBytes + message.count)
    withUnsafeBytes(of: count.bigEndian) { envelope.append(contentsOf: $0) }
    envelope.append(message)
    return envelope
  }
}
