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
public struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
  @usableFromInline let handle = LockHandle()
  @usableFromInline let cell: _Cell<Value>

  @inlinable public init(_ value: consuming sending Value) { cell = _Cell(value) }

  @inlinable public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    handle.lock()
    defer { handle.unlock() }
    // In one expression, the sanitizer would treat this as an access to the lock as well.
    let address = cell._address
    return try body(&address.pointee)
  }

  /// Runs a closure with exclusive access, unless the lock is taken.
  @inlinable public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result? {
    guard handle.tryLock() else { return nil }
    defer { handle.unlock() }
    let address = cell._address
    return try body(&address.pointee)
  }
}

/// The lock of a `Mutex`, without a value.
///
/// A `Mutex` is inlined with all of its code wherever it is used, which took 3 % of a program.
@usableFromInline struct LockHandle: ~Copyable, Sendable {
  private let handle = _MutexHandle()
  private let note = LockNote()

  @usableFromInline init() {}

  @usableFromInline @inline(never) borrowing func lock() {
    handle.unsafeLock()
    note.locked()
  }

  @usableFromInline @inline(never) borrowing func tryLock() -> Bool {
    guard handle.unsafeTryLock() else { return false }
    note.locked()
    return true
  }

  @usableFromInline @inline(never) borrowing func unlock() {
    note.unlocking()
    handle.unsafeUnlock()
  }
}

#if DEBUG
  /// Represents one lock to the thread sanitizer; does nothing without it.
  struct LockNote: ~Copyable, Sendable {
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
  struct LockNote: Sendable {
    func locked() {}
    func unlocking() {}
  }
#endif
