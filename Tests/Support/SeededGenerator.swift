/// A generator whose random numbers are the same in every run: SplitMix64.
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) {
    state = seed
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

extension SeededGenerator {
  /// Returns random octets or a damaged sample, because pure noise seldom gets far into a parser.
  package mutating func damagedText(of samples: [String]) -> String {
    var octets: [UInt8]
    if let sample = samples.randomElement(using: &self), Bool.random(using: &self) {
      octets = Array(sample.utf8)
      for _ in 0..<Int.random(in: 0...4, using: &self) where !octets.isEmpty {
        let place = octets.indices.randomElement(using: &self) ?? 0
        switch Int.random(in: 0..<3, using: &self) {
        case 0: octets[place] = UInt8.random(in: 0...255, using: &self)
        case 1: octets.remove(at: place)
        default: octets.insert(octets[Int.random(in: octets.indices, using: &self)], at: place)
        }
      }
    } else {
      let count = Int.random(in: 0...48, using: &self)
      octets = (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }
    return String(decoding: octets, as: UTF8.self)
  }
}
