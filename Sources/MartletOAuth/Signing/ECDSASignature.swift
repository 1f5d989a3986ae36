import MartletBase

/// ECDSA signatures in the form of JWS: r and s, each with the curve's length (RFC 7518 §3.4).
enum ECDSASignature {
  /// Converts a DER signature; `nil` if it is not one of this length.
  static func fixed(_ der: some Sequence<UInt8>, length: Int = 32) -> [UInt8]? {
    var outer = DERReader(der)
    guard let sequence = outer.next(.sequence), outer.isAtEnd else { return nil }
    var inner = DERReader(sequence)
    guard let r = inner.positive(), let s = inner.positive(), inner.isAtEnd, r.count <= length, s.count <= length
    else { return nil }
    return [r, s].flatMap { [UInt8](repeating: 0, count: length - $0.count) + $0 }
  }
}
