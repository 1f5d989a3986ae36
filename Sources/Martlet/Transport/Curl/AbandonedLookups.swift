#if os(Linux)
  import CMartletShim

  /// Name lookups that go on after their transfers were given up, each with the slot of its transfer.
  ///
  /// libcurl has a thread for each lookup, and no call of the system can end one. With the transfer, libcurl closes its end of
  /// the pair of sockets by which the thread would tell it of the addresses. A copy of that end tells when the thread ends,
  /// because the thread then closes the other one.
  struct AbandonedLookups {
    private struct Lookup {
      /// The transfer that began it, and which goes on if another one's lookup was quicker.
      var owner: ObjectIdentifier?
      /// That of the transfer, once it is over.
      var slot: ConnectionSlot?
      let end: Int64
    }

    /// How long a slot is kept at most, in microseconds: the resolver's own limits are shorter, unless it has many servers.
    private static let patience: Int64 = 60_000_000

    private let poll: CInt
    private var lookups: [CInt: Lookup] = [:]

    init(poll: CInt) { self.poll = poll }

    var isEmpty: Bool { lookups.isEmpty }

    /// When to look after them, if no thread ends before.
    var time: Int64? { lookups.values.lazy.map(\.end).min() }

    /// libcurl is about to close the socket of a lookup.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - owner: The transfer that it was for.
    mutating func closes(_ socket: CInt, of owner: AnyObject) {
      // What has told its addresses has ended; and from 8.9 on libcurl has something else than sockets, which tells nothing.
      let copy = martlet_copy_unwritten(socket)
      guard copy >= 0 else { return }
      guard martlet_poll_watch(poll, copy, 1, true) else { return martlet_close(copy) }
      lookups[copy] = Lookup(owner: ObjectIdentifier(owner), end: martlet_microseconds() + Self.patience)
    }

    /// A transfer is over: a lookup of its own that goes on keeps its slot.
    mutating func ends(_ owner: AnyObject, slot: ConnectionSlot) {
      let name = ObjectIdentifier(owner)
      for socket in lookups.keys where lookups[socket]?.owner == name {
        lookups[socket]?.owner = nil
        lookups[socket]?.slot = slot.handOn()
      }
    }

    /// Something has happened on a socket: if it is that of a lookup, the lookup has ended.
    mutating func act(on socket: CInt) {
      // The event may be one of a socket that had the same number.
      if lookups[socket] != nil, martlet_is_any_readable([socket], 1) { end(socket) }
    }

    private mutating func end(_ socket: CInt) {
      let lookup = lookups.removeValue(forKey: socket)
      martlet_close(socket)
      lookup?.slot?.release()
    }

    /// Ends the wait for those that take too long.
    mutating func endOverdue() {
      guard let time, time <= martlet_microseconds() else { return }
      for (socket, lookup) in lookups where lookup.end <= time { end(socket) }
    }

    /// Ends the wait for all.
    mutating func endAll() { for socket in lookups.keys { end(socket) } }
  }
#endif
