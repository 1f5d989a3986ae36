#if os(Linux)
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  @Suite(.hangLimit) struct MultiplexedConnectionsTests {
    private final class User {}

    private var connections = MultiplexedConnections<User>()
    private let users = [User(), User(), User()]

    private mutating func use(_ count: Int = 3) { for user in users[..<count] { connections.use(7, by: user) } }

    @Test mutating func `a connection that libcurl closes after its last transfer is broken`() {
      use(1)

      connections.leave(7, by: users[0], .inDoubt, isKept: false)

      #expect(connections.isBroken(7))
      connections.endTurn()
      #expect(!connections.isBroken(7))
    }

    @Test mutating func `a connection that libcurl keeps, or that received GOAWAY, is not broken`() {
      use(1)
      connections.leave(7, by: users[0], .inDoubt, isKept: true)
      #expect(!connections.isBroken(7))
      connections.endTurn()

      use(1)
      connections.announceEnd(7)
      connections.leave(7, by: users[0], .inDoubt, isKept: false)
      #expect(!connections.isBroken(7))
    }

    @Test mutating func `probes the other transfers one by one until one continues`() {
      use()
      connections.leave(7, by: users[0], .inDoubt, isKept: false)

      let first = connections.nextToAsk { _ in true }
      #expect(first === users[1])
      connections.leave(7, by: users[1], .inDoubt, isKept: false)
      let second = connections.nextToAsk { _ in true }
      #expect(second === users[2])
      // It goes on.
      let third = connections.nextToAsk { _ in true }
      #expect(third == nil && !connections.isBroken(7))
    }

    @Test mutating func `a connection is broken when its last probed transfer ends`() {
      use(2)
      connections.leave(7, by: users[0], .inDoubt, isKept: false)
      _ = connections.nextToAsk { _ in true }

      connections.leave(7, by: users[1], .surely, isKept: false)

      let next = connections.nextToAsk { _ in true }
      #expect(next == nil && connections.isBroken(7))
    }

    @Test mutating func `probes no transfer after a certain end, after GOAWAY, or while it is paused`() {
      use()
      connections.leave(7, by: users[0], .surely, isKept: false)
      let afterCertainEnd = connections.nextToAsk { _ in true }
      #expect(afterCertainEnd == nil)

      connections.leave(7, by: users[1], .inDoubt, isKept: false)
      let paused = connections.nextToAsk { _ in false }
      #expect(paused == nil)

      connections.use(8, by: users[0])
      connections.use(8, by: users[1])
      connections.announceEnd(8)
      connections.leave(8, by: users[0], .inDoubt, isKept: false)
      let afterGoaway = connections.nextToAsk { _ in true }
      #expect(afterGoaway == nil)
    }

    @Test mutating func `a connection that libcurl abandons may be closed from the next turn on`() {
      use(2)
      connections.leave(7, by: users[0], .givingUp, isKept: false)
      let next = connections.nextToAsk { _ in true }
      #expect(next === users[1])
      connections.endTurn()

      connections.leave(7, by: users[1], .inDoubt, isKept: false)

      #expect(!connections.isBroken(7))
    }

    @Test mutating func `reports whether a transfer is alone on its connection`() {
      use(2)
      #expect(!connections.isAlone(users[0], on: 7) && connections.isUsed(7))

      connections.leave(7, by: users[1], .surely, isKept: false)
      #expect(connections.isAlone(users[0], on: 7) && !connections.isAlone(users[1], on: 7))

      connections.leave(7, by: users[0], .surely, isKept: false)
      #expect(!connections.isAlone(users[0], on: 7) && !connections.isUsed(7) && !connections.isUsed(8))
    }

    @Test mutating func `leaving a connection twice, or without having used it, changes nothing`() {
      use(2)
      connections.leave(7, by: users[0], .surely, isKept: false)
      connections.leave(7, by: users[0], .inDoubt, isKept: false)
      connections.leave(7, by: users[2], .inDoubt, isKept: false)

      let next = connections.nextToAsk { _ in true }

      #expect(next == nil && !connections.isBroken(7))
    }
  }
#endif
