public import MartletBase

extension ServerSentEvents {
  /// A server-sent event (WHATWG HTML §9.2).
  public struct Event: Sendable, Hashable {
    /// The most recent identifier from the server; empty if there is none.
    ///
    /// Set by this event or an earlier one.
    public var id: String
    /// The event type; `message` if the server sends none.
    public var type: String
    /// The content: the `data` lines, joined by LF.
    public var data: String
    /// The reconnection time, if the server has set one with this event.
    public var retry: Duration?

    /// The client's JSON decoder.
    var coders = IgnoredInEquality<JSONCoders>()

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - type: The type.
    ///   - data: The content.
    ///   - retry: The reconnection time.
    public init(id: String = "", type: String = "message", data: String, retry: Duration? = nil) {
      self.id = id
      self.type = type
      self.data = data
      self.retry = retry
    }

    /// Decodes the content as JSON (RFC 8259).
    ///
    /// Neither a time limit nor a cancellation ends the decoding, so limit the size: <doc:JSON>.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder; by default the client's.
    /// - Returns: The value.
    /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/decoding``, naming the place in the document.
    public func json<T: Decodable>(_ type: T.Type = T.self, decoder: JSONDecoder? = nil) throws -> T {
      let text = Data(data.utf8)
      do {
        return try DecodingProblem.decode(type, from: text, with: decoder ?? coders.value?.decoder ?? JSONDecoder())
      } catch {
        let message = "the event cannot be decoded as \(T.self): \(DecodingProblem.describe(error, in: text))"
        throw HTTPError(.decoding, message, phase: .receiving, underlying: error)
      }
    }
  }
}

/// A value that does not take part in comparisons: two are always equal.
struct IgnoredInEquality<Value: Sendable>: Sendable, Hashable {
  var value: Value?

  static func == (one: IgnoredInEquality, other: IgnoredInEquality) -> Bool { true }

  func hash(into hasher: inout Hasher) {}
}
