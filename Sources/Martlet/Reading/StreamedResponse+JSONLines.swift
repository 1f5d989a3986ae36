import Foundation

extension StreamedResponse {
  /// The values of a body with one JSON text in each line (JSON Lines, NDJSON), as they arrive.
  ///
  /// A line ends with LF, with or without a CR before it; the last one needs no end. Lines with nothing but blanks are
  /// skipped.
  ///
  /// Made by ``StreamedResponse/jsonLines(as:decoder:upTo:)``. Readable once, as the body is.
  public struct JSONLines<Element: Decodable & Sendable>: AsyncSequence, Sendable {
    public typealias Failure = any Error

    private let body: ResponseBody
    private let decoder: JSONDecoder
    private let limit: Int

    init(_ body: ResponseBody, _ decoder: JSONDecoder, upTo limit: Int) {
      self.body = body
      self.decoder = decoder
      self.limit = limit
    }

    /// Iterates over values.
    public struct AsyncIterator: AsyncIteratorProtocol {
      private var reader: LineReader
      private let decoder: JSONDecoder
      private var number = 0
      private var isOver = false

      fileprivate init(_ reader: LineReader, _ decoder: JSONDecoder) {
        self.reader = reader
        self.decoder = decoder
      }

      /// The next value, or `nil` at the end and after an error.
      ///
      /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/decoding``, which names the number of the line, or
      ///   ``HTTPError/Kind/bodyTooLarge`` for a line that is too long; what reading the body throws.
      public mutating func next() async throws -> Element? {
        while !isOver {
          guard let line = try await reader.next({ Self.text(of: $0) }) else { break }
          number += 1
          guard let line else { continue }
          do {
            return try DecodingProblem.decode(Element.self, from: line, with: decoder)
          } catch {
            isOver = true
            let message = "line \(number) is not the JSON of \(Element.self): \(DecodingProblem.describe(error))"
            throw HTTPError(.decoding, message, phase: .receiving, underlying: error)
          }
        }
        return nil
      }

      /// The bytes of a line, unless it is blank.
      private static func text(of line: UnsafeRawBufferPointer) -> Data? {
        line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D } ? nil : Data(line)
      }
    }

    /// Starts reading.
    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(LineReader(body, .lineFeed, upTo: limit), decoder)
    }
  }
}
