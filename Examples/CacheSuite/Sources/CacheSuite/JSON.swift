/// A JSON value; unlike an optional it tells `null` from what is missing, as the suite's tests do.
enum JSON: Codable, Sendable, Hashable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSON].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSON].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }

  var text: String? { if case .string(let value) = self { value } else { nil } }
  var integer: Int? { if case .number(let value) = self { Int(exactly: value) } else { nil } }
  var list: [JSON] { if case .array(let value) = self { value } else { [] } }

  /// The member of an object, or `nil` if there is none or this is no object.
  subscript(name: String) -> JSON? { if case .object(let members) = self { members[name] } else { nil } }

  /// The element of an array, or `null`.
  subscript(index: Int) -> JSON { list.indices.contains(index) ? list[index] : .null }
}

extension JSON: CustomStringConvertible {
  var description: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .number(let value): integer.map { "\($0)" } ?? "\(value)"
    case .string(let value): value
    case .array(let values): values.map(\.description).joined(separator: ", ")
    case .object: "an object"
    }
  }
}
