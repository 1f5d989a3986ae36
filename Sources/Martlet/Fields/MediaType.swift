import MartletBase

/// A media type with its parameters, as in `Content-Type` (RFC 9110 §8.3.1).
///
/// The type, the subtype and the parameter names are case-insensitive and kept in lower case; parameter values are kept
/// unchanged. Comparisons include the parameters and their order; compare ``essence`` to ignore them.
public struct MediaType: Sendable, Hashable {
  /// A parameter, such as `charset=utf-8`.
  public struct Parameter: Sendable, Hashable {
    /// The name, in lower case.
    public let name: String

    /// The value, without quotes or escapes.
    public let value: String

    /// Creates a parameter; the name is lowercased, and neither is checked.
    public init(name: String, value: String) {
      self.name = FieldSyntax.lowercased(name)
      self.value = value
    }
  }

  /// The top-level type, such as `text`, in lower case.
  public let type: String

  /// The subtype, such as `html`, in lower case.
  public let subtype: String

  /// The parameters, in order.
  public let parameters: [Parameter]

  /// Creates a media type from its parts; type and subtype are lowercased, and nothing is checked.
  public init(type: String, subtype: String, parameters: [Parameter] = []) {
    self.type = FieldSyntax.lowercased(type)
    self.subtype = FieldSyntax.lowercased(subtype)
    self.parameters = parameters
  }

  /// Parses the value of a `Content-Type` field, or a member of `Accept`.
  ///
  /// The result is `nil` without a type or a subtype. Malformed parameters are omitted, because the rest is still
  /// useful.
  public init?(_ text: String) {
    let parts = FieldSyntax.split(text[...].utf8, at: 0x3B)
    // `;text/html` has no type: the first part that is not empty must be the first part.
    guard let essence = parts.first, FieldSyntax.trimmed(text[...].utf8).startIndex == essence.startIndex,
      let slash = essence.firstIndex(of: 0x2F)
    else { return nil }
    let type = Substring(essence[..<slash])
    let subtype = Substring(essence[essence.index(after: slash)...])
    guard FieldSyntax.isToken(type), FieldSyntax.isToken(subtype) else { return nil }
    self.init(
      type: String(type), subtype: String(subtype), parameters: parts.dropFirst().compactMap(Parameter.init(reading:)))
  }

  /// The type without its parameters, such as `text/html`.
  public var essence: String { "\(type)/\(subtype)" }

  /// The value of the first parameter with that name, ignoring case.
  public func parameter(_ name: String) -> String? {
    parameters.first { FieldSyntax.isSameName($0.name, name) }?.value
  }

  /// The `charset` parameter in lower case.
  public var charset: String? { parameter("charset").map { FieldSyntax.lowercased($0) } }

  /// Whether the content is JSON: `application/json`, `text/json` or a subtype with the suffix `+json` (RFC 6839 §3.1).
  public var isJSON: Bool {
    subtype.hasSuffix("+json") || (subtype == "json" && (type == "application" || type == "text"))
  }

  /// Whether the content is text.
  ///
  /// True for `text/*`, JSON, XML, JavaScript and URL-encoded forms.
  public var isText: Bool {
    if type == "text" || isJSON || subtype.hasSuffix("+xml") { return true }
    guard type == "application" else { return false }
    return ["xml", "javascript", "x-javascript", "ecmascript", "x-www-form-urlencoded"].contains(subtype)
  }
}

extension MediaType {
  /// `application/json` (RFC 8259).
  public static let json = MediaType(type: "application", subtype: "json")

  /// `application/x-www-form-urlencoded`, the content of a plain form.
  public static let form = MediaType(type: "application", subtype: "x-www-form-urlencoded")

  /// `text/plain; charset=utf-8`.
  public static let text = MediaType(
    type: "text", subtype: "plain", parameters: [Parameter(name: "charset", value: "utf-8")])

  /// `application/octet-stream`, bytes of an unknown kind.
  public static let octetStream = MediaType(type: "application", subtype: "octet-stream")

  /// `text/html; charset=utf-8`.
  public static let html = MediaType(
    type: "text", subtype: "html", parameters: [Parameter(name: "charset", value: "utf-8")])
}

extension MediaType: CustomStringConvertible {
  /// The media type as written in a field; parameter values that are not tokens are quoted.
  public var description: String {
    parameters.reduce(into: essence) { text, parameter in
      let isToken = FieldSyntax.isToken(parameter.value)
      text += "; \(parameter.name)=\(isToken ? parameter.value : FieldSyntax.quoted(parameter.value))"
    }
  }
}

extension MediaType.Parameter {
  /// Reads `name=value` or `name="value"` (RFC 9110 §5.6.6).
  fileprivate init?(reading text: Substring.UTF8View) {
    guard let equals = text.firstIndex(of: 0x3D), FieldSyntax.isToken(Substring(text[..<equals])),
      let value = FieldSyntax.parameterValue(text[equals...].dropFirst())
    else { return nil }
    self.init(name: String(Substring(text[..<equals])), value: value)
  }
}
