import Foundation

/// A pipe that wakes a thread waiting in `poll`.
///
/// The descriptors live as long as the object, and every thread that may raise the signal holds a reference. So no
/// thread writes to a descriptor that was closed and reused for another file.
final class SignalPipe: Sendable {
  /// The descriptor that becomes readable when the signal is raised.
  let readEnd: Int32
  private let writeEnd: Int32

  init() throws {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw MockServerError(operation: "pipe", code: errno) }
    (readEnd, writeEnd) = (ends[0], ends[1])
    Sockets.configure(readEnd)
    Sockets.configure(writeEnd)
  }

  deinit {
    Sockets.close(readEnd)
    Sockets.close(writeEnd)
  }

  /// Makes the pipe readable; a full pipe is readable already.
  func raise() {
    var byte: UInt8 = 1
    _ = write(writeEnd, &byte, 1)
  }

  func clear() {
    var bytes: [UInt8] = [UInt8](repeating: 0, count: 64)
    while read(readEnd, &bytes, bytes.count) == bytes.count {}
  }

  func wait(milliseconds: Int32) {
    var poller = Poller()
    poller.add(readEnd, reads: true, writes: false)
    poller.wait(milliseconds: milliseconds)
  }
}
