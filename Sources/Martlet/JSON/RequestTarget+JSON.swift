extension RequestTarget.StringInterpolation {
  /// Adds the content of a JSON string, number or Boolean, escaped for its position.
  ///
  /// - Parameter value: The value; `null`, an array or an object makes the target invalid.
  public mutating func appendInterpolation(_ value: JSONValue) {
    switch value {
    case .string(let text): append(text, keeping: .unreserved)
    case .bool, .integer, .number, .digits: append(value.description, keeping: .unreserved)
    case .null, .array, .object:
      refuse("a JSON null, array or object was interpolated: interpolate a string, a number or a Boolean of it")
    }
  }
}
