public import MartletBase

extension Query {
  /// How the names of an encoded value are written; see ``Query/init(encoding:style:encoder:)``.
  public struct Style: Sendable, Hashable {
    /// How the elements of an array are named.
    @nonexhaustive public enum Arrays: Sendable, Hashable {
      /// `tag=a&tag=b`: the name is repeated.
      case repeated
      /// `tag[]=a&tag[]=b`, as in PHP and Rails.
      case brackets
      /// `tag[0]=a&tag[1]=b`, or `tag.0=a` with ``Nesting/dots``; the only style for arrays of arrays and of objects.
      case indices
    }

    /// How the members of an object in an object are named.
    @nonexhaustive public enum Nesting: Sendable, Hashable {
      /// `user[name]=Ada`.
      case brackets
      /// `user.name=Ada`.
      case dots
    }

    /// How the elements of an array are named; ``Arrays/repeated`` by default.
    public var arrays: Arrays

    /// How the members of an object in an object are named; ``Nesting/brackets`` by default.
    public var nesting: Nesting

    /// Creates a style.
    ///
    /// - Parameters:
    ///   - arrays: How the elements of an array are named.
    ///   - nesting: How the members of an object in an object are named.
    public init(arrays: Arrays = .repeated, nesting: Nesting = .brackets) {
      self.arrays = arrays
      self.nesting = nesting
    }
  }

  /// Encodes a value whose properties are the names.
  ///
  /// ```swift
  /// try await client.get("/search", query: try Query(encoding: search))
  /// ```
  ///
  /// Items are sorted by name at each level, and the elements of an array keep their order, so equal values are equal
  /// queries. `nil` and empty arrays are omitted. Dates are written as in ISO 8601, `Data` as base64, and `true` and
  /// `false` as words; numbers keep all their digits.
  ///
  /// - Parameters:
  ///   - value: The value; a structure, a class or a dictionary.
  ///   - style: How arrays and nested objects are named.
  ///   - encoder: The strategies for dates, data, keys and numbers that are not finite; by default dates in ISO 8601.
  /// - Throws: ``HTTPError/Kind/invalidRequest`` for a value that cannot be encoded, such as `Double.nan`, for a value
  ///   without names, and for arrays that the style cannot write.
  public init(encoding value: some Encodable, style: Style = Style(), encoder: JSONEncoder? = nil) throws {
    do throws(InvalidInput) {
      self = try Self.encoded(value, style, encoder, "query")
    } catch {
      throw HTTPError(.invalidRequest, error.message)
    }
  }

  fileprivate static func encoded(
    _ value: some Encodable, _ style: Style, _ encoder: JSONEncoder?, _ kind: String
  ) throws(InvalidInput) -> Query {
    let tree: JSONValue
    do {
      tree = try JSONParser.valueWithDigits(of: (encoder ?? dates()).encode(value))
    } catch let error as JSONParser.Problem {
      throw InvalidInput("the \(kind) cannot be encoded: \(error.message)")
    } catch {
      throw InvalidInput(
        "the \(kind) cannot be encoded: \(EncodingProblem.describe(error, numbers: "send a text instead"))")
    }
    guard case .object = tree else {
      throw InvalidInput("a value of type \(type(of: value)) has no names for a \(kind): encode a structure")
    }
    var items: [Item] = []
    try append(tree, "", style, to: &items)
    return Query(items: items)
  }

  private static func dates() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    return encoder
  }

  private static func append(
    _ value: JSONValue, _ name: String, _ style: Style, to items: inout [Item]
  ) throws(InvalidInput) {
    switch value {
    case .null: break
    case .bool(let value): items.append(Item(name: name, value: "\(value)"))
    case .integer, .number: items.append(Item(name: name, value: value.description))
    case .string(let text), .digits(let text): items.append(Item(name: name, value: text))
    case .object(let members):
      for key in members.keys.sorted() {
        try append(members[key] ?? .null, name.isEmpty ? key : style.nested(name, key), style, to: &items)
      }
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        guard style.arrays == .indices || !element.isContainer else {
          let shown = InvalidInput.printable(name)
          throw InvalidInput("the array '\(shown)' contains arrays or objects: set the style's arrays to .indices")
        }
        try append(element, style.element(name, index), style, to: &items)
      }
    }
  }
}

extension Query.Style {
  fileprivate func nested(_ name: String, _ key: String) -> String {
    nesting == .dots ? "\(name).\(key)" : "\(name)[\(key)]"
  }

  fileprivate func element(_ name: String, _ index: Int) -> String {
    switch arrays {
    case .repeated: name
    case .brackets: "\(name)[]"
    case .indices: nested(name, "\(index)")
    }
  }
}

extension JSONValue {
  fileprivate var isContainer: Bool {
    switch self {
    case .array, .object: true
    case .null, .bool, .integer, .number, .digits, .string: false
    }
  }
}

extension HTTPBody {
  /// URL-encoded form fields from a value whose properties are the names.
  ///
  /// The value is encoded immediately, like ``Query/init(encoding:style:encoder:)``.
  ///
  /// - Parameters:
  ///   - value: The value. If it cannot be encoded, sending throws ``HTTPError/Kind/invalidRequest``.
  ///   - style: How arrays and nested objects are named.
  ///   - encoder: The strategies for dates, data, keys and numbers that are not finite; by default dates in ISO 8601.
  /// - Returns: The body.
  public static func form(
    encoding value: some Encodable, style: Query.Style = Query.Style(), encoder: JSONEncoder? = nil
  ) -> HTTPBody {
    do throws(InvalidInput) {
      return form(try Query.encoded(value, style, encoder, "form"))
    } catch {
      return HTTPBody(error)
    }
  }
}
