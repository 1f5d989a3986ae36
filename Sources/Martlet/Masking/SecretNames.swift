/// Names whose values are usually secret.
///
/// Names are compared ignoring case and the marks between their words: `X-Api-Key`, `api_key` and `apiKey` are the
/// same.
enum SecretNames {
  /// Words that make every name that contains them suspect, by their first letter.
  private static let words = byLetter([
    "authoriz", "authentication", "cookie", "token", "secret", "password", "passwd", "passphrase", "credential",
    "apikey", "accesskey", "privatekey", "authkey", "subscriptionkey", "signature", "session", "jwt", "bearer",
    "assertion", "csrf", "xsrf", "functionskey", "githubotp",
  ])

  /// Suspect whole names of query items, form fields and members of JSON objects.
  private static let items = Set(
    [
      "auth", "key", "sig", "pass", "pwd", "pw", "pin", "code", "otp", "totp", "sid", "hmac", "ticket", "samlresponse",
      "samlrequest", "oauthverifier", "codeverifier", "devicecode", "usercode",
    ].map { Array($0.utf8) })

  /// A CORS field that only mentions credentials.
  private static let harmless = Array("accesscontrolallowcredentials".utf8)
  private static let auth = Array("xauth".utf8)

  static func isSecret(field name: String) -> Bool { isSecret(foldedField: folded(name)) }

  static func isSecret(foldedField name: [UInt8]) -> Bool {
    hasWord(name) && name != harmless || name == auth
  }

  static func isSecret(foldedItem name: [UInt8]) -> Bool {
    // All items have 2 to 13 octets.
    2...13 ~= name.count && items.contains(name) || hasWord(name)
  }

  private static func byLetter(_ words: [String]) -> [[[UInt8]]] {
    (0x61...0x7A).map { letter in words.map { Array($0.utf8) }.filter { $0.first == letter } }
  }

  private static func hasWord(_ name: [UInt8]) -> Bool {
    name.indices.contains { start in
      let letter = Int(name[start]) - 0x61
      return words.indices.contains(letter) && words[letter].contains { name[start...].starts(with: $0) }
    }
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

  // MARK: Names of names

  /// The maximum length of a value that may be the name of another value.
  static let maximumLength = 64

  /// Members and attributes whose value is the name of another value, folded.
  static let naming = names([
    "name", "key", "id", "field", "fieldname", "header", "headername", "property", "propertyname", "param", "parameter",
    "parametername", "attribute", "attributename", "variable", "label", "httpequiv", "k", "n",
  ])

  /// Members that often contain a named value, folded.
  static let named = names([
    "value", "val", "v", "content", "contents", "data", "text", "string", "default", "defaultvalue", "stringvalue",
    "raw",
  ])

  /// Elements of markup that are not secret: `<Key>photo.jpg</Key>`, `<code>swift test</code>`.
  static func isHarmlessElement(_ name: [UInt8]) -> Bool { harmlessElements.contains(name) }

  /// Whether a name with a colon also occurs in ordinary sentences: `exit code: 1`, `401 Unauthorized: the server …`.
  static func isWeak(_ name: [UInt8]) -> Bool { weak.contains(name) }

  private static let harmlessElements = names(["key", "code"])
  private static let weak = names(["key", "code", "ticket", "unauthorized"])

  private static func names(_ names: [String]) -> Set<[UInt8]> { Set(names.map { Array($0.utf8) }) }
}
