/// Decimal numbers at the limits of all integer types: 2ᵏ - 1, 2ᵏ, 2ᵏ + 1 for k up to 128, and 10⁴⁰⁰.
package enum HostileNumber {
  /// The text of each number, and its value if it fits into `UInt64`.
  package static let all: [(text: String, value: UInt64?)] = {
    var numbers: [String] = []
    // The digits, in reverse order.
    var power: [Int] = [1]
    for _ in 0...128 {
      // No power of two ends in 0 or 9, so there is no carry.
      for last in power[0] - 1...power[0] + 1 {
        numbers.append(power.dropFirst().reversed().map(String.init).joined() + "\(last)")
      }
      power = doubled(power)
    }
    numbers.append("1" + String(repeating: "0", count: 400))
    return numbers.map { ($0, UInt64($0)) }
  }()

  private static func doubled(_ digits: [Int]) -> [Int] {
    var carried = 0
    var result = digits.map { digit in
      defer { carried = digit > 4 ? 1 : 0 }
      return digit * 2 % 10 + carried
    }
    if carried > 0 { result.append(1) }
    return result
  }
}
