import Foundation
import Martlet
import Testing

@testable import MartletBase
@testable import MartletOAuth

@Suite(.hangLimit) struct SigningTests {
  private static func octets(_ hex: String) -> [UInt8] {
    stride(from: 0, to: hex.utf8.count, by: 2).compactMap { UInt8(hex.dropFirst($0).prefix(2), radix: 16) }
  }

  private static let payload = """
    {"iss":"joe",\r\n "exp":1300819380,\r\n "http://example.com/is_root":true}
    """

  // MARK: Published vectors

  @Test(arguments: [TestKeys.rsa, TestKeys.rsaPKCS1]) func `signs RFC 7515 §A.2 with RS256`(pem: String) throws {
    let token = try OAuthKey(pem: pem).compact(#"{"alg":"RS256"}"#, Self.payload)

    #expect(
      token == """
        eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cn\
        VlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9\
        CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO\
        --xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_I\
        oypGlUPQGe77Rw
        """)
  }

  @Test func `signs RFC 8037 §A.4 with EdDSA`() throws {
    let key = try OAuthKey(pem: TestKeys.ed25519)

    let token = try key.compact(#"{"alg":"EdDSA"}"#, "Example of Ed25519 signing")

    #expect(
      token == """
        eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4k\
        i4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg
        """)
    // RFC 8037 §A.3.
    #expect(key.thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
  }

  @Test(arguments: [TestKeys.p256, TestKeys.p256SEC1]) func `reads the P-256 key of RFC 7515 §A.3`(pem: String) throws {
    let key = try OAuthKey(pem: pem, keyID: "k")

    let token = try key.compact(#"{"alg":"ES256"}"#, Self.payload).split(separator: ".")

    #expect(
      key.publicJWK == [
        "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0", "alg": "ES256", "use": "sig", "kid": "k",
      ])
    // ECDSA is random; the integration tests verify it. 86 characters are 64 octets.
    #expect(token.count == 3 && token.last?.utf8.count == 86)
  }

  @Test func `computes the thumbprints of RFC 7638 §3.1 and RFC 9449 §6.1`() throws {
    let modulus = """
      0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhM\
      stn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5\
      hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw
      """
    let rsa = PublicKey.rsa(modulus: try Self.decoded(modulus), exponent: [1, 0, 1])
    let p256 = PublicKey.p256(
      x: try Self.decoded("l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs"),
      y: try Self.decoded("9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"))

    #expect(rsa.thumbprint == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
    #expect(p256.thumbprint == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
  }

  private static func decoded(_ text: String) throws -> [UInt8] {
    let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
    let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
    return Array(try #require(Data(base64Encoded: base64 + padding)))
  }

  // MARK: Keys

  @Test func `generates different P-256 keys`() throws {
    let (one, other) = (try OAuthKey.generate(), try OAuthKey.generate())

    #expect(one.algorithm == "ES256" && one.thumbprint != other.thumbprint)
    #expect("\(one)" == "OAuthKey(ES256)")
  }

  @Test(arguments: [
    (TestKeys.p384, "the private key is on P-384: use P-256"),
    (TestKeys.rsa1024, "the RSA key has 1024 bits; it needs 2048 or more"),
    (TestKeys.ed448, "the private key is an Ed448 key: use RSA, P-256 or Ed25519"),
    (TestKeys.encrypted, "the private key has a password: remove it with 'openssl pkey'"),
    (TestKeys.publicKey, "the PEM text contains no private key"),
    ("", "the private key is not PEM: it has no BEGIN line"),
    ("-----BEGIN PRIVATE KEY-----\nMC4C", "the private key's PEM text is truncated or damaged"),
    (
      "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----",
      "libcrypto cannot read the private key: it is damaged, or of a type it does not know"
    ),
  ]) func `refuses a key that cannot sign, and says why`(pem: String, message: String) {
    let error = #expect(throws: HTTPError.self) { try OAuthKey(pem: pem) }

    #expect(error?.kind == .invalidRequest)
    #if os(Linux)
      #expect(error?.message == message)
    #endif
  }

  // MARK: Encodings

  /// Signatures in DER, and their fixed form.
  @Test(arguments: [
    // RFC 7515 §A.3.
    (
      "304502200ed1215379636c483c2f7f155807d402a3b228033af97c7e17819ac3169ea665022100c50a07d38c3c70e5d8f12daf084a5480a66590c"
        + "5f293509a8f3f7f8a83a354d5",
      "0ed1215379636c483c2f7f155807d402a3b228033af97c7e17819ac3169ea665c50a07d38c3c70e5d8f12daf084a5480a66590c5f293509a8f3f"
        + "7f8a83a354d5"
    ),
    ("3006020101020102", String(repeating: "0", count: 63) + "1" + String(repeating: "0", count: 63) + "2"),
    ("300702020080020102", String(repeating: "0", count: 62) + "80" + String(repeating: "0", count: 63) + "2"),
    // Negative, not minimal, truncated, followed by more, without s, and with another tag.
    ("3006020181020102", ""), ("300702020001020102", ""), ("30060201010201", ""), ("300602010102010200", ""),
    ("3009020101020102020103", ""), ("3003020101", ""), ("3006020101040102", ""), ("", ""), ("30", ""), ("3080", ""),
    ("30810602010102010200", ""),
    // Longer than the curve.
    ("3026022101" + String(repeating: "0", count: 64) + "020102", ""),
  ]) func `converts ECDSA signatures`(der: String, fixed: String) {
    #expect(ECDSASignature.fixed(Self.octets(der)) == (fixed.isEmpty ? nil : Self.octets(fixed)))
  }

  @Test func `reads no length that is not the shortest`() {
    // In order: 128 octets, a padded length, a length beyond the data, and an indefinite length.
    let encodings: [[UInt8]] = [
      [0x04, 0x81, 0x80] + [UInt8](repeating: 1, count: 128), [0x04, 0x81, 0x01, 0x01],
      [0x04, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x04, 0x80, 0x00, 0x00],
    ]

    let counts = encodings.map { encoding in
      var reader = DERReader(encoding)
      return reader.next(.octetString)?.count
    }

    #expect(counts == [128, nil, nil, nil])
  }

  @Test func `refuses public keys that are not whole`() throws {
    let whole = try #require(Data(base64Encoded: Self.publicKey))
    for count in 0..<whole.count {
      #expect(throws: InvalidInput.self) { try PublicKey(spki: whole.prefix(count)) }
    }
    #expect(try PublicKey(spki: whole).algorithm == "ES256")
  }

  private static var publicKey: String {
    TestKeys.publicKey.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
  }

  @Test func `finds the parts of private keys for other libraries`() throws {
    let pkcs1 = try PEM(TestKeys.rsaPKCS1)

    #expect(try PrivateKeyInfo(PEM(TestKeys.rsa)) == .rsa(pkcs1.content))
    #expect(try PrivateKeyInfo(pkcs1) == .rsa(pkcs1.content))
    #expect(try PrivateKeyInfo(PEM(TestKeys.p256)) == .curve && PrivateKeyInfo(PEM(TestKeys.p256SEC1)) == .curve)
    #expect(try PublicKey(rsaPrivate: pkcs1.content).thumbprint == OAuthKey(pem: TestKeys.rsa).thumbprint)
    #expect(throws: InvalidInput.self) { try PrivateKeyInfo(PEM(TestKeys.ed448)) }
    guard case .ed25519(let seed) = try PrivateKeyInfo(PEM(TestKeys.ed25519)) else {
      Issue.record("not an Ed25519 key")
      return
    }
    #expect(Base64URL.encode(seed) == "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
  }

  @Test func `creates unpredictable texts for URLs`() {
    let texts = Set((0..<100).map { _ in Base64URL.random() })

    #expect(texts.count == 100 && texts.allSatisfy { $0.utf8.count == 43 })
    #expect(Base64URL.encode([0xFB, 0xFF, 0xFE]) == "-__-" && Base64URL.encode([1]) == "AQ")
  }
}
