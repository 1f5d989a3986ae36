/// Text that keeps the octets of a peer that are not UTF-8.
///
/// A field value may contain any octet above 0x7F (RFC 9110 §5.5), and a value that is sent back must keep its octets.
/// In such a value, each of these octets becomes a private-use scalar, U+F780 to U+F7FF. Wire text can therefore be
/// parsed, cut and joined like any other text. Valid UTF-8 is unchanged, unless it contains one of these scalars.
public enum WireText {
  private static let base: UInt32 = 0xF700
  private static let scalars = (base + 0x80)...(base + 0xFF)

  /// The wire text of octets.
  public static func make(_ octets: some Collection<UInt8>) -> String {
    if let text = String(validating: octets, as: UTF8.self), !isCoded(text) { return text }
    var text = String.UnicodeScalarView()
    for octet in octets {
      text.append(octet < 0x80 ? Unicode.Scalar(octet) : Unicode.Scalar(base + UInt32(octet)) ?? "\u{FFFD}")
    }
    return String(text)
  }

  /// The octets of wire text.
  public static func octets(_ text: some StringProtocol) -> [UInt8] {
    guard isCoded(text) else { return Array(text.utf8) }
    return text.unicodeScalars.flatMap { scalar in
      scalars.contains(scalar.value) ? [UInt8(truncatingIfNeeded: scalar.value)] : Array(UTF8.encode(scalar) ?? .init())
    }
  }

  /// Wire text as a person reads it: as UTF-8, otherwise as ISO 8859-1.
  package static func readable(_ text: String) -> String { isCoded(text) ? ReceivedFields.text(octets(text)) : text }

  /// Whether the text contains octets as private-use scalars.
  package static func isCoded(_ text: some StringProtocol) -> Bool {
    // All of these scalars begin with this octet in UTF-8.
    text.utf8.contains(0xEF) && text.unicodeScalars.contains { scalars.contains($0.value) }
  }
}
