import MartletBase

/// Writes `application/x-www-form-urlencoded` bodies, as browsers do (WHATWG URL standard, §5.2).
enum FormEncoder {
  /// Encodes fields as UTF-8; a bare name gets an empty value.
  static func encode(_ query: Query) -> Data {
    let pairs = query.items.map { "\(encode($0.name))=\(encode($0.value ?? ""))" }
    return Data(pairs.joined(separator: "&").utf8)
  }

  private static func encode(_ text: String) -> String {
    PercentEncoding.encode(text.utf8, keeping: .form, spaceAsPlus: true)
  }
}
