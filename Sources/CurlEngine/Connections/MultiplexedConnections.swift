/// The HTTP/2 connections that transfers use, and which of them break.
///
/// libcurl 7.88 ends all streams of a connection that breaks, as by a malformed frame, without an error. It keeps a
/// connection after its last transfer, unless the server has sent GOAWAY, or the connection is broken. So one that it
/// closes without GOAWAY counts as broken, and a body of unknown length that ends with it as incomplete.
///
/// ```
///   used ──a transfer ends, nobody else uses it──▶ kept, or broken
///    │ ▲
///    │ └──── the next user goes on: it works
///    └─a transfer ends, others use it─▶ the next user is asked ──it ends too──▶ and so on, until nobody is left
/// ```
///
/// Each loop has its own, used under its lock.
struct MultiplexedConnections<User: AnyObject> {
  private struct Connection {
    var users: [User] = []
    /// Whether libcurl has kept it after its last transfer.
    var isKept = false
    /// Whether libcurl closes it without a fault: the server has sent GOAWAY, or refused a request.
    var mayBeClosed = false
    /// Whether libcurl gives it up because a request had no answer, as one that was refused; others may go on.
    var isGivenUp = false
  }

  private var known: [UInt64: Connection] = [:]
  /// Those that a transfer has left in this turn.
  private var left: Set<UInt64> = []
  /// Those that others may have to end on, too.
  private var doubtful: [UInt64] = []
  private var asked: User?

  /// A transfer is about to be sent on a connection.
  mutating func use(_ name: UInt64, by user: User) {
    if known[name]?.users.contains(where: { $0 === user }) != true {
      known[name, default: Connection()].users.append(user)
    }
  }

  func isAlone(_ user: User, on name: UInt64) -> Bool {
    known[name].map { $0.users.count == 1 && $0.users[0] === user } ?? false
  }

  func isUsed(_ name: UInt64) -> Bool { known[name]?.users.isEmpty == false }

  /// GOAWAY has come.
  mutating func announceEnd(_ name: UInt64) { known[name]?.mayBeClosed = true }

  enum Leaving {
    /// Its body has a length, or it was cancelled: nothing is to be found out.
    case surely
    /// With a body whose end is to be known, or with an error.
    case inDoubt
    /// libcurl wants to send it on another connection.
    case givingUp
  }

  /// A transfer has left its connection, unless it had before; `isKept` is asked if nobody else uses it.
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

  /// A transfer that has to show whether its connection works, by going on or by its end; `nil` if none has to.
  ///
  /// `canAnswer` says whether it receives.
  mutating func nextToAsk(_ canAnswer: (User) -> Bool) -> User? {
    while let name = doubtful.last {
      // Who was asked and is still here has gone on.
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

  /// To be called after each turn of the loop.
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
