/// A checksum of 64 bits that finds what disks and crashes do to bytes; it keeps off nobody who means to forge.
///
/// Each step turns the state into another by an operation that can be undone, and so do the bytes of one word: whatever
/// is changed within eight bytes in a row is found for certain, anything else but for one case in 2⁶⁴. Not zlib's CRC,
/// which has half the bits and is a library that need not be there.
struct RecordChecksum {
  private var state: UInt64 = 0x9AE1_6A3B_2F90_404F
  /// Bytes that do not fill a word yet.
  private var rest: UInt64 = 0
  private var restCount: UInt64 = 0
  private var count: UInt64 = 0

  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var sum = RecordChecksum()
    sum.update(bytes)
    return sum.value
  }

  /// Adds the next bytes; how they are cut into pieces makes no difference.
  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    count &+= UInt64(bytes.count)
    var place = 0
    while restCount > 0, place < bytes.count {
      take(bytes[place])
      place += 1
    }
    guard let base = bytes.baseAddress else { return }
    var state = state
    // Four at a time: an optimised build spends its time on multiplying, any other one on the loop.
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

  /// The checksum of all bytes up to now.
  var value: UInt64 {
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
