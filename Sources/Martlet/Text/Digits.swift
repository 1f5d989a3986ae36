extension BinaryInteger {
  /// The digits of a number that is not negative, with leading zeros up to a width.
  func digits(_ width: Int, radix: Int = 10) -> String {
    let text = String(self, radix: radix)
    return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
  }
}

extension Sequence<UInt8> {
  /// Two lower-case hexadecimal digits for each octet.
  package var hexadecimal: String { map { $0.digits(2, radix: 16) }.joined() }
}
