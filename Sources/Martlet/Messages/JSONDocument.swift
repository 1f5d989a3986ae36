import Foundation
import MartletBase

/// A JSON text that is being decoded, of which each ``JSONValue`` in a model takes its part.
///
/// `JSONDecoder` reports the type of a value only with errors, which contain the whole coding path: one text could keep
/// a thread busy for minutes. So the first `JSONValue` parses the text once more, and each finds its part by its path.
final class JSONDocument: Sendable {
  /// The document of the decoding that runs now.
  @TaskLocal static var current: JSONDocument?

  private struct State {
    /// The decoder of this document; another one, of a text within the text, has other paths.
    var decoder: ObjectIdentifier?
    var root: Result<JSONNode, JSONMisfit>?
  }

  private let data: Data
  private let strategy: JSONDecoder.KeyDecodingStrategy
  private let state = Locked(State())

  private init(_ data: Data, _ strategy: JSONDecoder.KeyDecodingStrategy) {
    self.data = data
    self.strategy = strategy
  }

  static func decode<T: Decodable>(_ type: T.Type, from data: Data, with decoder: JSONDecoder) throws -> T {
    // A subclass would be called with another type, and JSON5 is another grammar.
    guard Swift.type(of: decoder) == JSONDecoder.self, !decoder.allowsJSON5 else {
      return try decoder.decode(type, from: data)
    }
    return try $current.withValue(JSONDocument(data, decoder.keyDecodingStrategy)) {
      try decoder.decode(Root<T>.self, from: data).value
    }
  }

  /// The outermost value, which tells the document its decoder, and adds nothing to the coding path.
  private struct Root<T: Decodable>: Decodable {
    let value: T

    init(from decoder: any Decoder) throws {
      let document = JSONDocument.current
      document?.state.withLock { $0.decoder = ObjectIdentifier(decoder as AnyObject) }
      defer { document?.state.withLock { $0.decoder = nil } }
      value = try decoder.singleValueContainer().decode(T.self)
    }
  }

  /// The value at the decoder's place, or `nil` if the decoder is one of another text.
  func value(for decoder: any Decoder) throws -> JSONValue? {
    guard state.withLock({ $0.decoder }) == ObjectIdentifier(decoder as AnyObject) else { return nil }
    let path = decoder.codingPath
    try JSONProbe.checkDepth(path)
    do throws(JSONMisfit) {
      var node = try root()
      for key in path {
        guard let next = try node.child(key) else { return nil }
        node = next
      }
      return try node.value(depth: 0)
    } catch {
      throw error.decodingError(at: path)
    }
  }

  /// The levels of arrays and objects: those above a value and those in it.
  static let maximumDepth = JSONProbe.maximumDepth + JSONParser.maximumDepth

  private func root() throws(JSONMisfit) -> JSONNode {
    if let root = state.withLock({ $0.root }) { return try root.get() }
    let root = Result<JSONNode, JSONMisfit> { () throws(JSONMisfit) in try parsed() }
    state.withLock { $0.root = root }
    return try root.get()
  }

  private func parsed() throws(JSONMisfit) -> JSONNode {
    let node: JSONNode
    do throws(JSONParser.Problem) {
      node = try JSONParser.tree(of: data, maximumDepth: Self.maximumDepth)
    } catch {
      throw JSONMisfit(message: error.message)
    }
    return switch strategy {
    case .useDefaultKeys: node
    case .convertFromSnakeCase: node.renamed { JSONNode.camelCase($1) }
    case .custom(let convert): node.renamed { convert($0 + [JSONNode.Key(stringValue: $1)]).stringValue }
    @unknown default: node
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

/// A part of a document.
enum JSONNode: JSONTree {
  case scalar(JSONValue)
  case array([JSONNode])
  indirect case members(Members)

  struct Members {
    var list: [(name: String, value: JSONNode)]
    /// The indices of the members by their names; of members with the same name the first one counts, as for Foundation.
    var places: [String: Int]
    /// The same by the names that the decoder's key strategy makes of them.
    var renamed: [String: Int]?
  }

  struct Key: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
      self.stringValue = stringValue
      intValue = nil
    }

    init(intValue: Int) {
      stringValue = "Index \(intValue)"
      self.intValue = intValue
    }
  }

  static func object(_ members: [(name: String, value: JSONNode)]) -> JSONNode {
    .members(Members(list: members, places: places(members.map(\.name)), renamed: nil))
  }

  private static func places(_ names: [String]) -> [String: Int] {
    Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
  }

  /// The part at a key, or `nil` if there is none.
  func child(_ key: any CodingKey) throws(JSONMisfit) -> JSONNode? {
    switch self {
    case .scalar: return nil
    case .array(let elements):
      guard let index = key.intValue, elements.indices.contains(index) else { return nil }
      return elements[index]
    case .members(let members):
      let asWritten = members.places[key.stringValue]
      let place = members.renamed?[key.stringValue] ?? asWritten
      // Foundation does not rename the keys of a dictionary, and a path does not tell a dictionary from a model.
      if let asWritten, let place, asWritten != place {
        throw JSONMisfit(message: "two members have the same name once their keys are converted")
      }
      return place.map { members.list[$0].value }
    }
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
    case .members(let members):
      for (name, value) in members.list {
        if let path = value.reversedPathOfLargeNumber { return path + [Key(stringValue: name)] }
      }
    }
    return nil
  }

  func value(depth: Int) throws(JSONMisfit) -> JSONValue {
    if case .scalar(let value) = self { return value }
    guard depth < JSONParser.maximumDepth else {
      throw JSONMisfit(message: "nesting is deeper than \(JSONParser.maximumDepth) levels")
    }
    switch self {
    case .scalar(let value): return value
    case .array(let elements):
      var values: [JSONValue] = []
      values.reserveCapacity(elements.count)
      for element in elements { values.append(try element.value(depth: depth + 1)) }
      return .array(values)
    case .members(let members):
      var values: [String: JSONValue] = [:]
      for (name, place) in members.renamed ?? members.places {
        values[name] = try members.list[place].value.value(depth: depth + 1)
      }
      return .object(values)
    }
  }

  /// The same part, with the names that a strategy makes, given the path of an object and a name.
  func renamed(_ convert: ([any CodingKey], String) -> String) -> JSONNode {
    var path: [any CodingKey] = []
    return renamed(&path, convert)
  }

  private func renamed(_ path: inout [any CodingKey], _ convert: ([any CodingKey], String) -> String) -> JSONNode {
    switch self {
    case .scalar: return self
    case .array(var elements):
      for index in elements.indices {
        path.append(Key(intValue: index))
        elements[index] = elements[index].renamed(&path, convert)
        path.removeLast()
      }
      return .array(elements)
    case .members(var members):
      let names = members.list.map { convert(path, $0.name) }
      for (index, name) in names.enumerated() {
        path.append(Key(stringValue: name))
        members.list[index].value = members.list[index].value.renamed(&path, convert)
        path.removeLast()
      }
      members.renamed = Self.places(names)
      return .members(members)
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
