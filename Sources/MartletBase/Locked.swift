public import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The lock of this package: a `Mutex` that informs the thread sanitizer.
///
/// On Linux the sanitizer does not see how a contended `Mutex` waits, and reports data that it protects as a race. So a
/// debug build reports each locking and unlocking to the sanitizer, if it is present. Remove that when the sanitizer
/// supports the standard library's futex.
public struct Locked<Value: ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let mutex: Mutex<Value>
  @usableFromInline let note = LockNote()

  @inlinable public init(_ value: consuming sending Value) { mutex = Mutex(value) }

  @inlinable public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try mutex.withLock { value throws(Failure) in
      note.locked()
      defer { note.unlocking() }
      return try body(&value)
    }
  }

  /// Runs a closure with exclusive access, unless the lock is taken.
  @inlinable public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
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
  /// Represents one lock to the thread sanitizer; does nothing without it.
  @usableFromInline struct LockNote: ~Copyable, Sendable {
    private typealias Note = @convention(c) (UnsafeMutableRawPointer) -> Void

    private static let acquire = find("__tsan_acquire")
    private static let release = find("__tsan_release")

    private let address: UInt

    @usableFromInline init() {
      guard Self.acquire != nil else {
        address = 0
        return
      }
      address = UInt(bitPattern: UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8))
    }

    @usableFromInline deinit { UnsafeMutableRawPointer(bitPattern: address)?.deallocate() }

    @usableFromInline func locked() {
      if let pointer = UnsafeMutableRawPointer(bitPattern: address) { Self.acquire?(pointer) }
    }

    @usableFromInline func unlocking() {
      if let pointer = UnsafeMutableRawPointer(bitPattern: address) { Self.release?(pointer) }
    }

    private static func find(_ name: String) -> Note? {
      dlsym(nil, name).map { unsafeBitCast($0, to: Note.self) }
    }
  }
#else
  @usableFromInline struct LockNote: Sendable {
    @inlinable init() {}
    @inlinable @inline(__always) func locked() {}
    @inlinable @inline(__always) func unlocking() {}
  }
#endif
