import Martlet
import MartletBase

/// The content of a private key's file, for libraries that read only a part of it.
enum PrivateKeyInfo: Hashable {
  /// An RSAPrivateKey (RFC 8017 §A.1.2).
  case rsa([UInt8])
  case ed25519(seed: [UInt8])
  case curve

  /// Reads PKCS #8 (RFC 5958), PKCS #1 or SEC 1.
  init(_ pem: PEM) throws(InvalidInput) {
    switch pem.label {
    case "RSA PRIVATE KEY": self = .rsa(pem.content)
    case "EC PRIVATE KEY": self = .curve
    case "PRIVATE KEY": try self.init(pkcs8: pem.content)
    default: throw InvalidInput("'\(Printable.text(pem.label))' is not supported: use RSA, P-256 or Ed25519")
    }
  }

  private init(pkcs8 octets: [UInt8]) throws(InvalidInput) {
    var outer = DERReader(octets)
    var info = DERReader(outer.next(.sequence) ?? [])
    guard info.next(.integer) != nil, let algorithm = info.next(.sequence), let key = info.next(.octetString) else {
      throw InvalidInput("the private key is damaged")
    }
    var names = DERReader(algorithm)
    switch names.next(.objectIdentifier).map(Array.init) {
    case PublicKey.Identifier.rsa: self = .rsa(Array(key))
    case PublicKey.Identifier.curve: self = .curve
    case PublicKey.Identifier.ed25519:
      var inner = DERReader(key)
      guard let seed = inner.next(.octetString), seed.count == 32 else {
        throw InvalidInput("the Ed25519 key does not have 32 octets")
      }
      self = .ed25519(seed: Array(seed))
    default: throw InvalidInput("the private key's type is not supported: use RSA, P-256 or Ed25519")
    }
  }
}

extension PublicKey {
  /// The public half of an RSAPrivateKey (RFC 8017 §A.1.2).
  init(rsaPrivate octets: some Sequence<UInt8>) throws(InvalidInput) {
    var outer = DERReader(octets)
    var key = DERReader(outer.next(.sequence) ?? [])
    guard key.next(.integer) != nil, let modulus = key.positive(), let exponent = key.positive() else {
      throw InvalidInput("the RSA key is damaged")
    }
    try self.init(modulus: modulus, exponent: exponent)
  }
}
