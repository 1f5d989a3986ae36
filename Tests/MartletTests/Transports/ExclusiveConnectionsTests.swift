#if os(Linux)
  import Testing

  @testable import CurlEngine
  @testable import MartletBase
  @testable import Martlet

  @Suite(.hangLimit) struct ExclusiveConnectionsTests {
    private final class User {}

    private let users = (0..<40).map { _ in User() }
    private let origin = Origin(scheme: "https", host: "a.test", port: 443)
    private let other = Origin(scheme: "https", host: "b.test", port: 443)
    private var connections = ExclusiveConnections()

    private mutating func take(_ range: Range<Int>) -> [Int] {
      range.map { connections.take(for: users[$0], of: origin) }
    }

    @Test mutating func `fourteen concurrent streams of an origin get distinct keys`() {
      let keys = take(0..<14)
      let again = take(0..<14)

      #expect(keys == Array(1...14))
      #expect(again == keys)
    }

    @Test mutating func `each stream beyond fourteen gets a new connection`() {
      let keys = take(0..<40)
      #expect(keys[14...].allSatisfy { $0 == ExclusiveConnections.fresh })

      // This release frees no key that another stream uses.
      connections.release(users[20])
      let second = take(20..<21)
      #expect(second == [ExclusiveConnections.fresh])

      connections.release(users[4])
      let third = take(4..<5)
      #expect(third == [5])
    }

    @Test mutating func `a returned key is reused first`() {
      let keys = take(0..<3)
      #expect(keys == [1, 2, 3])

      connections.release(users[1])
      connections.release(users[1])
      connections.release(users[9])

      let later = take(6..<8)
      let elsewhere = connections.take(for: users[8], of: other)
      #expect(later == [2, 4])
      #expect(elsewhere == 1)
    }

    @Test mutating func `HTTP/1 streams use shared connections`() {
      connections.record(origin, speaksHTTP1: true)
      let keys = take(0..<2)
      let elsewhere = connections.take(for: users[2], of: other)
      #expect(keys == [ExclusiveConnections.shared, ExclusiveConnections.shared])
      #expect(elsewhere == 1)

      connections.record(origin, speaksHTTP1: false)
      let later = take(3..<4)
      #expect(later == [1])
    }
  }
#endif
