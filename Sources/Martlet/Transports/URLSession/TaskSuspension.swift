#if canImport(Darwin) || URLSession
  /// Decides when a task is suspended because its reader is slow.
  ///
  /// ```
  ///   flowing ──more than highMark unread──▶ suspended ──at most lowMark unread──▶ resuming ──▶ flowing
  /// ```
  ///
  /// A reader may take the last bytes before it can see the suspension, and then waits. So after suspending, check
  /// again whether to resume.
  struct TaskSuspension: Equatable {
    enum Stage { case flowing, suspended, resuming }

    /// The number of unread bytes above which a task is suspended.
    static let highMark = 1 << 20
    /// The number of unread bytes down to which a reader must read before the task is resumed.
    static let lowMark = 256 << 10

    private(set) var stage = Stage.flowing

    /// Records the number of unread bytes after new ones have arrived; returns whether to suspend the task.
    mutating func mustSuspend(unread: Int) -> Bool {
      guard stage == .flowing, unread > Self.highMark else { return false }
      stage = .suspended
      return true
    }

    /// Records the number of unread bytes after a read; returns whether someone must now resume the task.
    mutating func mustResume(unread: Int) -> Bool {
      guard stage == .suspended, unread <= Self.lowMark else { return false }
      stage = .resuming
      return true
    }

    /// Records that the task is being resumed.
    mutating func resume() { stage = .flowing }
  }
#endif
