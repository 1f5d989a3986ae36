import MartletBase

/// A value that the sending client encodes as JSON, with its own encoder.
///
/// An object, so it does not enlarge bodies, of which each waiting request holds several.
package final class DeferredJSON: Sendable {
  private let value: any Encodable & Sendable

  init(_ value: any Encodable & Sendable) { self.value = value }

  /// The encoded bytes, or the problem of the value.
  func content(_ encoder: JSONEncoder) -> HTTPBody.Content {
    guard value is JSONValue else { return HTTPBody.Content.json(value, encoder) }
    // The names in the value are already those of the document.
    let literal = JSONEncoder()
    literal.outputFormatting = encoder.outputFormatting
    return HTTPBody.Content.json(value, literal)
  }

  /// The content without a client, encoded by the standard encoder.
  var plain: HTTPBody.Content { content(.standard) }
}

extension HTTPBody.Content: Hashable {
  /// The same for equal contents; a value that is not yet encoded equals its bytes.
  private var identity: AnyHashable {
    switch self {
    case .json(let value): value.plain.identity
    case .data(let data): data
    case .file(let url): url
    case .stream(let source): source
    case .pieces(let pieces): pieces
    case .compressed(let plain, let coding): [coding: plain]
    case .spool(let spool): spool
    case .invalid(let problem): problem
    }
  }

  package static func == (one: HTTPBody.Content, other: HTTPBody.Content) -> Bool { one.identity == other.identity }

  package func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

extension HTTPBody.Content {
  static func json(_ value: some Encodable, _ encoder: JSONEncoder) -> HTTPBody.Content {
    do {
      return .data(try encoder.encode(value))
    } catch {
      return .invalid(InvalidInput("the JSON body cannot be encoded: \(EncodingProblem.describe(error))"))
    }
  }

  func encoded(_ encoder: JSONEncoder) -> HTTPBody.Content {
    switch self {
    case .json(let value): value.content(encoder)
    case .pieces(let pieces): .pieces(pieces.map { $0.encoded(encoder) })
    case .compressed(let plain, let coding): .compressed(plain.encoded(encoder), coding)
    case .data, .file, .stream, .spool, .invalid: self
    }
  }

  /// The same content; if it is a value, encoded by the standard encoder.
  var settled: HTTPBody.Content { if case .json(let value) = self { value.plain } else { self } }
}

extension HTTPRequest {
  mutating func encodeBody(with coders: JSONCoders) {
    guard let content = body?.content else { return }
    switch content {
    case .json, .pieces, .compressed: body?.content = content.encoded(coders.encoder)
    case .data, .file, .stream, .spool, .invalid: break
    }
  }
}

extension JSONEncoder {
  /// The default encoder of a client.
  ///
  /// It sorts keys, so equal values have equal bytes, whatever the order of a dictionary.
  static var standard: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return encoder
  }

  /// A separate encoder with the same strategies; a subclass is returned unchanged.
  func copy() -> JSONEncoder {
    guard type(of: self) == JSONEncoder.self else { return self }
    let copy = JSONEncoder()
    copy.outputFormatting = outputFormatting
    copy.dateEncodingStrategy = dateEncodingStrategy
    copy.dataEncodingStrategy = dataEncodingStrategy
    copy.nonConformingFloatEncodingStrategy = nonConformingFloatEncodingStrategy
    copy.keyEncodingStrategy = keyEncodingStrategy
    copy.userInfo = userInfo
    return copy
  }
}

extension JSONDecoder {
  /// A separate decoder with the same strategies; a subclass is returned unchanged.
  func copy() -> JSONDecoder {
    guard type(of: self) == JSONDecoder.self else { return self }
    let copy = JSONDecoder()
    copy.dateDecodingStrategy = dateDecodingStrategy
    copy.dataDecodingStrategy = dataDecodingStrategy
    copy.nonConformingFloatDecodingStrategy = nonConformingFloatDecodingStrategy
    copy.keyDecodingStrategy = keyDecodingStrategy
    copy.userInfo = userInfo
    copy.allowsJSON5 = allowsJSON5
    copy.assumesTopLevelDictionary = assumesTopLevelDictionary
    return copy
  }
}

extension HTTPBody {
  /// A JSON value written as a literal, such as `.json(["name": "Ada", "age": 36])`.
  ///
  /// Only `outputFormatting` of the client's encoder is used, because the names are already those of the document.
  ///
  /// - Parameter value: The value; if it cannot be encoded, sending throws ``HTTPError/Kind/invalidRequest``.
  /// - Returns: The body.
  public static func json(_ value: JSONValue) -> HTTPBody {
    HTTPBody(.json(DeferredJSON(value)), contentType: "application/json")
  }

  @available(*, unavailable, message: "write .string(text), .integer(number) for variables, or an Encodable value")
  public static func json(_ value: [String: Any]) -> HTTPBody { json(.null) }
}
