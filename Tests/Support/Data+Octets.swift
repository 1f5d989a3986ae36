package import Foundation

extension Data {
  /// Many octets for a test, made one after the other.
  ///
  /// Beside other threads `(0..<count).map` is a hundred times slower: where nothing is optimized, each step asks Swift's
  /// runtime for the type of a tuple, under a lock that all threads share.
  ///
  /// - Parameters:
  ///   - count: How many.
  ///   - octet: Makes one, for its place.
  package init(count: Int, octet: (Int) -> UInt8) {
    self.init(count: count)
    withUnsafeMutableBytes { (octets: UnsafeMutableRawBufferPointer) in
      var index = 0
      while index < count {
        octets[index] = octet(index)
        index += 1
      }
    }
  }
}
