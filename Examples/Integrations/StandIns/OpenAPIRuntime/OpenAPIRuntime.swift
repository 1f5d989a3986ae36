public import Foundation
public import HTTPTypes
import Synchronization

// A stand-in for swift-openapi-runtime, which CI cannot fetch. It declares the part of that module's API that
// `OpenAPITransport.swift` and its tests use, in our own words. Do not copy it: depend on the package instead.

/// Whether a sequence can be iterated more than once.
public enum IterationBehavior: Sendable {
  /// Only once.
  case single
  /// Any number of times.
  case multiple
}

/// A transport of a generated client.
public protocol ClientTransport: Sendable {
  /// Sends a request and returns the response.
  func send(
    _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
  ) async throws -> (HTTPResponse, HTTPBody?)
}

/// A body as an asynchronous sequence of byte chunks.
public final class HTTPBody: AsyncSequence, Sendable {
  /// A chunk.
  public typealias ByteChunk = ArraySlice<UInt8>
  /// A chunk.
  public typealias Element = ByteChunk

  /// The number of bytes.
  public enum Length: Sendable, Equatable {
    /// Not known.
    case unknown
    /// A known number of bytes.
    case known(Int64)
  }

  /// The error of a second iteration.
  struct SecondIteration: Error {}

  /// Whether the body can be iterated more than once.
  public let iterationBehavior: IterationBehavior
  /// The number of bytes.
  public let length: Length
  private let make: @Sendable () -> Iterator
  private let isIterated = Atomic(false)

  /// Creates a body from a sequence of chunks.
  public init<Chunks: AsyncSequence & Sendable>(
    _ chunks: Chunks, length: Length, iterationBehavior: IterationBehavior
  ) where Chunks.Element: Sequence & Sendable, Chunks.Element.Element == UInt8 {
    self.length = length
    self.iterationBehavior = iterationBehavior
    make = {
      var iterator = chunks.makeAsyncIterator()
      return Iterator { try await iterator.next().map { ArraySlice($0) } }
    }
  }

  /// Creates a body from bytes.
  public init(_ bytes: Data) {
    length = .known(Int64(bytes.count))
    iterationBehavior = .multiple
    make = {
      var rest: Data? = bytes
      return Iterator {
        defer { rest = nil }
        return rest.flatMap { $0.isEmpty ? nil : ArraySlice($0) }
      }
    }
  }

  /// Iterates over the chunks.
  public struct Iterator: AsyncIteratorProtocol {
    private let produce: () async throws -> ByteChunk?

    fileprivate init(_ produce: @escaping () async throws -> ByteChunk?) { self.produce = produce }

    /// Returns the next chunk.
    public mutating func next() async throws -> ByteChunk? { try await produce() }
  }

  /// Starts an iteration.
  public func makeAsyncIterator() -> Iterator {
    let isSecond = isIterated.exchange(true, ordering: .relaxed)
    return isSecond && iterationBehavior == .single ? Iterator { throw SecondIteration() } : make()
  }
}

extension Data {
  /// Reads a body to its end.
  public init(collecting body: HTTPBody, upTo maxBytes: Int) async throws {
    self.init()
    for try await chunk in body {
      guard count + chunk.count <= maxBytes else { throw CocoaError(.fileReadTooLarge) }
      append(contentsOf: chunk)
    }
  }
}
