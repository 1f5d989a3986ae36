/// A 64-bit checksum that detects damage by disks and crashes, but no forgery.
///
/// Each step changes the state by an invertible operation, and so does each change of a word. A change within eight
/// consecutive bytes is therefore always detected, and any other change with a probability of 1 − 2⁻⁶⁴. zlib's CRC has
/// half the bits, and its library may be missing.
public struct RecordChecksum: Sendable {
  private var state: UInt64 = 0x9AE1_6A3B_2F90_404F
  /// The bytes of an incomplete word.
  private var rest: UInt64 = 0
  private var restCount: UInt64 = 0
  private var count: UInt64 = 0

  public init() {}

  public static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var sum = RecordChecksum()
    sum.update(bytes)
    return sum.value
  }

  /// Adds the next bytes; their division into chunks has no effect.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    count &+= UInt64(bytes.count)
    var place = 0
    while restCount > 0, place < bytes.count {
      take(bytes[place])
      place += 1
    }
    guard let base = bytes.baseAddress else { return }
    var state = state
    // Four words at a time: optimized builds are limited by the multiplications, others by the loop.
    while place &+ 32 <= bytes.count {
      state = Self.mix(state, UInt64(littleEndian: base.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
      state = Self.mix(state, UInt64(littleEndian: base.loadUnaligned(fromByteOffset: place &+ 8, as: UInt64.self)))
      state = Self.mix(state, UInt64(littleEndian: base.loadUnaligned(fromByteOffset: place &+ 16, as: UInt64.self)))
      state = Self.mix(state, UInt64(littleEndian: base.loadUnaligned(fromByteOffset: place &+ 24, as: UInt64.self)))
      place &+= 32
    }
    while place &+ 8 <= bytes.count {
      state = Self.mix(state, UInt64(littleEndian: base.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
      place &+= 8
    }
    self.state = state
    while place < bytes.count {
      take(bytes[place])
      place += 1
    }
  }

  /// The checksum of all bytes so far.
  public var value: UInt64 {
    var end = restCount > 0 ? Self.mix(state, rest) : state
    end = Self.mix(end, count)
    end ^= end >> 32
    end = end &* 0xD6E8_FEB8_6659_FD93
    return end ^ (end >> 32)
  }

  private mutating func take(_ byte: UInt8) {
    rest |= UInt64(byte) << (8 &* restCount)
    restCount &+= 1
    guard restCount == 8 else { return }
    state = Self.mix(state, rest)
    (rest, restCount) = (0, 0)
  }

  @inline(__always)
  private static func mix(_ state: UInt64, _ word: UInt64) -> UInt64 {
    let mixed = state ^ word
    return ((mixed << 29 | mixed >> 35) &* 0x9E37_79B9_7F4A_7C15) &+ 0x5851_F42D_4C95_7F2D
  }
}
