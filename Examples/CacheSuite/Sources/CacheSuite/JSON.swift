public import Martlet

typealias JSON = JSONValue

extension JSON {
  /// The elements of an array; empty for other values.
  var list: [JSON] { array ?? [] }
}

extension JSON: @retroactive CustomStringConvertible {
  public var description: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .number(let value): "\(value)"
    case .string(let value), .digits(let value): value
    case .array(let values): values.map(\.description).joined(separator: ", ")
    case .object: "an object"
    }
  }
}
