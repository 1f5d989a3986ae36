/// The transfers of HTTP/2 connections.
///
/// libcurl before 8.1 reports a broken connection to the one transfer that receives. The others would wait until their
/// time limits. So when a transfer ends in doubt, the next one is made to receive, and so on, until one continues.
///
/// Each loop has its own instance, used under the loop's lock.
struct MultiplexedConnections<User: AnyObject> {
  private var users: [UInt64: [User]] = [:]
  /// The connections whose other transfers may also have to end.
  private var doubtful: [UInt64] = []
  private var asked: User?

  /// Records that a transfer is about to be sent on a connection.
  mutating func use(_ name: UInt64, by user: User) {
    if users[name]?.contains(where: { $0 === user }) != true { users[name, default: []].append(user) }
  }

  func isAlone(_ user: User, on name: UInt64) -> Bool {
    users[name].map { $0.count == 1 && $0[0] === user } ?? false
  }

  func isUsed(_ name: UInt64) -> Bool { users[name] != nil }

  /// Records that a transfer has left its connection, which may be broken, unless it had left before.
  mutating func leave(_ name: UInt64, by user: User, isDoubtful: Bool) {
    guard let index = users[name]?.firstIndex(where: { $0 === user }) else { return }
    users[name]?.remove(at: index)
    if users[name]?.isEmpty == true { users[name] = nil }
    if isDoubtful, users[name] != nil, !doubtful.contains(name) { doubtful.append(name) }
  }

  /// The next transfer to probe, or `nil`.
  ///
  /// It shows by continuing that its connection works. `canAnswer` says whether a transfer receives.
  mutating func nextToAsk(_ canAnswer: (User) -> Bool) -> User? {
    while let name = doubtful.last {
      // A probed transfer that is still here has continued.
      if let user = users[name]?.first(where: canAnswer), user !== asked {
        asked = user
        return user
      }
      asked = nil
      doubtful.removeLast()
    }
    return nil
  }
}
