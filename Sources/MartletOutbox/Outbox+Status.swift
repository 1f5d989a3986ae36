public import Martlet

extension Outbox {
  /// The status of an ``Outbox``.
  public struct Status: Sendable, Hashable {
    /// The number of pending requests, including those being sent.
    public internal(set) var pending = 0
    /// The number of requests that this process is sending.
    public internal(set) var sending = 0
    /// The number of requests that this process has delivered.
    public internal(set) var delivered = 0
    /// The number of dead letters.
    public internal(set) var dead = 0
    /// The number of bytes of all stored requests.
    public internal(set) var bytes: Int64 = 0
    /// Whether this process sends the requests.
    public internal(set) var isSender = false
    /// The number of records that the disk has damaged.
    public internal(set) var damaged = 0

    static func + (one: Status, other: Status) -> Status {
      var sum = one
      sum.pending += other.pending
      sum.sending += other.sending
      sum.delivered += other.delivered
      sum.dead += other.dead
      sum.bytes += other.bytes
      sum.damaged += other.damaged
      sum.isSender = one.isSender || other.isSender
      return sum
    }
  }
}

extension ActivityMonitor.Snapshot {
  /// The combined status of the client's outboxes.
  public var outbox: Outbox.Status {
    work.lazy.compactMap { $0 as? Outbox.Status }.reduce(Outbox.Status(), +)
  }
}
