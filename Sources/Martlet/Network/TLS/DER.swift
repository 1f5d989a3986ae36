import MartletBase

/// The part of DER (X.690) that distinguishes a certificate from other data.
enum DER {
  /// Whether the bytes begin with a complete SEQUENCE.
  static func isSequence(_ data: Data) -> Bool {
    let bytes = [UInt8](data.prefix(6))
    guard bytes.count >= 2, bytes[0] == 0x30 else { return false }
    let first = bytes[1]
    if first < 0x80 { return data.count >= 2 + Int(first) }
    // The indefinite length, which PKCS #12 may have (BER, X.690 §8.1.3.6).
    if first == 0x80 { return data.count >= 4 }
    let count = Int(first & 0x7F)
    guard count <= 4, bytes.count >= 2 + count else { return false }
    let length = bytes[2..<(2 + count)].reduce(0) { $0 << 8 | Int($1) }
    return data.count - 2 - count >= length
  }
}

/// The part of a certificate (RFC 5280 §4.1) that pins refer to.
enum X509 {
  /// The DER of a certificate's `SubjectPublicKeyInfo`, or `nil` if the certificate is malformed.
  static func publicKeyInfo(of certificate: Data) -> ArraySlice<UInt8>? {
    var outside = DERReader([UInt8](certificate))
    guard let whole = outside.read(.sequence), outside.isAtEnd else { return nil }
    var parts = DERReader(whole.content)
    guard let signed = parts.read(.sequence), parts.read(.sequence) != nil, parts.read(.bitString) != nil, parts.isAtEnd
    else { return nil }
    var fields = DERReader(signed.content)
    // Version 1 has no version field.
    guard fields.skip(.version), fields.read(.integer) != nil else { return nil }
    // The signature's algorithm, the issuer, the validity, and the subject.
    for _ in 0..<4 { guard fields.read(.sequence) != nil else { return nil } }
    guard let key = fields.read(.sequence), isPublicKeyInfo(key.content) else { return nil }
    guard fields.skip(.issuerID), fields.skip(.subjectID), fields.skip(.extensions), fields.isAtEnd else { return nil }
    return key.whole
  }

  /// The pin of a certificate's public key, as `sha256//…`, or `nil` if the certificate is malformed.
  static func pin(of certificate: Data) -> String? {
    publicKeyInfo(of: certificate).map { "sha256//\(Data(SHA2.sha256($0)).base64EncodedString())" }
  }

  private static func isPublicKeyInfo(_ bytes: ArraySlice<UInt8>) -> Bool {
    var parts = DERReader(bytes)
    guard let algorithm = parts.read(.sequence), let key = parts.read(.bitString), parts.isAtEnd else { return false }
    var names = DERReader(algorithm.content)
    // The first octet counts the unused bits of the last one; keys are whole octets.
    return names.read(.objectIdentifier)?.content.isEmpty == false && key.content.first == 0 && key.content.count > 1
  }
}
