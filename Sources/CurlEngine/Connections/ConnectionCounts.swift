package import MartletBase
import Synchronization

/// The number of an engine's connections to one origin.
package struct ConnectionCount: Sendable, Hashable {
  /// The number of sockets, including those that are still connecting.
  package var open = 0
  /// The number of connections without an exchange.
  package var idle = 0

  package static func += (left: inout ConnectionCount, right: ConnectionCount) {
    left.open += right.open
    left.idle += right.idle
  }
}

extension CurlLoop {
  /// The connections by the origin that they were made for.
  func countConnections() -> [Origin: ConnectionCount] {
    // libcurl does not want events of a paused transfer's socket either.
    let paused = handles.values.lazy.filter { $0.transfer?.life.isPaused == true }
    let busy = Set(paused.compactMap { $0.ownSocket ?? self.connection(of: $0) })
    var counts: [Origin: ConnectionCount] = [:]
    for (socket, origin) in origins {
      let isIdle = watches[socket]?.wanted == 0 && !busy.contains(socket)
      counts[origin, default: ConnectionCount()] += ConnectionCount(open: 1, idle: isIdle ? 1 : 0)
    }
    return counts
  }
}

extension CurlMailbox {
  /// The numbers of connections by origin; while the loop is busy, those after the previous request for them.
  package func countConnections() -> [Origin: ConnectionCount] {
    // A caller on the loop's thread may hold its lock.
    if CurlLibrary.isInside { return counts.awaited() }
    for _ in 0..<16 {
      if let counts = countConnectionsNow() { return counts }
    }
    return counts.awaited()
  }
}

/// The last numbers of a loop's connections, which it updates on request.
final class LastCounts: Sendable {
  private let isAwaited = Atomic(false)
  private let counts = Locked([Origin: ConnectionCount]())

  /// Requests new numbers, and returns the last ones.
  func awaited() -> [Origin: ConnectionCount] {
    isAwaited.store(true, ordering: .relaxed)
    return counts.withLock { $0 }
  }

  /// Sets the numbers if they are awaited; costs one atomic read otherwise.
  func update(_ count: () -> [Origin: ConnectionCount]) {
    guard isAwaited.load(ordering: .relaxed) else { return }
    isAwaited.store(false, ordering: .relaxed)
    let new = count()
    counts.withLock { $0 = new }
  }
}
