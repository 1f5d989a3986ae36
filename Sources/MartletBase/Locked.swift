public import Synchronization

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
@usableFromInline package struct Locked<Value: ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let mutex: Mutex<Value>
  @usableFromInline let note = LockNote()

  @inlinable package init(_ value: consuming sending Value) { mutex = Mutex(value) }

  /// Runs a closure with the value, alone.
  @inlinable package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try mutex.withLock { value throws(Failure) in
      note.locked()
      defer { note.unlocking() }
      return try body(&value)
    }
  }

  /// Runs a closure with the value, alone, unless somebody else has it.
  @inlinable package borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
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
