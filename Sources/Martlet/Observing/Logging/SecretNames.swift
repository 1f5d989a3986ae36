/// Names whose values are usually secret.
///
/// Names are compared ignoring case and the marks between their words: `X-Api-Key`, `api_key` and `apiKey` are the
/// same.
enum SecretNames {
  /// Words that make every name that contains them suspect.
  private static let words = WordFinder([
    "authoriz", "authentication", "cookie", "token", "secret", "password", "passwd", "passphrase", "credential",
    "apikey", "accesskey", "privatekey", "authkey", "subscriptionkey", "signature", "session", "jwt", "bearer",
    "assertion", "csrf", "xsrf", "functionskey", "githubotp",
  ])

  /// Suspect whole names of query items, form fields and members of JSON objects.
  private static let items = Set(
    [
      "auth", "key", "sig", "pass", "pwd", "pw", "pin", "code", "otp", "totp", "sid", "hmac", "ticket", "samlresponse",
      "samlrequest", "oauthverifier", "codeverifier",
    ].map { Array($0.utf8) })

  /// A CORS field that only mentions credentials.
  private static let harmless = Array("accesscontrolallowcredentials".utf8)
  private static let auth = Array("xauth".utf8)

  static func isSecret(field name: String) -> Bool { isSecret(foldedField: folded(name)) }

  static func isSecret(foldedField name: [UInt8]) -> Bool {
    words.finds(in: name) && name != harmless || name == auth
  }

  static func isSecret(foldedItem name: [UInt8]) -> Bool {
    // All items have 2 to 13 octets.
    2...13 ~= name.count && items.contains(name) || words.finds(in: name)
  }

  /// The ASCII letters and digits of a name in lower case, and all non-ASCII octets.
  static func folded(_ name: some StringProtocol) -> [UInt8] { folded(name.utf8) }

  static func folded(_ name: some Sequence<UInt8>) -> [UInt8] { name.compactMap(foldedOctet) }

  private static func foldedOctet(_ octet: UInt8) -> UInt8? {
    switch octet {
    case 0x30...0x39, 0x61...0x7A, 0x80...: octet
    case 0x41...0x5A: octet | 0x20
    default: nil
    }
  }

  /// The encoding of a name.
  enum Coding {
    /// As in a URL and in a form, where the comparison also ignores a `+`.
    case percent
    /// As in a string of JSON (RFC 8259 §7).
    case json
  }

  /// Writes the folded form of a name into a reused buffer.
  static func fold(_ name: ArraySlice<UInt8>, _ coding: Coding, into result: inout [UInt8]) {
    result.removeAll(keepingCapacity: true)
    var index = name.startIndex
    while index < name.endIndex {
      let octet = name[index]
      index += 1
      switch (coding, octet) {
      case (.percent, UInt8(ascii: "%")):
        guard let decoded = PercentEncoding.triplet(at: index - 1, in: name) else { continue }
        if let octet = foldedOctet(decoded) { result.append(octet) }
        index += 2
      case (.json, UInt8(ascii: "\\")):
        guard let scalar = escaped(name, &index) else { continue }
        result.append(contentsOf: String(scalar).utf8.lazy.compactMap(foldedOctet))
      default: if let octet = foldedOctet(octet) { result.append(octet) }
      }
    }
  }

  private static let controls = ASCIISet("bfnrt")

  /// The character after a backslash, or `nil` for one that the comparison ignores.
  private static func escaped(_ text: ArraySlice<UInt8>, _ index: inout Int) -> Unicode.Scalar? {
    guard index < text.endIndex else { return nil }
    if let unit = unit(text, index) {
      index += 5
      guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) }
      guard index < text.endIndex, text[index] == UInt8(ascii: "\\"), let second = Self.unit(text, index + 1),
        UTF16.isTrailSurrogate(second)
      else { return nil }
      index += 6
      return Unicode.Scalar(0x10000 + UInt32(unit & 0x3FF) << 10 + UInt32(second & 0x3FF))
    }
    // These stand for control characters; any other character stands for itself.
    if controls.contains(text[index]) { index += 1 }
    return nil
  }

  /// Parses a `u` and four hexadecimal digits as a UTF-16 unit.
  private static func unit(_ text: ArraySlice<UInt8>, _ start: Int) -> UInt16? {
    guard text.endIndex - start > 4, text[start] == UInt8(ascii: "u") else { return nil }
    var unit: UInt16 = 0
    for octet in text[(start + 1)...(start + 4)] {
      guard let digit = PercentEncoding.hexValue(octet) else { return nil }
      unit = unit << 4 | UInt16(digit)
    }
    return unit
  }
}
