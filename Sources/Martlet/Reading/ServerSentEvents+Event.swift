public import Foundation

extension ServerSentEvents {
  /// A server-sent event (WHATWG HTML §9.2).
  public struct Event: Sendable, Hashable {
    /// The last identifier that the server has set, with this event or an earlier one; empty if there is none.
    public var id: String
    /// The type; `message` if the server names none.
    public var event: String
    /// The content: the `data` lines, joined by LF.
    public var data: String
    /// The pause before a reconnect, if the server has set one with this event.
    public var retry: Duration?

    /// Makes an event.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - event: The type.
    ///   - data: The content.
    ///   - retry: The pause before a reconnect.
    public init(id: String = "", event: String = "message", data: String, retry: Duration? = nil) {
      self.id = id
      self.event = event
      self.data = data
      self.retry = retry
    }

    /// Decodes the content as JSON (RFC 8259).
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder.
    /// - Returns: The value.
    /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/decoding``, naming the place in the document.
    public func json<T: Decodable>(_ type: T.Type = T.self, decoder: JSONDecoder = JSONDecoder()) throws -> T {
      do {
        return try DecodingProblem.decode(type, from: Data(data.utf8), with: decoder)
      } catch {
        let message = "the event is not the JSON of \(T.self): \(DecodingProblem.describe(error))"
        throw HTTPError(.decoding, message, phase: .receiving, underlying: error)
      }
    }
  }
}
