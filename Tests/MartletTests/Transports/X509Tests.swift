import Foundation
import Testing

@testable import Martlet

@Suite(.hangLimit) struct X509Tests {
  @Test(arguments: CertificateVector.allCases) func `finds the key that OpenSSL finds`(_ vector: CertificateVector) {
    #expect(X509.pin(of: vector.der) == vector.pin)
    // A slice's indices do not begin at 0.
    #expect(X509.pin(of: (Data([0, 0]) + vector.der).dropFirst(2)) == vector.pin)
  }

  @Test(arguments: CertificateVector.allCases)
  func `finds no key in a truncated certificate, or in one with more bytes`(_ vector: CertificateVector) {
    for count in 0..<vector.der.count { #expect(X509.pin(of: vector.der.prefix(count)) == nil, "\(count) bytes") }

    #expect(X509.pin(of: vector.der + [0]) == nil)
    #expect(X509.pin(of: vector.der + vector.der) == nil)
  }

  @Test(arguments: [CertificateVector.p256, .v1]) func `reads any changed octet`(_ vector: CertificateVector) {
    var certificate = [UInt8](vector.der)
    for index in certificate.indices {
      let octet = certificate[index]
      for changed: UInt8 in [0, 1, 0x30, 0x7F, 0x80, 0x81, 0x84, 0xFF, octet ^ 1, octet ^ 0x80] {
        certificate[index] = changed
        // The key may be the same, another one, or none.
        _ = X509.pin(of: Data(certificate))
      }
      certificate[index] = octet
    }

    #expect(X509.pin(of: Data(certificate)) == vector.pin)
  }

  // MARK: Certificates made by hand

  private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let count = content.count
    let length: [UInt8] =
      switch count {
      case ..<0x80: [UInt8(count)]
      case ..<0x100: [0x81, UInt8(count)]
      default: [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
      }
    return [tag] + length + content
  }

  private static let serial: [UInt8] = [0x02, 1, 1]
  private static let sequence: [UInt8] = [0x30, 0]
  private static let algorithm = element(0x30, [0x06, 3, 0x2B, 0x65, 0x70])
  private static let key = element(0x30, algorithm + [0x03, 3, 0, 1, 2])

  /// A certificate with the fields of its signed part, and what follows that part.
  private static func certificate(_ fields: [[UInt8]], end: [UInt8] = algorithm + [0x03, 2, 0, 1]) -> [UInt8] {
    element(0x30, element(0x30, fields.flatMap { $0 }) + end)
  }

  private static let fields = [serial, sequence, sequence, sequence, sequence, key]

  private static func withKey(_ key: [UInt8]) -> [UInt8] { certificate(fields.dropLast() + [key]) }

  @Test func `reads a certificate with every optional field`() {
    let version: [UInt8] = [0xA0, 3, 0x02, 1, 2]
    let rest: [[UInt8]] = [[0x81, 2, 0, 1], [0x82, 2, 0, 1], [0xA3, 2, 0x30, 0]]

    #expect(X509.publicKeyInfo(of: Data(Self.certificate(Self.fields))).map(Array.init) == Self.key)
    #expect(X509.publicKeyInfo(of: Data(Self.certificate([version] + Self.fields + rest))).map(Array.init) == Self.key)
  }

  private static let large = [UInt8](repeating: 0, count: 70)

  static let malformed: [(String, [UInt8])] = [
    ("nothing", []),
    ("only a tag", [0x30]),
    ("an empty sequence", [0x30, 0]),
    ("another type", element(0x31, certificate(fields))),
    ("indefinite length", [0x30, 0x80] + certificate(fields) + [0, 0]),
    ("an inner indefinite length", element(0x30, [0x30, 0x80] + fields.flatMap { $0 } + [0, 0] + algorithm)),
    ("a length beyond the data", [0x30, 0x7F] + certificate(fields)),
    ("a length in a form that is too long", [0x30, 0x81, 2, 0x30, 0]),
    ("a length with leading zeros", [0x30, 0x82, 0, 0x90] + large + large),
    ("a length of four octets", [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF] + large),
    ("a length of eight octets", [0x30, 0x88] + [UInt8](repeating: 0xFF, count: 8) + large),
    ("a length of 127 octets", [0x30, 0xFF] + [UInt8](repeating: 0xFF, count: 127) + large),
    ("an inner length beyond its parent", element(0x30, [0x30, 0x50] + fields.flatMap { $0 })),
    ("no serial number", certificate(Array(fields.dropFirst()))),
    ("no subject", certificate([serial, sequence, sequence, sequence, key])),
    ("no key", certificate([serial, sequence, sequence, sequence, sequence])),
    ("another element after the key", certificate(fields + [[0x04, 0]])),
    ("optional fields in another order", certificate(fields + [[0xA3, 0], [0x81, 0]])),
    ("no signature", certificate(fields, end: algorithm)),
    ("bytes after the signature", certificate(fields, end: algorithm + [0x03, 1, 0, 0x05, 0])),
    ("a key without an algorithm", withKey(element(0x30, [0x03, 3, 0, 1, 2]))),
    ("an algorithm without a name", withKey(element(0x30, sequence + [0x03, 3, 0, 1, 2]))),
    ("an algorithm with an empty name", withKey(element(0x30, [0x30, 2, 0x06, 0] + [0x03, 3, 0, 1, 2]))),
    ("an empty key", withKey(element(0x30, algorithm + [0x03, 1, 0]))),
    ("a key without the number of unused bits", withKey(element(0x30, algorithm + [0x03, 0]))),
    ("a key with unused bits", withKey(element(0x30, algorithm + [0x03, 3, 4, 1, 0]))),
    ("a key as a constructed string", withKey(element(0x30, algorithm + [0x23, 3, 0, 1, 2]))),
    ("bytes after the key", withKey(element(0x30, algorithm + [0x03, 3, 0, 1, 2, 0x05, 0]))),
  ]

  @Test(arguments: malformed) func `finds no key in a malformed certificate`(_ name: String, _ bytes: [UInt8]) {
    #expect(X509.publicKeyInfo(of: Data(bytes)) == nil)
  }

  @Test func `does not follow nesting`() {
    // Indefinite and definite lengths, one inside the other, a hundred thousand times.
    let open = [UInt8](repeating: 0x30, count: 200_000)
    let indefinite = [UInt8](repeatElement([0x30, 0x80] as [UInt8], count: 100_000).joined())
    var nested: [UInt8] = [0x30, 0]
    while nested.count < 60_000 { nested = Self.element(0x30, nested) }

    for bytes in [open, indefinite, nested] {
      #expect(X509.publicKeyInfo(of: Data(bytes)) == nil)
      #expect(X509.publicKeyInfo(of: Data(Self.withKey(Array(bytes.prefix(60_000))))) == nil)
    }
    // A name may contain anything, because only its length is read.
    let odd = Self.certificate([Self.serial, Self.sequence, nested, Self.sequence, Self.sequence, Self.key])
    #expect(X509.publicKeyInfo(of: Data(odd)).map(Array.init) == Self.key)
  }
}
