import Foundation
import Synchronization

#if MARTLET_PTHREAD_LOCKS
  /// `Mutex` on top of a pthread lock, for the thread sanitizer.
  ///
  /// The sanitizer does not see how a contended `Mutex` waits on Linux and reports what it protects as a race. Build
  /// with `-Xswiftc -DMARTLET_PTHREAD_LOCKS` beside `--sanitize=thread`.
  ///
  /// Unchecked because the compiler cannot see that `value` is only touched between locking and unlocking `lock`.
  final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    init(_ value: Value) {
      self.value = value
      lock = .allocate(capacity: 1)
      lock.initialize(to: pthread_mutex_t())
      pthread_mutex_init(lock, nil)
    }

    deinit {
      pthread_mutex_destroy(lock)
      lock.deallocate()
    }

    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
      pthread_mutex_lock(lock)
      defer { pthread_mutex_unlock(lock) }
      return body(&value)
    }
  }
#else
  /// The lock of this module.
  typealias Locked<Value> = Mutex<Value>
#endif
