import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The lock of this package: a `Mutex` and, in debug builds, a word to the thread sanitizer.
///
/// The sanitizer does not see how a contended `Mutex` waits on Linux, and reports what it protects as a race. A debug
/// build therefore tells it about each locking and unlocking, if it is there. That can go when the sanitizer knows the
/// futex of the standard library.
package struct Locked<Value: ~Copyable>: ~Copyable, Sendable {
  private let mutex: Mutex<Value>
  private let note = LockNote()

  package init(_ value: consuming sending Value) { mutex = Mutex(value) }

  /// Runs a closure with the value, alone.
  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try mutex.withLock { value throws(Failure) in
      note.locked()
      defer { note.unlocking() }
      return try body(&value)
    }
  }

  /// Runs a closure with the value, alone, unless somebody else has it.
  package borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result? {
    try mutex.withLockIfAvailable { value throws(Failure) in
      note.locked()
      defer { note.unlocking() }
      return try body(&value)
    }
  }
}

#if DEBUG
  /// What stands for one lock towards the thread sanitizer; nothing without it.
  private struct LockNote: ~Copyable, Sendable {
    private typealias Note = @convention(c) (UnsafeMutableRawPointer) -> Void

    private static let acquire = find("__tsan_acquire")
    private static let release = find("__tsan_release")

    private let address: UInt

    init() {
      guard Self.acquire != nil else {
        address = 0
        return
      }
      address = UInt(bitPattern: UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8))
    }

    deinit { UnsafeMutableRawPointer(bitPattern: address)?.deallocate() }

    func locked() {
      if let pointer = UnsafeMutableRawPointer(bitPattern: address) { Self.acquire?(pointer) }
    }

    func unlocking() {
      if let pointer = UnsafeMutableRawPointer(bitPattern: address) { Self.release?(pointer) }
    }

    private static func find(_ name: String) -> Note? {
      dlsym(nil, name).map { unsafeBitCast($0, to: Note.self) }
    }
  }
#else
  private struct LockNote: Sendable {
    @inline(__always) func locked() {}
    @inline(__always) func unlocking() {}
  }
#endif
