import Foundation

/// The list of descriptors handed to `poll`, rebuilt for every turn of the loop.
struct Poller {
  /// What happened to one descriptor.
  struct Readiness {
    let isReadable: Bool
    let isWritable: Bool
    /// The peer reset the connection, or both directions are closed; reported even if nothing was asked.
    let isBroken: Bool
  }

  #if os(Linux) || os(Android)
    /// `POLLRDHUP`, which the headers show only to those who ask for GNU extensions.
    private static let peerClosed: Int16 = 0x2000
  #else
    // Elsewhere the end of the peer is reported as `POLLHUP` without asking.
    private static let peerClosed: Int16 = 0
  #endif

  private var entries: [pollfd] = []

  /// Empties the list and keeps its memory.
  mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
  }

  /// Adds a descriptor, whose place is the number of earlier calls.
  ///
  /// `closes` waits for the end of a peer whose bytes are not read.
  mutating func add(_ descriptor: Int32, reads: Bool, writes: Bool, closes: Bool = false) {
    var events = (reads ? Int16(POLLIN) : 0) | (writes ? Int16(POLLOUT) : 0)
    if closes { events |= Self.peerClosed }
    entries.append(pollfd(fd: descriptor, events: events, revents: 0))
  }

  /// Waits until something happens, for at most this long; negative for no end.
  mutating func wait(milliseconds: Int32) {
    guard poll(&entries, nfds_t(entries.count), milliseconds) < 0 else { return }
    // Interrupted: the results are not valid, and the next turn asks again.
    for index in entries.indices { entries[index].revents = 0 }
  }

  /// What happened at a place of the list, or `nil` for nothing.
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
