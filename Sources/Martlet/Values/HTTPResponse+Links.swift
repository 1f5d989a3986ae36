import MartletBase
public import Foundation

extension HTTPResponse {
  /// A link to another resource, as in the `Link` header field (RFC 8288).
  public struct Link: Sendable, Hashable {
    /// The target, resolved against the URL of the response.
    public var url: URL
    /// The relation types, in lower case, such as `next`; never empty.
    public var relations: [String]
    /// The other parameters, by their names in lower case, such as `title` and `type`.
    public var parameters: [String: String]

    /// Creates a link, for stubs and tests.
    ///
    /// - Parameters:
    ///   - url: The target.
    ///   - relations: The relation types.
    ///   - parameters: The other parameters.
    public init(url: URL, relations: [String], parameters: [String: String] = [:]) {
      self.url = url
      self.relations = relations
      self.parameters = parameters
    }
  }

  /// The links of the `Link` header fields, in order (RFC 8288).
  ///
  /// Links with another context (`anchor`), without a relation type or to other schemes than http and https are left
  /// out.
  public var links: [Link] {
    guard let base = try? finalRequest.target.resolve(against: nil, adding: finalRequest.query) else { return [] }
    return headers[all: "Link"].flatMap { LinkField.links($0, base: base) }
  }

  /// The target of the first link with a relation type, or `nil` if there is none.
  ///
  /// ```swift
  /// while let next = response.link("next") { response = try await client.get(RequestTarget(next)) }
  /// ```
  ///
  /// - Parameter relation: The relation type, such as `next`, compared ignoring case.
  /// - Returns: The URL.
  public func link(_ relation: String) -> URL? {
    let relation = FieldSyntax.lowercased(relation)
    return links.first { $0.relations.contains(relation) }?.url
  }
}

/// The value of a `Link` header field (RFC 8288 §3, appendix B.2).
enum LinkField {
  static func links(_ value: String, base: AbsoluteURL) -> [HTTPResponse.Link] {
    var links: [HTTPResponse.Link] = []
    var rest = value[...].utf8
    while let start = rest.firstIndex(of: 0x3C), let end = rest[start...].firstIndex(of: 0x3E) {
      let target = String(Substring(rest[rest.index(after: start)..<end]))
      rest = rest[rest.index(after: end)...]
      let stop = endOfLink(rest)
      let parameters = parameters(rest[..<stop])
      rest = rest[stop...]
      let relations = (parameters["rel"] ?? "").split(whereSeparator: \.isWhitespace).map { FieldSyntax.lowercased($0) }
      guard !relations.isEmpty, parameters["anchor"] == nil,
        let url = try? base.resolving(target, inheritingFragment: false).url
      else { continue }
      links.append(
        HTTPResponse.Link(url: url, relations: relations, parameters: parameters.filter { $0.key != "rel" }))
    }
    return links
  }

  /// The comma that ends a link, outside quoted strings, or the end.
  private static func endOfLink(_ rest: Substring.UTF8View) -> String.Index {
    var isQuoted = false
    var isEscaped = false
    for index in rest.indices {
      let octet = rest[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted && octet == 0x5C {
        isEscaped = true
      } else if octet == 0x22 {
        isQuoted.toggle()
      } else if octet == 0x2C && !isQuoted {
        return index
      }
    }
    return rest.endIndex
  }

  /// By name; of several the first one counts (RFC 8288 §3.3).
  private static func parameters(_ text: Substring.UTF8View) -> [String: String] {
    var parameters: [String: String] = [:]
    for part in FieldSyntax.split(text, at: 0x3B) {
      let equals = part.firstIndex(of: 0x3D) ?? part.endIndex
      let name = FieldSyntax.lowercased(Substring(FieldSyntax.trimmed(part[..<equals])))
      var value = equals == part.endIndex ? part[equals...] : FieldSyntax.trimmed(part[part.index(after: equals)...])
      let text = FieldSyntax.readQuotedString(from: &value) ?? String(Substring(value))
      if !name.isEmpty, parameters[name] == nil { parameters[name] = text }
    }
    return parameters
  }
}
