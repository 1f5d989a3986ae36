/// Decimal numbers at the ends of all integer types: 2ᵏ - 1, 2ᵏ, 2ᵏ + 1 for k up to 128, and 10⁴⁰⁰.
enum HostileNumber {
  /// The text of each, with its value if that fits into 64 bits without a sign.
  static let all: [(text: String, value: UInt64?)] = {
    var numbers: [(String, UInt64?)] = []
    for power in 0..<128 {
      let middle = UInt128(1) << UInt128(power)
      for value in [middle - 1, middle, middle + 1] { numbers.append(("\(value)", UInt64(exactly: value))) }
    }
    numbers.append(("\(UInt128.max)", nil))
    numbers.append(("340282366920938463463374607431768211456", nil))
    numbers.append(("340282366920938463463374607431768211457", nil))
    numbers.append(("1" + String(repeating: "0", count: 400), nil))
    return numbers
  }()
}
