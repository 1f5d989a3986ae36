import MartletBase

extension StreamedResponse {
  /// The values of a body with one JSON text per line (JSON Lines, NDJSON), as they arrive.
  ///
  /// A line ends with LF or CR LF; the last one needs no line ending. Blank lines are skipped. Neither a time limit nor
  /// a cancellation ends the decoding of a line, so limit its size: <doc:JSON>.
  ///
  /// Created by ``StreamedResponse/jsonLines(as:decoder:upTo:)``. Readable once, like the body.
  public struct JSONLines<Element: Decodable & Sendable>: AsyncSequence, Sendable {
    public typealias Failure = any Error

    let body: ResponseBody
    let decoder: JSONDecoder
    let limit: Int

    /// Iterates over values.
    public struct AsyncIterator: AsyncIteratorProtocol {
      fileprivate var reader: LineReader
      fileprivate let decoder: JSONDecoder
      fileprivate var number = 0
      fileprivate var isOver = false

      /// The next value, or `nil` at the end and after an error.
      ///
      /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/decoding`` with the line number, or
      ///   ``HTTPError/Kind/bodyTooLarge`` for a line that is too long; any error from reading the body.
      public mutating func next() async throws -> Element? {
        while !isOver {
          guard let line = try await reader.next({ Self.text(of: $0) }) else { break }
          number += 1
          guard let line else { continue }
          do {
            return try DecodingProblem.decode(Element.self, from: line, with: decoder)
          } catch {
            isOver = true
            let message =
              "line \(number) cannot be decoded as \(Element.self): \(DecodingProblem.describe(error, in: line))"
            throw HTTPError(.decoding, message, phase: .receiving, underlying: error)
          }
        }
        return nil
      }

      /// The bytes of a line, or `nil` if it is blank.
      private static func text(of line: UnsafeRawBufferPointer) -> Data? {
        line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D } ? nil : Data(line)
      }
    }

    /// Starts reading.
    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(reader: LineReader(body, .lineFeed, upTo: limit), decoder: decoder)
    }
  }
}
