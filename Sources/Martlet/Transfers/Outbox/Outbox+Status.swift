extension Outbox {
  /// The status of an ``Outbox``.
  public struct Status: Sendable, Hashable {
    /// The requests that wait for their delivery, those that are being sent included.
    public internal(set) var pending = 0
    /// Those that this process is sending now.
    public internal(set) var sending = 0
    /// Those that this process has delivered.
    public internal(set) var delivered = 0
    /// The dead letters.
    public internal(set) var dead = 0
    /// The bytes of all that is kept.
    public internal(set) var bytes: Int64 = 0
    /// Whether this process delivers.
    public internal(set) var isSender = false
    /// The records that could not be read any more, of what a disk has damaged.
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
