/// The masking of a frame's payload (RFC 6455 §5.3).
///
/// Masking twice restores the payload.
struct FrameMask {
  /// The key as it is read from memory.
  private let word: UInt32

  /// Creates a mask from a key whose first octet on the wire is the most significant.
  init(key: UInt32) { word = UInt32(bigEndian: key) }

  /// Stores the masked `source` in `target`; both may be the same memory.
  ///
  /// The first octet belongs to position `offset` of the payload. `target` must not be shorter than `source`.
  func apply(to source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, at offset: Int = 0) {
    guard let from = source.baseAddress, let to = target.baseAddress else { return }
    let count = min(source.count, target.count)
    let rotated = rotated(by: offset)
    let double = UInt64(rotated) << 32 | UInt64(rotated)
    let wide = SIMD4<UInt64>(repeating: double)
    var index = 0
    while count - index >= 32 {
      let masked = from.loadUnaligned(fromByteOffset: index, as: SIMD4<UInt64>.self) ^ wide
      to.storeBytes(of: masked, toByteOffset: index, as: SIMD4<UInt64>.self)
      index += 32
    }
    while count - index >= 8 {
      let masked = from.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ double
      to.storeBytes(of: masked, toByteOffset: index, as: UInt64.self)
      index += 8
    }
    withUnsafeBytes(of: rotated) { key in
      while index < count {
        let masked = from.load(fromByteOffset: index, as: UInt8.self) ^ key[index & 3]
        to.storeBytes(of: masked, toByteOffset: index, as: UInt8.self)
        index += 1
      }
    }
  }

  /// Masks memory in place.
  func apply(to memory: UnsafeMutableRawBufferPointer, at offset: Int = 0) {
    apply(to: UnsafeRawBufferPointer(memory), into: memory, at: offset)
  }

  private func rotated(by offset: Int) -> UInt32 {
    let bits = UInt32(truncatingIfNeeded: (offset & 3) * 8)
    // The first octet of the key is the lowest of the word on little-endian processors only.
    let first = UInt32(littleEndian: word)
    return UInt32(littleEndian: first &>> bits | first &<< (32 &- bits))
  }
}
