import Martlet
import MartletBase

/// The text of a request that a signature covers.
struct CanonicalRequest {
  /// The signed fields other than those that begin with `x-amz-`.
  private static let fields = ["content-md5", "content-type", "date", "range"]

  /// The canonical request.
  let text: String
  /// The names of the signed fields, separated by semicolons.
  let names: String

  /// The encoded name and the encoded value of an item of the query.
  typealias Item = [String]

  init(
    _ request: HTTPRequest, _ url: AbsoluteURL, query: [Item], digest: String, _ scope: SigningScope,
    additionalFields: [String]
  ) {
    let port = url.port.map { ":\($0)" } ?? ""
    var fields = ["host": request.headers["Host"].map(Self.trimmed) ?? "\(url.host)\(port)"]
    let additional = Set(additionalFields.map { FieldSyntax.lowercased($0) })
    for field in request.headers {
      let name = FieldSyntax.lowercased(field.name)
      // The signature itself becomes the value of Authorization.
      guard name.hasPrefix("x-amz-") || Self.fields.contains(name) || additional.contains(name), name != "host",
        name != "authorization"
      else { continue }
      let value = Self.trimmed(field.value)
      fields[name] = fields[name].map { "\($0),\(value)" } ?? value
    }
    let list = fields.sorted { $0.key < $1.key }
    names = list.map(\.key).joined(separator: ";")
    let head = [request.method.rawValue, Self.path(url.path, scope), Self.encoded(query)]
    text = (head + list.map { "\($0.key):\($0.value)" } + ["", names, digest]).joined(separator: "\n")
  }

  /// The items of an encoded query, encoded again from their octets; a bare name has an empty value.
  static func items(of query: String?) -> [Item] {
    Array((query ?? "").utf8).split(separator: UInt8(ascii: "&")).map { item in
      let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      return [parts[0], parts.count > 1 ? parts[1] : []].map {
        PercentEncoding.encode(PercentEncoding.decode($0, plusAsSpace: true), keeping: .unreserved)
      }
    }
  }

  /// Whether a URL contains a signature.
  static func isPresigned(_ url: AbsoluteURL) -> Bool {
    items(of: url.query).contains { $0.first == "X-Amz-Signature" }
  }

  /// Storage services decode a path and encode it once; others encode the path that was sent, without empty segments.
  static func path(_ path: String, _ scope: SigningScope) -> String {
    if scope.isStorage {
      return PercentEncoding.encode(PercentEncoding.decode(Array(path.utf8)[...]), keeping: .unreservedAndSlash)
    }
    let slash = UInt8(ascii: "/")
    let plain = path.utf8.split(separator: slash).map { PercentEncoding.encode($0, keeping: .unreserved) }
    return "/" + (plain + (plain.isEmpty || path.utf8.last != slash ? [] : [""])).joined(separator: "/")
  }

  /// Sorted by encoded names, then by encoded values.
  private static func encoded(_ query: [Item]) -> String {
    query
      .sorted { $0.lexicographicallyPrecedes($1) }
      .map { $0.joined(separator: "=") }
      .joined(separator: "&")
  }

  /// Without whitespace at the edges, and with one space instead of several.
  private static func trimmed(_ value: String) -> String {
    value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
  }
}
