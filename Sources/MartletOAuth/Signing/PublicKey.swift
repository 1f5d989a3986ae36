import Martlet
import MartletBase

/// A public key for the supported signatures.
enum PublicKey: Sendable, Hashable {
  case rsa(modulus: [UInt8], exponent: [UInt8])
  case p256(x: [UInt8], y: [UInt8])
  case ed25519([UInt8])

  enum Identifier {
    static let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
    static let rsaPSS: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0A]
    static let curve: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    static let p256: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
    static let p384: [UInt8] = [0x2B, 0x81, 0x04, 0x00, 0x22]
    static let ed25519: [UInt8] = [0x2B, 0x65, 0x70]
    static let ed448: [UInt8] = [0x2B, 0x65, 0x71]
    static let x25519: [UInt8] = [0x2B, 0x65, 0x6E]
  }

  /// Parses a SubjectPublicKeyInfo (RFC 5280 §4.1.2.7).
  ///
  /// Throws if the key's type is not supported, or an RSA key has fewer than 2,048 bits (RFC 7518 §3.3).
  init(spki: some Sequence<UInt8>) throws(InvalidInput) {
    var outer = DERReader(spki)
    var info = DERReader(outer.next(.sequence) ?? [])
    var algorithm = DERReader(info.next(.sequence) ?? [])
    guard outer.isAtEnd, let name = algorithm.next(.objectIdentifier), let bits = info.next(.bitString), bits.first == 0
    else { throw InvalidInput("the private key's public half cannot be read") }
    let key = bits.dropFirst()
    switch Array(name) {
    case Identifier.rsa: try self.init(rsa: key)
    case Identifier.curve:
      let curve = algorithm.next(.objectIdentifier).map(Array.init)
      guard curve == Identifier.p256 else {
        let name = curve == Identifier.p384 ? "P-384" : "another curve"
        throw InvalidInput("the private key is on \(name): use P-256")
      }
      try self.init(p256: key)
    case Identifier.ed25519:
      guard key.count == 32 else { throw InvalidInput("the Ed25519 key does not have 32 octets") }
      self = .ed25519(Array(key))
    case let other: throw Self.unsupported(other)
    }
  }

  private static func unsupported(_ identifier: [UInt8]) -> InvalidInput {
    let name =
      switch identifier {
      case Identifier.rsaPSS: "an RSA key for PSS only"
      case Identifier.ed448: "an Ed448 key"
      case Identifier.x25519: "an X25519 key"
      default: "of an unknown type"
      }
    return InvalidInput("the private key is \(name): use RSA, P-256 or Ed25519")
  }

  /// Parses an RSAPublicKey (RFC 8017 §A.1.1).
  init(rsa octets: some Sequence<UInt8>) throws(InvalidInput) {
    var outer = DERReader(octets)
    var key = DERReader(outer.next(.sequence) ?? [])
    guard outer.isAtEnd, let modulus = key.positive(), let exponent = key.positive(), key.isAtEnd else {
      throw InvalidInput("the RSA key cannot be read")
    }
    try self.init(modulus: modulus, exponent: exponent)
  }

  init(modulus: ArraySlice<UInt8>, exponent: ArraySlice<UInt8>) throws(InvalidInput) {
    let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
    guard bits >= 2048 else { throw InvalidInput("the RSA key has \(bits) bits; it needs 2048 or more") }
    guard bits <= 16_384 else { throw InvalidInput("the RSA key has \(bits) bits; at most 16384 are supported") }
    self = .rsa(modulus: Array(modulus), exponent: Array(exponent))
  }

  /// Parses an uncompressed point (SEC 1 §2.3.3).
  init(p256 point: some Sequence<UInt8>) throws(InvalidInput) {
    let octets = Array(point)
    guard octets.count == 65, octets[0] == 4 else {
      throw InvalidInput("the P-256 key's point is compressed: convert it with 'openssl pkey'")
    }
    self = .p256(x: Array(octets[1...32]), y: Array(octets[33...]))
  }

  /// The algorithm of its signatures (RFC 7518 §3.1, RFC 8037 §3.1).
  var algorithm: String {
    switch self {
    case .rsa: "RS256"
    case .p256: "ES256"
    case .ed25519: "EdDSA"
    }
  }

  /// The required members of its JSON Web Key (RFC 7517), which its thumbprint covers.
  var jwk: JSONValue {
    switch self {
    case .rsa(let modulus, let exponent):
      ["kty": "RSA", "n": .string(Base64URL.encode(modulus)), "e": .string(Base64URL.encode(exponent))]
    case .p256(let x, let y):
      ["kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(x)), "y": .string(Base64URL.encode(y))]
    case .ed25519(let octets): ["kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(octets))]
    }
  }

  /// The SHA-256 thumbprint (RFC 7638).
  ///
  /// The description of the members is in the required form: sorted by name, without spaces.
  var thumbprint: String { Base64URL.encode(SHA2.sha256(Array(jwk.description.utf8))) }
}
