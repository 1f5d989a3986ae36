package import Foundation

extension Data {
  /// Creates test data with many octets, in turn.
  ///
  /// While other threads run, `(0..<count).map` is a hundred times slower. In a debug build, each step asks the Swift
  /// runtime for the type of a tuple, under a lock that all threads share.
  ///
  /// - Parameters:
  ///   - count: The number of octets.
  ///   - octet: Returns the octet at an index.
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
