/// Names that usually have a secret as their value.
///
/// Names are compared without regard to case and to the marks between their words: `X-Api-Key`, `api_key` and `apiKey`
/// are the same.
enum SecretNames {
  /// What makes a name suspect wherever it stands in it.
  private static let words = [
    "authoriz", "authentication", "cookie", "token", "secret", "password", "passwd", "passphrase", "credential",
    "apikey", "accesskey", "privatekey", "authkey", "subscriptionkey", "signature", "session", "jwt", "bearer",
    "assertion", "csrf", "xsrf",
  ]

  /// What is suspect as the whole name of a query item, of a form's field or of a member of a JSON object.
  private static let items: Set<String> = [
    "auth", "key", "sig", "pass", "pwd", "pw", "pin", "code", "otp", "totp", "sid", "hmac", "ticket", "samlresponse",
    "samlrequest", "oauthverifier", "codeverifier",
  ]

  /// Fields of CORS that only speak of credentials.
  private static let harmless: Set<String> = ["accesscontrolallowcredentials"]

  static func isSecret(field name: String) -> Bool {
    let name = folded(name)
    return words.contains { name.contains($0) } && !harmless.contains(name)
  }

  static func isSecret(item name: String) -> Bool {
    let name = folded(name)
    return items.contains(name) || words.contains { name.contains($0) }
  }

  /// The ASCII letters and digits of a name, in lower case; everything else that is not ASCII stays.
  static func folded(_ name: some StringProtocol) -> String {
    String(
      decoding: name.utf8.map(FieldSyntax.lowercased).filter { octet in
        octet >= 0x80 || 0x30...0x39 ~= octet || 0x61...0x7A ~= octet
      }, as: UTF8.self)
  }
}
