public import Martlet
import MartletBase

/// A private key that signs for a client: its assertions and its proofs of possession.
///
/// ```swift
/// let key = try OAuthKey(pem: text, keyID: "2026-11")
/// ```
///
/// On Linux, the system's libcrypto signs (OpenSSL 1.1.1 or later, or LibreSSL); on Apple platforms, CryptoKit and
/// Security. `description` and `dump` do not reveal the key.
public struct OAuthKey: Sendable {
  private let key: any SigningKey
  let publicKey: PublicKey
  /// The name under which the server knows the public key (`kid`), or `nil`.
  public let keyID: String?

  /// Reads a private key.
  ///
  /// - Parameters:
  ///   - pem: The key in PEM without a password: PKCS #8 (`BEGIN PRIVATE KEY`), PKCS #1 (`BEGIN RSA PRIVATE KEY`) or SEC
  ///     1 (`BEGIN EC PRIVATE KEY`). RSA with at least 2,048 bits signs with RS256, P-256 with ES256, and Ed25519 with
  ///     EdDSA.
  ///   - keyID: The name under which the server knows the public key.
  /// - Throws: `HTTPError` of kind `invalidRequest` if the text is not such a key, or `unsupported` without libcrypto.
  public init(pem: String, keyID: String? = nil) throws {
    let key: any SigningKey
    do {
      key = try SystemKey.read(PEM(pem), text: pem)
    } catch let error as InvalidInput {
      throw HTTPError(.invalidRequest, error.message)
    }
    (self.key, publicKey, self.keyID) = (key, key.publicKey, keyID)
  }

  /// Generates a P-256 key, which signs with ES256.
  ///
  /// It exists only in this process.
  ///
  /// - Returns: The key.
  /// - Throws: `HTTPError` of kind `unsupported` without libcrypto.
  public static func generate() throws -> OAuthKey { OAuthKey(try SystemKey.generate()) }

  private init(_ key: any SigningKey) { (self.key, publicKey, keyID) = (key, key.publicKey, nil) }

  /// The algorithm of its signatures: `RS256`, `ES256` or `EdDSA`.
  public var algorithm: String { publicKey.algorithm }

  /// The public key as a JSON Web Key (RFC 7517), for registering it at a server.
  public var publicJWK: JSONValue {
    guard var members = publicKey.jwk.object else { return publicKey.jwk }
    members["alg"] = .string(algorithm)
    members["use"] = "sig"
    if let keyID { members["kid"] = .string(keyID) }
    return .object(members)
  }

  /// The SHA-256 thumbprint of the public key (RFC 7638), which DPoP calls `jkt`.
  public var thumbprint: String { publicKey.thumbprint }

  /// A signed JSON Web Token in compact form (RFC 7515 §7.1).
  func token(_ claims: JSONValue, type: String, header: [String: JSONValue] = [:]) throws -> String {
    var header = header
    header["alg"] = .string(algorithm)
    header["typ"] = .string(type)
    return try compact(JSONValue.object(header).description, claims.description)
  }

  /// Signs a header and a payload.
  func compact(_ header: String, _ payload: String) throws -> String {
    let input = "\(Base64URL.encode(header.utf8)).\(Base64URL.encode(payload.utf8))"
    guard let signature = key.signature(of: Array(input.utf8)) else {
      throw HTTPError(.unsupported, "the system's library does not sign with \(algorithm)")
    }
    return "\(input).\(Base64URL.encode(signature))"
  }
}

extension OAuthKey: CustomStringConvertible, CustomReflectable {
  /// The algorithm and the key's name.
  public var description: String { "OAuthKey(\(algorithm)\(keyID.map { ", \(Printable.text($0))" } ?? ""))" }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A private key of the system's library.
protocol SigningKey: Sendable {
  var publicKey: PublicKey { get }

  /// The signature in the form of JWS; `nil` if the library fails.
  func signature(of message: [UInt8]) -> [UInt8]?
}
