#if canImport(Darwin)
  import Foundation
#else
  @_spi(_Unicode) import Swift
#endif

extension String {
  /// The text in Normalization Form C, in which Basic and Digest send names and passwords (RFC 7617 §2.1, RFC 7616 §4).
  var composed: String {
    guard !utf8.allSatisfy({ $0 < 0x80 }) else { return self }
    #if canImport(Darwin)
      return precomposedStringWithCanonicalMapping
    #else
      // Foundation's property calls the same, and FoundationEssentials does not have that property.
      var scalars = UnicodeScalarView()
      scalars.append(contentsOf: _nfc)
      return String(scalars)
    #endif
  }
}
