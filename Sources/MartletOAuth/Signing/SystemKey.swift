import Martlet
import MartletBase

#if os(Linux)
  import CMartletShim

  /// A key of libcrypto.
  final class SystemKey: SigningKey {
    /// The longest signature, of an RSA key with 16,384 bits, and the longest public key.
    private static let capacity = 4096

    let publicKey: PublicKey
    private let handle: Locked<UnsafeMutableRawPointer>

    private init(owning pointer: sending UnsafeMutableRawPointer) throws(InvalidInput) {
      var octets = [UInt8](repeating: 0, count: Self.capacity)
      let count = martlet_key_public(pointer, &octets, octets.count)
      do throws(InvalidInput) {
        publicKey = try PublicKey(spki: octets.prefix(count))
      } catch {
        martlet_key_free(pointer)
        throw error
      }
      handle = Locked(pointer)
    }

    deinit { handle.withLock { martlet_key_free($0) } }

    static func read(_ pem: PEM, text: String) throws -> SystemKey {
      try check()
      let text = Array(text.utf8)
      guard let pointer = martlet_key_read(text, text.count) else {
        throw InvalidInput("libcrypto cannot read the private key: it is damaged, or of a type it does not know")
      }
      return try SystemKey(owning: pointer)
    }

    static func generate() throws -> SystemKey {
      try check()
      guard let pointer = martlet_key_new() else {
        throw HTTPError(.unsupported, "the system's libcrypto cannot generate a P-256 key")
      }
      return try SystemKey(owning: pointer)
    }

    private static func check() throws {
      guard martlet_keys_are_usable() else {
        throw HTTPError(
          .unsupported, "signing needs libcrypto (OpenSSL 1.1.1 or later, or LibreSSL): install libssl3 or openssl-libs"
        )
      }
    }

    func signature(of message: [UInt8]) -> [UInt8]? {
      var octets = [UInt8](repeating: 0, count: Self.capacity)
      let isHashed = if case .ed25519 = publicKey { false } else { true }
      let count = handle.withLock {
        martlet_key_sign($0, isHashed, message, message.count, &octets, octets.count)
      }
      guard count > 0 else { return nil }
      if case .p256 = publicKey { return ECDSASignature.fixed(octets.prefix(count)) }
      return Array(octets.prefix(count))
    }
  }
#elseif canImport(CryptoKit) && canImport(Security)
  import CryptoKit
  import Security

  /// A key of CryptoKit, or an RSA key of Security.
  final class SystemKey: SigningKey {
    private enum Key: Sendable {
      case p256(P256.Signing.PrivateKey)
      case ed25519(Curve25519.Signing.PrivateKey)
      case rsa(pkcs1: [UInt8])
    }

    let publicKey: PublicKey
    private let key: Key

    private init(_ key: Key) throws(InvalidInput) {
      self.key = key
      publicKey =
        switch key {
        case .p256(let key): try PublicKey(p256: key.publicKey.x963Representation)
        case .ed25519(let key): .ed25519(Array(key.publicKey.rawRepresentation))
        case .rsa(let octets): try PublicKey(rsaPrivate: octets)
        }
    }

    static func read(_ pem: PEM, text: String) throws -> SystemKey {
      switch try PrivateKeyInfo(pem) {
      case .rsa(let octets): return try SystemKey(.rsa(pkcs1: octets))
      case .ed25519(let seed):
        guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: Data(seed)) else { break }
        return try SystemKey(.ed25519(key))
      case .curve:
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: text) else { break }
        return try SystemKey(.p256(key))
      }
      throw InvalidInput("the private key is damaged, or not on P-256: use RSA, P-256 or Ed25519")
    }

    static func generate() throws -> SystemKey { try SystemKey(.p256(P256.Signing.PrivateKey())) }

    func signature(of message: [UInt8]) -> [UInt8]? {
      switch key {
      case .p256(let key): return (try? key.signature(for: Data(message))).map { Array($0.rawRepresentation) }
      case .ed25519(let key): return (try? key.signature(for: Data(message))).map { Array($0) }
      case .rsa(let octets):
        let attributes: [CFString: Any] = [
          kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
        ]
        guard let key = SecKeyCreateWithData(Data(octets) as CFData, attributes as CFDictionary, nil),
          let signature = SecKeyCreateSignature(
            key, .rsaSignatureMessagePKCS1v15SHA256, Data(message) as CFData, nil)
        else { return nil }
        return Array(signature as Data)
      }
    }
  }
#else
  /// Without a library, no key can be read.
  struct SystemKey: SigningKey {
    let publicKey: PublicKey

    static func read(_ pem: PEM, text: String) throws -> SystemKey { try generate() }

    static func generate() throws -> SystemKey {
      throw HTTPError(.unsupported, "signing needs libcrypto on Linux, or CryptoKit on Apple platforms")
    }

    func signature(of message: [UInt8]) -> [UInt8]? { nil }
  }
#endif
