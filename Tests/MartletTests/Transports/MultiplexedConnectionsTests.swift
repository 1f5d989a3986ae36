#if os(Linux)
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  @Suite(.hangLimit) struct MultiplexedConnectionsTests {
    private final class User {}

    private var connections = MultiplexedConnections<User>()
    private let users = [User(), User(), User()]

    private mutating func use(_ count: Int = 3) { for user in users[..<count] { connections.use(7, by: user) } }

    @Test mutating func `probes the other transfers one by one until one continues`() {
      use()
      connections.leave(7, by: users[0], isDoubtful: true)

      let first = connections.nextToAsk { _ in true }
      #expect(first === users[1])
      connections.leave(7, by: users[1], isDoubtful: true)
      let second = connections.nextToAsk { _ in true }
      #expect(second === users[2])
      // The probed transfer continues.
      let third = connections.nextToAsk { _ in true }
      #expect(third == nil && connections.isUsed(7))
    }

    @Test mutating func `probes no transfer after a certain end, or while it is paused`() {
      use()
      connections.leave(7, by: users[0], isDoubtful: false)
      let afterCertainEnd = connections.nextToAsk { _ in true }
      #expect(afterCertainEnd == nil)

      connections.leave(7, by: users[1], isDoubtful: true)
      let paused = connections.nextToAsk { _ in false }
      #expect(paused == nil)
    }

    @Test mutating func `reports whether a transfer is alone on its connection`() {
      use(2)
      #expect(!connections.isAlone(users[0], on: 7) && connections.isUsed(7))

      connections.leave(7, by: users[1], isDoubtful: false)
      #expect(connections.isAlone(users[0], on: 7) && !connections.isAlone(users[1], on: 7))

      connections.leave(7, by: users[0], isDoubtful: false)
      #expect(!connections.isAlone(users[0], on: 7) && !connections.isUsed(7) && !connections.isUsed(8))
    }

    @Test mutating func `leaving a connection twice, or without having used it, changes nothing`() {
      use(2)
      connections.leave(7, by: users[0], isDoubtful: false)
      connections.leave(7, by: users[0], isDoubtful: true)
      connections.leave(7, by: users[2], isDoubtful: true)

      let next = connections.nextToAsk { _ in true }

      #expect(next == nil)
    }
  }
#endif
