import CMartletShim

/// The connections of HTTP/1 that no transfer uses.
///
/// What comes on one of them answers nothing, and libcurl before 8.0 takes it for the answer to the next request. So
/// each is looked at before a request is sent on it, and given up if something waits there, or its end. Under TLS a message of
/// the protocol itself, such as a ticket for a session, is no reason for that.
///
/// Each loop has its own, used under its lock. What libcurl wants of a socket does not tell who uses it (a transfer that
/// is paused wants nothing, and one that takes over in the same moment wants nothing new), so connections are known by
/// their addresses, which each transfer is told before it sends.
struct RestingConnections {
  private struct Connection {
    /// Who was the last to send on it, until that is over.
    var user: ObjectIdentifier?
    var socket: CInt?
  }

  private var known: [UInt64: Connection] = [:]
  private var names: [CInt: UInt64] = [:]
  private var sockets: Set<CInt> = []
  /// What OpenSSL knows of connections, of those that have it.
  private var tls: [CInt: UnsafeMutableRawPointer] = [:]
  /// The same of connections to proxies by TLS, of those connections that they carry.
  private var carriers: [CInt: UnsafeMutableRawPointer] = [:]

  /// A transfer is about to send on a connection.
  mutating func use(_ name: UInt64, by user: AnyObject) {
    if let socket = known[name]?.socket { wake(socket) }
    known[name, default: Connection()].user = ObjectIdentifier(user)
  }

  func isUsed(_ name: UInt64, byOtherThan user: AnyObject) -> Bool {
    known[name]?.user.map { $0 != ObjectIdentifier(user) } ?? false
  }

  /// A transfer goes on somewhere else.
  mutating func leave(_ name: UInt64, by user: AnyObject) {
    if known[name]?.user == ObjectIdentifier(user) { known[name]?.user = nil }
  }

  /// A transfer is over; returns the socket if that must not serve another: not all that came there is taken yet.
  ///
  /// `socket` is there if it can serve another one. `new` is what OpenSSL knows of the connection, `nil` if it has
  /// served before or does not use OpenSSL; `carrier` is the same of a TLS connection to a proxy that carries it.
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
    if let known = tls[socket], martlet_tls_has_read(known) { return socket }
    if let known = carriers[socket], martlet_tls_has_read(known) { return socket }
    sockets.insert(socket)
    return nil
  }

  private mutating func wake(_ socket: CInt) { sockets.remove(socket) }

  /// Its socket is closed, and the number may be another one's.
  mutating func closed(_ socket: CInt) {
    guard let name = names.removeValue(forKey: socket) else { return }
    known[name] = nil
    (tls[socket], carriers[socket]) = (nil, nil)
    wake(socket)
  }

  /// Takes a connection out if it can serve no more; returns its socket, `nil` if it can, or does not rest.
  mutating func takeSpoiled(_ name: UInt64) -> CInt? {
    guard let socket = known[name]?.socket, check(socket) == true else { return nil }
    return socket
  }

  mutating func takeSpoiled() -> [CInt] {
    let resting = Array(sockets)
    guard !resting.isEmpty, martlet_is_any_readable(resting, resting.count) else { return [] }
    return resting.filter { check($0) == true }
  }

  /// Takes a connection out if it can serve no more, and says whether that is so; `nil` if it does not rest.
  mutating func check(_ socket: CInt) -> Bool? {
    guard sockets.contains(socket) else { return nil }
    guard martlet_is_any_readable([socket], 1) else { return false }
    // TLS that a carrier brings cannot be read past that.
    if carriers[socket] == nil, let known = tls[socket], martlet_tls_is_quiet(known, socket) { return false }
    wake(socket)
    return true
  }
}
