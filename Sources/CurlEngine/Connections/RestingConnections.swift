import CMartletShim

/// The idle HTTP/1 connections.
///
/// Bytes that arrive on an idle connection answer no request, but libcurl before 8.0 takes them for the response to the
/// next one. So each connection is checked before a request is sent on it, and abandoned if bytes or its end wait
/// there. Messages of the TLS protocol itself, such as a session ticket, do not count.
///
/// Each loop has its own instance, used under the loop's lock. The events that libcurl wants of a socket do not tell
/// which transfer uses it: a paused transfer wants none, and one that takes over at once wants no new ones. So
/// connections are identified by their addresses, which each transfer receives before it sends.
struct RestingConnections {
  private struct Connection {
    /// The last transfer that sent on it, until that transfer ends.
    var user: ObjectIdentifier?
    var socket: CInt?
  }

  private var known: [UInt64: Connection] = [:]
  private var names: [CInt: UInt64] = [:]
  private var sockets: Set<CInt> = []
  /// The OpenSSL or GnuTLS objects of connections that have one.
  private var tls: [CInt: UnsafeMutableRawPointer] = [:]
  /// The OpenSSL objects of the TLS connections to proxies that carry them.
  private var carriers: [CInt: UnsafeMutableRawPointer] = [:]

  /// Notes that a transfer is about to send on a connection.
  mutating func use(_ name: UInt64, by user: AnyObject) {
    if let socket = known[name]?.socket { wake(socket) }
    known[name, default: Connection()].user = ObjectIdentifier(user)
  }

  func isUsed(_ name: UInt64, byOtherThan user: AnyObject) -> Bool {
    known[name]?.user.map { $0 != ObjectIdentifier(user) } ?? false
  }

  /// Notes that a transfer continues on another connection.
  mutating func leave(_ name: UInt64, by user: AnyObject) {
    if known[name]?.user == ObjectIdentifier(user) { known[name]?.user = nil }
  }

  /// Ends a transfer's use; returns the socket if it must not be reused.
  ///
  /// That is so if not all bytes that arrived there are taken. `socket` is `nil` if the connection cannot serve another
  /// transfer. `new` is the connection's OpenSSL or GnuTLS object; `nil` if the connection has served before or
  /// uses neither. `carrier` is that of the TLS connection to a proxy that carries it.
  mutating func end(
    _ name: UInt64, of user: AnyObject, socket: @autoclosure () -> CInt?, tls new: UnsafeMutableRawPointer?,
    within carrier: UnsafeMutableRawPointer?
  ) -> CInt? {
    guard var connection = known[name], connection.user == ObjectIdentifier(user) else { return nil }
    connection.user = nil
    connection.socket = connection.socket ?? socket()
    guard let socket = connection.socket else {
      known[name] = nil
      return nil
    }
    known[name] = connection
    names[socket] = name
    if let new { (tls[socket], carriers[socket]) = (new, carrier) }
    let carrier = carriers[socket]
    if let known = tls[socket], martlet_tls_has_read(known, carrier == nil ? socket : -1) { return socket }
    if let carrier, martlet_tls_has_read(carrier, socket) { return socket }
    sockets.insert(socket)
    return nil
  }

  private mutating func wake(_ socket: CInt) { sockets.remove(socket) }

  /// Removes a closed socket, whose number may be used again.
  mutating func closed(_ socket: CInt) {
    guard let name = names.removeValue(forKey: socket) else { return }
    known[name] = nil
    (tls[socket], carriers[socket]) = (nil, nil)
    wake(socket)
  }

  /// Removes a connection that cannot be reused; returns its socket.
  ///
  /// Returns `nil` if the connection can be reused or is not idle.
  mutating func takeSpoiled(_ name: UInt64) -> CInt? {
    guard let socket = known[name]?.socket, check(socket) == true else { return nil }
    return socket
  }

  mutating func takeSpoiled() -> [CInt] {
    let resting = Array(sockets)
    guard !resting.isEmpty, martlet_is_any_readable(resting, resting.count) else { return [] }
    return resting.filter { check($0) == true }
  }

  /// Whether an idle connection cannot be reused, and removes it then.
  ///
  /// Returns `nil` if it is not idle.
  mutating func check(_ socket: CInt) -> Bool? {
    guard sockets.contains(socket) else { return nil }
    guard martlet_is_any_readable([socket], 1) else { return false }
    // TLS inside a proxy's TLS connection cannot be read from the socket alone.
    if carriers[socket] == nil, let known = tls[socket], martlet_tls_is_quiet(known, socket) { return false }
    wake(socket)
    return true
  }
}
