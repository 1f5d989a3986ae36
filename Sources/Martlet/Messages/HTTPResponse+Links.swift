public import MartletBase

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

  /// The first 100 links of the `Link` header fields, in order (RFC 8288).
  ///
  /// Links with another context (`anchor`), without a relation type, or to schemes other than http and https are
  /// omitted.
  public var links: [Link] { links { _ in true } }

  /// The target of the first link with a relation type, or `nil` if there is none.
  ///
  /// The server chooses the target, which may have another origin or be the same page again: limit the links that you
  /// follow.
  ///
  /// ```swift
  /// for _ in 1...50 {
  ///   guard let next = response.link("next"), next.host() == response.url.host() else { break }
  ///   response = try await client.get(RequestTarget(next))
  /// }
  /// ```
  ///
  /// - Parameter relation: The relation type, such as `next`, compared ignoring case.
  /// - Returns: The URL.
  public func link(_ relation: String) -> URL? {
    let relation = FieldSyntax.lowercased(relation)
    return links { $0.contains(relation) }.first?.url
  }

  /// The target of the `Location` header field, resolved against the URL of the response (RFC 9110 §10.2.2).
  ///
  /// For a 201 it is the new resource, for a 202 often a resource that reports the progress, and for a redirect that was
  /// not followed the new URL. `nil` without the field, with different fields, and for a URL that is invalid or has a
  /// scheme other than http and https. A user name and a password in it are dropped.
  public var location: URL? {
    guard let base = finalRequest.absoluteURL, let target = headers[wires: "Location"].first(where: { !$0.isEmpty }),
      headers[wires: "Location"].allSatisfy({ $0 == target })
    else { return nil }
    return try? base.resolving(octets: WireText.octets(target), inheritingFragment: false).url
  }

  private func links(_ isWanted: ([String]) -> Bool) -> [Link] {
    guard let base = finalRequest.absoluteURL else { return [] }
    var links: [Link] = []
    for field in headers.filter({ $0.isNamed("Link") }) {
      var parser = LinkParser(field.wire)
      while links.count < 100, let (target, parameters) = parser.next() {
        let relations = (parameters["rel"] ?? "").utf8.split(whereSeparator: FieldSyntax.isBlank).map {
          FieldSyntax.lowercased(Substring($0))
        }
        guard !relations.isEmpty, parameters["anchor"] == nil, isWanted(relations),
          let url = try? base.resolving(octets: target, inheritingFragment: false).url
        else { continue }
        links.append(Link(url: url, relations: relations, parameters: parameters.filter { $0.key != "rel" }))
      }
    }
    return links
  }
}

/// Parses a `Link` field value, as leniently as RFC 8288 describes (appendix B.2 to B.4).
struct LinkParser {
  private var rest: Substring.UTF8View

  /// Creates a parser of a value as ``WireText``.
  init(_ value: String) { rest = value[...].utf8 }

  mutating func next() -> (target: [UInt8], parameters: [String: String])? {
    rest = rest.drop { FieldSyntax.isBlank($0) || $0 == 0x2C }
    guard rest.first == 0x3C, let end = rest.firstIndex(of: 0x3E) else { return nil }
    let target = WireText.octets(Substring(rest[..<end].dropFirst()))
    rest = rest[end...].dropFirst()
    let parameters = parameters()
    rest = rest.drop { $0 != 0x2C }
    return (target, parameters)
  }

  /// Parses the parameters of a link, by lower-case name.
  ///
  /// The first parameter with a name counts, and `title*` takes precedence over `title`.
  private mutating func parameters() -> [String: String] {
    var parameters: [String: String] = [:]
    while true {
      rest = rest.drop(while: FieldSyntax.isBlank)
      guard rest.first == 0x3B else { break }
      rest = rest.dropFirst().drop(while: FieldSyntax.isBlank)
      var name = FieldSyntax.lowercased(text { [0x3D, 0x3B, 0x2C, 0x20, 0x09].contains($0) })
      rest = rest.drop(while: FieldSyntax.isBlank)
      var value = ""
      if rest.first == 0x3D {
        rest = rest.dropFirst().drop(while: FieldSyntax.isBlank)
        value = rest.first == 0x22 ? quoted() : String(FieldSyntax.trimmed(text { $0 == 0x3B || $0 == 0x2C }))
      }
      if name.hasSuffix("*") {
        guard let decoded = ContentDisposition.extendedValue(value[...].utf8) else { continue }
        name.removeLast()
        parameters[name] = decoded
      } else if !name.isEmpty, parameters[name] == nil {
        parameters[name] = value
      }
    }
    return parameters
  }

  private mutating func text(until ends: (UInt8) -> Bool) -> String {
    let text = rest.prefix { !ends($0) }
    rest = rest[text.endIndex...]
    return WireText.readable(String(Substring(text)))
  }

  /// Parses a quoted string, which the end of the value also terminates.
  private mutating func quoted() -> String {
    rest = rest.dropFirst()
    var text: [UInt8] = []
    while let octet = rest.popFirst(), octet != 0x22 {
      text.append(octet == 0x5C ? rest.popFirst() ?? octet : octet)
    }
    return WireText.readable(String(decoding: text, as: UTF8.self))
  }
}
