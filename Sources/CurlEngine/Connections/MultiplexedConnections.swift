/// Tracks the transfers of HTTP/2 connections, and finds broken connections.
///
/// libcurl 7.88 ends all streams of a broken connection without an error, for example after a malformed frame. It keeps
/// a connection after its last transfer, unless the server has sent GOAWAY or the connection is broken. So a connection
/// that libcurl closes without GOAWAY counts as broken, and a body of unknown length that ends with it as incomplete.
///
/// ```
///   used ──a transfer ends, no other one is left──▶ kept, or broken
///    │ ▲
///    │ └──── the next transfer continues: the connection works
///    └─a transfer ends, others are left─▶ the next one is probed ──it ends too──▶ and so on, until none is left
/// ```
///
/// Each loop has its own instance, used under the loop's lock.
struct MultiplexedConnections<User: AnyObject> {
  private struct Connection {
    var users: [User] = []
    /// Whether libcurl keeps the connection after its last transfer.
    var isKept = false
    /// Whether libcurl may close it without a fault, after GOAWAY or a refused request.
    var mayBeClosed = false
    /// Whether libcurl abandons the connection because a request had no response.
    ///
    /// This happens after a refused request, for example. Other transfers may continue.
    var isGivenUp = false
  }

  private var known: [UInt64: Connection] = [:]
  /// The connections that a transfer has left in this turn.
  private var left: Set<UInt64> = []
  /// The connections whose other transfers may have to end, too.
  private var doubtful: [UInt64] = []
  private var asked: User?

  /// Notes that a transfer is about to be sent on a connection.
  mutating func use(_ name: UInt64, by user: User) {
    if known[name]?.users.contains(where: { $0 === user }) != true {
      known[name, default: Connection()].users.append(user)
    }
  }

  func isAlone(_ user: User, on name: UInt64) -> Bool {
    known[name].map { $0.users.count == 1 && $0.users[0] === user } ?? false
  }

  func isUsed(_ name: UInt64) -> Bool { known[name]?.users.isEmpty == false }

  mutating func announceEnd(_ name: UInt64) { known[name]?.mayBeClosed = true }

  enum Leaving {
    /// The body has a length, or the transfer was cancelled: there is nothing to find out.
    case surely
    /// The transfer failed, or the end of its body is uncertain.
    case inDoubt
    /// libcurl is about to send the request on another connection.
    case givingUp
  }

  /// Notes that a transfer has left its connection, unless it had before.
  ///
  /// `isKept` is evaluated if no other transfer is left.
  mutating func leave(_ name: UInt64, by user: User, _ how: Leaving, isKept: @autoclosure () -> Bool) {
    guard var connection = known[name], let index = connection.users.firstIndex(where: { $0 === user }) else {
      return
    }
    connection.users.remove(at: index)
    if connection.users.isEmpty { connection.isKept = isKept() }
    if how == .givingUp { connection.isGivenUp = true }
    if how != .surely, !connection.users.isEmpty, !connection.mayBeClosed, !doubtful.contains(name) {
      doubtful.append(name)
    }
    known[name] = connection
    left.insert(name)
  }

  /// The next transfer to probe whether its connection works, or `nil`.
  ///
  /// It shows that by continuing or by ending. `canAnswer` says whether a transfer receives.
  mutating func nextToAsk(_ canAnswer: (User) -> Bool) -> User? {
    while let name = doubtful.last {
      // A probed transfer that is still here has continued.
      if let user = known[name]?.users.first(where: canAnswer), user !== asked {
        asked = user
        return user
      }
      asked = nil
      doubtful.removeLast()
    }
    return nil
  }

  /// Whether a connection has broken in this turn.
  func isBroken(_ name: UInt64) -> Bool {
    guard let connection = known[name] else { return false }
    return connection.users.isEmpty && !connection.isKept && !connection.mayBeClosed
  }

  /// Ends a turn; call it after each turn of the loop.
  mutating func endTurn() {
    guard !left.isEmpty else { return }
    for name in left {
      guard let connection = known[name] else { continue }
      if connection.users.isEmpty {
        known[name] = nil
      } else if connection.isGivenUp {
        known[name]?.mayBeClosed = true
      }
    }
    left.removeAll(keepingCapacity: true)
  }
}
