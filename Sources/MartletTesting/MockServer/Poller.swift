import Foundation

/// The descriptors for `poll`, listed again for every turn of the loop.
struct Poller {
  /// The events of one descriptor.
  struct Readiness {
    let isReadable: Bool
    let isWritable: Bool
    /// Whether the peer reset the connection, or both directions are closed.
    ///
    /// This is reported even if no events were requested.
    let isBroken: Bool
  }

  #if os(Linux) || os(Android)
    /// `POLLRDHUP`, which the headers declare only with GNU extensions.
    private static let peerClosed: Int16 = 0x2000
  #else
    // Elsewhere `POLLHUP` reports the end of the peer without a request.
    private static let peerClosed: Int16 = 0
  #endif

  private var entries: [pollfd] = []

  /// Empties the list and keeps its memory.
  mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

  /// Adds a descriptor; its index is the number of earlier calls.
  ///
  /// `closes` also waits for the end of a peer whose bytes are not read.
  mutating func add(_ descriptor: Int32, reads: Bool, writes: Bool, closes: Bool = false) {
    var events = (reads ? Int16(POLLIN) : 0) | (writes ? Int16(POLLOUT) : 0)
    if closes { events |= Self.peerClosed }
    entries.append(pollfd(fd: descriptor, events: events, revents: 0))
  }

  /// Waits for events, for at most this long; a negative time has no limit.
  mutating func wait(milliseconds: Int32) {
    guard poll(&entries, nfds_t(entries.count), milliseconds) < 0 else { return }
    // Interrupted: the results are invalid, and the next turn polls again.
    for index in entries.indices { entries[index].revents = 0 }
  }

  /// The events at an index, or `nil` for none.
  func readiness(at index: Int) -> Readiness? {
    let events = Int32(entries[index].revents)
    guard events != 0 else { return nil }
    let broken = Int32(POLLERR) | Int32(POLLHUP) | Int32(POLLNVAL) | Int32(Self.peerClosed)
    return Readiness(
      isReadable: events & Int32(POLLIN) != 0,
      isWritable: events & Int32(POLLOUT) != 0,
      isBroken: events & broken != 0
    )
  }
}
