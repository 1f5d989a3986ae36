import CMartletShim
import MartletBase

/// When connections become too old for new requests.
///
/// libcurl checks the age (`CURLOPT_MAXLIFETIME_CONN`, 7.80) only of a connection that it finds idle, so an HTTP/2
/// connection that always has a stream in flight would stay for ever. ``IdleConnections`` checks HTTP/1 connections,
/// which are idle whenever they are reused.
///
/// Each loop has its own instance, used under the loop's lock.
struct AgedConnections {
  /// How often a transfer is moved to the connection of another key before it gets its own connection.
  static let maximumMoves = 3

  /// The ends of the HTTP/2 connections.
  private var ends = RecentTable<UInt64, Int64>(limit: 1024)

  /// Records a new connection, which may have the addresses of an earlier one.
  mutating func add(_ connection: IdleConnections.Connection, isMultiplexed: Bool, until end: Int64) {
    connection.expiry = end
    if isMultiplexed || ends.count > 0 { ends[connection.name] = isMultiplexed ? end : nil }
  }

  /// Whether the age of an HTTP/2 connection is known; it is forgotten after many newer ones.
  func knows(_ name: UInt64) -> Bool { ends[name] != nil }

  /// Whether an HTTP/2 connection is too old.
  func isOver(_ name: UInt64) -> Bool { ends.count > 0 && ends[name].map { $0 <= martlet_microseconds() } == true }

  /// Whether the limits allow an origin another connection; libcurl closes idle ones to make room.
  ///
  /// A limit of 0 means none.
  static func hasRoom(for origin: Origin, in counts: [Origin: ConnectionCount], perHost: Int, total: Int) -> Bool {
    func isBelow(_ limit: Int, _ count: ConnectionCount) -> Bool { limit <= 0 || count.open - count.idle < limit }
    return isBelow(perHost, counts[origin] ?? ConnectionCount())
      && isBelow(total, counts.values.reduce(into: ConnectionCount()) { $0 += $1 })
  }
}

extension CurlHandle {
  /// Whether a transfer can leave a connection that is too old.
  ///
  /// Until its last transfer ends, the old connection counts towards the limits, so a transfer could wait in vain. If
  /// the connections of all shared keys are too old and busy, a new one would serve only this transfer.
  func canLeaveAged(_ name: UInt64, _ transfer: CurlTransfer) -> Bool {
    guard loop.handles.values.contains(where: { $0 !== self && $0.connectionName == name }) else { return true }
    guard !agedKeys(of: transfer.job.origin).isSuperset(of: ExclusiveConnections.sharedKeys) else { return false }
    return AgedConnections.hasRoom(
      for: transfer.job.origin, in: loop.countConnections(), perHost: loop.connections.hostLimit,
      total: loop.connections.total)
  }

  /// The keys of an origin's busy connections that are too old.
  private func agedKeys(of origin: Origin) -> Set<Int> {
    Set(
      loop.handles.values.filter {
        $0.transfer?.job.origin == origin && $0.connectionName.map(loop.aged.isOver) == true
      }.map(\.connectionKey))
  }

  /// Makes a transfer leave an HTTP/2 connection that is too old, before it sends.
  ///
  /// Other transfers keep the connection, and the last one closes it. The origin's next transfers get another key, so
  /// they share one new connection; with ``CurlLibrary/opensConnectionsAtOnce``, those that begin together do not.
  func leaveAged(_ name: UInt64, _ transfer: CurlTransfer) {
    let isShared = transfer.sharing == .agreed && !transfer.isExclusive
    transfer.isOutdated = true
    transfer.outdatedCount += 1
    let origin = transfer.job.origin
    if isShared, loop.exclusive.renewSharedKey(of: origin, after: connectionKey, except: agedKeys(of: origin)) {
      // Earlier connections that no transfer could leave are left now as well.
      for handle in loop.handles.values where handle !== self && handle.transfer?.job.origin == origin {
        if let other = handle.connectionName, other == name || loop.aged.isOver(other) { handle.closeConnection() }
      }
    }
    closeConnection()
    if !isShared || transfer.outdatedCount > AgedConnections.maximumMoves { transfer.isMisplaced = true }
  }
}
