import MartletBase

/// MD5 (RFC 1321), for Digest challenges without a stronger hash.
///
/// MD5 is no longer secure. RFC 7616 §3.3 keeps it for servers that support no other hash.
enum MD5 {
  private static let shifts: [UInt32] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21]

  /// The integer parts of 2³² × |sin(i)| for i = 1 to 64 (RFC 1321 §3.4).
  private static let sines: [UInt32] = (1...64).map { UInt32(abs(sin(Double($0))) * 4_294_967_296) }

  /// The 16 octets of the hash.
  static func hash(_ message: some Collection<UInt8>) -> [UInt8] {
    var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476]
    let padded = HashPadding.pad(message, block: 64, isBigEndian: false)
    for start in stride(from: 0, to: padded.count, by: 64) {
      let words = (0..<16).map { index in
        (0..<4).reduce(UInt32(0)) { $0 | UInt32(padded[start + index * 4 + $1]) << UInt32(8 * $1) }
      }
      mix(words, into: &state)
    }
    return state.flatMap { withUnsafeBytes(of: $0.littleEndian) { Array($0) } }
  }

  private static func mix(_ words: [UInt32], into state: inout [UInt32]) {
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    for round in 0..<64 {
      let (mixed, index): (UInt32, Int) =
        switch round / 16 {
        case 0: ((b & c) | (~b & d), round)
        case 1: ((d & b) | (~d & c), (5 * round + 1) % 16)
        case 2: (b ^ c ^ d, (3 * round + 5) % 16)
        default: (c ^ (b | ~d), (7 * round) % 16)
        }
      let sum = mixed &+ a &+ sines[round] &+ words[index]
      let shift = shifts[round / 16 * 4 + round % 4]
      (a, d, c, b) = (d, c, b, b &+ (sum << shift | sum >> (32 - shift)))
    }
    state = [state[0] &+ a, state[1] &+ b, state[2] &+ c, state[3] &+ d]
  }
}

/// The padding of MD5 and SHA-2.
enum HashPadding {
  /// Pads a message to whole blocks.
  ///
  /// The padding is a one bit, zeros, and the length in bits in the last eight octets. `whole` is the number of octets
  /// of the whole message if `message` is only its end.
  static func pad(
    _ message: some Collection<UInt8>, block: Int, isBigEndian: Bool, of whole: UInt64? = nil
  ) -> [UInt8] {
    var octets = Array(message)
    let bits = (whole ?? UInt64(octets.count)) &* 8
    octets.append(0x80)
    // The length field of SHA-512 has 16 octets; a message in memory needs eight of them.
    let lengthOctets = block / 8
    while octets.count % block != block - lengthOctets { octets.append(0) }
    octets += [UInt8](repeating: 0, count: lengthOctets - 8)
    withUnsafeBytes(of: isBigEndian ? bits.bigEndian : bits.littleEndian) { octets += $0 }
    return octets
  }
}
