import CMartletShim

/// The connections that have addresses, and which HTTP/1 connections are idle.
///
/// Bytes that arrive on an idle connection belong to no request, but libcurl before 8.0 treats them as the response to
/// the next request. So each connection is checked before a request is sent on it, and abandoned if bytes or its end
/// are waiting. Messages of the TLS protocol itself, such as a session ticket, do not count.
///
/// Each loop has its own instance, used under the loop's lock. The events that libcurl requests for a socket do not
/// show which transfer uses it: a paused transfer needs none, and a transfer that takes over at once needs no new ones.
/// So connections are identified by their addresses, which each transfer receives before it sends.
struct IdleConnections {
  /// A connection, from the first request on it until it closes.
  final class Connection {
    let name: UInt64
    /// The last transfer that sent on it, until that transfer ends.
    fileprivate(set) var user: CurlTransfer?
    /// Its socket, known from the end of its first transfer on.
    fileprivate(set) var socket: CInt?
    fileprivate var isIdle = false
    /// The server's limit for the idle time, in microseconds.
    var idleTime: Int64?
    /// The latest time at which to reuse it, if the server has announced one.
    fileprivate var end: Int64?
    /// When it becomes too old for a new request.
    var expiry: Int64?
    fileprivate var isClosed = false
    /// The OpenSSL or GnuTLS object, if it has one.
    fileprivate var tls: UnsafeMutableRawPointer?
    /// The OpenSSL object of the TLS connection to a proxy that carries it.
    fileprivate var carrier: UnsafeMutableRawPointer?

    /// Its remote address, if libcurl reports another one.
    var actualAddress: String?
    /// Its addresses, known from its first response on.
    var addresses: CurlAddresses?

    fileprivate init(_ name: UInt64) { self.name = name }

    func isUsed(byOtherThan transfer: CurlTransfer) -> Bool { user.map { $0 !== transfer } ?? false }

    /// Records that a transfer is about to send on it.
    func use(by transfer: CurlTransfer) {
      isIdle = false
      user = transfer
    }
  }

  private var known: [UInt64: Connection] = [:]
  private var bySocket: [CInt: Connection] = [:]

  /// The connection of this name; `nil` before the first request on it.
  subscript(name: UInt64) -> Connection? { known[name] }

  mutating func add(_ name: UInt64) -> Connection {
    let connection = Connection(name)
    known[name] = connection
    return connection
  }

  /// Records that a transfer continues on another connection.
  mutating func leave(_ connection: Connection, by transfer: CurlTransfer) {
    guard connection.user === transfer else { return }
    connection.user = nil
    if connection.socket == nil { forget(connection) }
  }

  /// Ends a transfer's use; returns the socket if it must not be reused.
  ///
  /// That is the case if some bytes that arrived there have not been read. `socket` is `nil` if the connection cannot
  /// serve another transfer. `new` is the connection's OpenSSL or GnuTLS object; `nil` if the connection has served
  /// before or uses neither. `carrier` is that of the TLS connection to a proxy that carries it.
  mutating func end(
    _ connection: Connection, of transfer: CurlTransfer, socket: @autoclosure () -> CInt?,
    tls new: UnsafeMutableRawPointer?, within carrier: UnsafeMutableRawPointer?
  ) -> CInt? {
    guard !connection.isClosed, connection.user === transfer else { return nil }
    connection.user = nil
    if connection.socket == nil {
      guard let socket = socket() else {
        forget(connection)
        return nil
      }
      connection.socket = socket
      bySocket[socket] = connection
    }
    guard let socket = connection.socket else { return nil }
    if let new { (connection.tls, connection.carrier) = (new, carrier) }
    let carrier = connection.carrier
    if let known = connection.tls, martlet_tls_has_read(known, carrier == nil ? socket : -1) { return socket }
    if let carrier, martlet_tls_has_read(carrier, socket) { return socket }
    connection.isIdle = true
    connection.end = connection.idleTime.map { martlet_microseconds() + $0 }
    if let expiry = connection.expiry { connection.end = min(connection.end ?? expiry, expiry) }
    return nil
  }

  /// Removes a closed socket, whose number may be used again.
  mutating func closed(_ socket: CInt) {
    if let connection = bySocket.removeValue(forKey: socket) { forget(connection) }
  }

  private mutating func forget(_ connection: Connection) {
    connection.isClosed = true
    if known[connection.name] === connection { known[connection.name] = nil }
  }

  /// The sockets of all connections that cannot be reused.
  func takeSpoiled() -> [CInt] {
    let resting = known.values.compactMap { $0.isIdle ? $0.socket : nil }
    guard !resting.isEmpty, martlet_is_any_readable(resting, resting.count) else { return [] }
    return resting.filter { check($0) == true }
  }

  /// Whether an idle connection cannot be reused; `nil` if it is not idle.
  func check(_ socket: CInt) -> Bool? { bySocket[socket].flatMap { check($0) } }

  /// Whether an idle connection cannot be reused, which is then no longer idle.
  ///
  /// Returns `nil` if it is not idle.
  func check(_ connection: Connection) -> Bool? {
    guard connection.isIdle, let socket = connection.socket else { return nil }
    if let end = connection.end, end <= martlet_microseconds() {
      connection.isIdle = false
      return true
    }
    guard withUnsafePointer(to: socket, { martlet_is_any_readable($0, 1) }) else { return false }
    // TLS inside a proxy's TLS connection cannot be read from the socket alone.
    if connection.carrier == nil, let known = connection.tls, martlet_tls_is_quiet(known, socket) { return false }
    connection.isIdle = false
    return true
  }
}

extension CurlHandle {
  /// Whether libcurl chose a connection with unexpected bytes or an end; abandons it then.
  func isSpoiled(_ connection: IdleConnections.Connection?, for transfer: CurlTransfer) -> Bool {
    guard let connection else { return false }
    guard
      let socket = endOfLast(on: connection, before: transfer)
        ?? (loop.resting.check(connection) == true ? connection.socket : nil)
    else { return false }
    loop.abandon(socket)
    return true
  }

  /// Ends the last transfer's use of an HTTP/1 connection, if the loop does not know its end yet.
  ///
  /// Under load, one call of libcurl can send a transfer, receive its response and start the next transfer on the same
  /// connection. Returns the socket if some bytes that arrived there have not been read.
  private func endOfLast(on connection: IdleConnections.Connection, before transfer: CurlTransfer) -> CInt? {
    guard !isMultiplexed, let last = connection.user, last !== transfer else { return nil }
    guard let handle = last.handle, handle.resting === connection, last.life.isAlone else { return nil }
    // If libcurl has kept the connection, the transfer is over; the check searches all connections. If HTTP/2 is
    // possible, libcurl may have chosen a connection on which the transfer is still sending.
    let isOver = !last.job.isSecure && !last.hasPriorKnowledge && !last.job.hasBody && last.life.isWhole
    guard let socket = (isOver ? connection.socket : nil) ?? handle.keptSocket else { return nil }
    return loop.resting.end(connection, of: last, socket: socket, tls: handle.tls, within: handle.proxyTLS)
  }

  /// Whether libcurl chose an HTTP/1 connection that is known to be in use.
  ///
  /// Before 8.12 it does so for a host that has sent an HTTP/2 status line on any connection.
  func isTaken(_ connection: IdleConnections.Connection?, by transfer: CurlTransfer) -> Bool {
    (!transfer.job.isSecure || martlet_easy_tls(easy) != nil) && connection?.isUsed(byOtherThan: transfer) == true
  }
}
