import Martlet
import MartletBase

/// The first private key of a PEM text (RFC 7468).
struct PEM {
  /// The name between `BEGIN` and the dashes.
  let label: String
  /// The DER encoding.
  let content: [UInt8]

  /// Parses the text; throws if it contains no private key, or one with a password.
  init(_ text: String) throws(InvalidInput) {
    let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmed }
    guard let start = lines.firstIndex(where: { $0.hasPrefix("-----BEGIN ") && $0.hasSuffix("PRIVATE KEY-----") })
    else {
      let isOther = lines.contains { $0.hasPrefix("-----BEGIN ") }
      throw InvalidInput(
        isOther ? "the PEM text contains no private key" : "the private key is not PEM: it has no BEGIN line")
    }
    label = String(lines[start].dropFirst(11).dropLast(5))
    let body = lines[(start + 1)...].prefix { !$0.hasPrefix("-----") }
    guard label != "ENCRYPTED PRIVATE KEY", !body.contains(where: { $0.hasPrefix("Proc-Type:") }) else {
      throw InvalidInput("the private key has a password: remove it with 'openssl pkey'")
    }
    guard body.endIndex < lines.endIndex, lines[body.endIndex] == "-----END \(label)-----",
      let data = Data(base64Encoded: body.joined()), !data.isEmpty
    else { throw InvalidInput("the private key's PEM text is truncated or damaged") }
    content = Array(data)
  }
}

extension Substring {
  fileprivate var trimmed: Substring {
    var text = drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}
