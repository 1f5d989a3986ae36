import MartletBase

/// A JSON text that is being decoded, from which each ``JSONValue`` in a model takes its part.
///
/// `JSONDecoder` reports the type of a value only with errors, which contain the whole coding path: one text could keep
/// a thread busy for minutes. So the first `JSONValue` scans the text once more, and each finds its part by its path and
/// parses it. The index stores only where other parts end.
final class JSONDocument: Sendable {
  /// The document of the decoding that runs now.
  @TaskLocal static var current: JSONDocument?

  private struct State: ~Copyable {
    /// The decoder of this document; the decoder of a text within the text has other paths.
    var decoder: ObjectIdentifier?
    var index: JSONIndex?
  }

  private let data: Data
  private let strategy: JSONDecoder.KeyDecodingStrategy
  private let state = Locked(State())

  private init(_ data: Data, _ strategy: JSONDecoder.KeyDecodingStrategy) {
    self.data = data
    self.strategy = strategy
  }

  static func decode<T: Decodable>(_ type: T.Type, from data: Data, with decoder: JSONDecoder) throws -> T {
    // A subclass would be called with another type, and the options allow other grammars.
    guard Swift.type(of: decoder) == JSONDecoder.self, !decoder.allowsJSON5, !decoder.assumesTopLevelDictionary else {
      return try decoder.decode(type, from: data)
    }
    return try $current.withValue(JSONDocument(data, decoder.keyDecodingStrategy)) {
      try decoder.decode(Root<T>.self, from: data).value
    }
  }

  /// The outermost value, which passes its decoder to the document, and adds nothing to the coding path.
  private struct Root<T: Decodable>: Decodable {
    let value: T

    init(from decoder: any Decoder) throws {
      let document = JSONDocument.current
      document?.state.withLock { $0.decoder = ObjectIdentifier(decoder as AnyObject) }
      defer { document?.state.withLock { $0.decoder = nil } }
      value = try decoder.singleValueContainer().decode(T.self)
    }
  }

  /// The value at the decoder's position, or `nil` if the decoder belongs to another text.
  func value(for decoder: any Decoder) throws -> JSONValue? {
    guard state.withLock({ $0.decoder }) == ObjectIdentifier(decoder as AnyObject) else { return nil }
    let path = decoder.codingPath
    try JSONProbe.checkDepth(path)
    // The index is removed during the call, because a key strategy is the caller's code.
    var index = state.withLock { $0.index.take() } ?? JSONIndex(data)
    defer { state.withLock { $0.index = index } }
    do throws(JSONMisfit) {
      return try index.value(at: path, conversion)
    } catch {
      throw error.decodingError(at: path)
    }
  }

  private var conversion: JSONNode.Conversion? {
    switch strategy {
    case .useDefaultKeys: nil
    case .convertFromSnakeCase: { JSONNode.camelCase($1) }
    case .custom(let convert): { convert($0 + [JSONNode.Key(stringValue: $1)]).stringValue }
    @unknown default: nil
    }
  }
}

/// A reason why a part of a document is not a ``JSONValue``; contains no part of the document.
struct JSONMisfit: Error {
  let message: String

  func decodingError(at path: [any CodingKey]) -> DecodingError {
    DecodingError.dataCorrupted(
      DecodingError.Context(codingPath: path, debugDescription: message, underlyingError: self))
  }
}

/// A value with the members of its objects in the order of the text.
enum JSONNode: JSONTree {
  case scalar(JSONValue)
  case array([JSONNode])
  case object([(name: String, value: JSONNode)])

  /// Creates the name that a key strategy gives a member, from the path of the object and the name in the text.
  typealias Conversion = (_ path: [any CodingKey], _ name: String) -> String

  enum Key: CodingKey {
    case name(String)
    case index(Int)

    init(stringValue: String) { self = .name(stringValue) }
    init(intValue: Int) { self = .index(intValue) }

    var stringValue: String {
      switch self {
      case .name(let name): name
      case .index(let index): "Index \(index)"
      }
    }

    var intValue: Int? { if case .index(let index) = self { index } else { nil } }
  }

  /// The path of the first number that `Int` cannot hold, in reverse.
  var reversedPathOfLargeNumber: [any CodingKey]? {
    switch self {
    case .scalar(.digits): return []
    case .scalar(.number(let value)): return Int(exactly: value) == nil ? [] : nil
    case .scalar: return nil
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        if let path = element.reversedPathOfLargeNumber { return path + [Key(intValue: index)] }
      }
    case .object(let members):
      for (name, value) in members {
        if let path = value.reversedPathOfLargeNumber { return path + [Key(stringValue: name)] }
      }
    }
    return nil
  }

  /// The value at a path; if several members have the same name, the first one counts.
  func value(_ path: inout [any CodingKey], _ convert: Conversion?) -> JSONValue {
    switch self {
    case .scalar(let value): return value
    case .array(let elements):
      var values: [JSONValue] = []
      values.reserveCapacity(elements.count)
      for (index, element) in elements.enumerated() {
        path.append(Key.index(index))
        values.append(element.value(&path, convert))
        path.removeLast()
      }
      return .array(values)
    case .object(let members):
      var values: [String: JSONValue] = [:]
      for (name, value) in members {
        let name = convert?(path, name) ?? name
        path.append(Key.name(name))
        if values[name] == nil { values[name] = value.value(&path, convert) }
        path.removeLast()
      }
      return .object(values)
    }
  }

  /// The name that `JSONDecoder.KeyDecodingStrategy.convertFromSnakeCase` makes.
  static func camelCase(_ name: String) -> String {
    let start = name.prefix { $0 == "_" }
    let end = name.dropFirst(start.count).reversed().prefix { $0 == "_" }
    let words = name.split(separator: "_")
    guard words.count > 1 else { return name }
    return start + words[0].lowercased() + words.dropFirst().map(\.capitalized).joined()
      + String(repeating: "_", count: end.count)
  }
}
