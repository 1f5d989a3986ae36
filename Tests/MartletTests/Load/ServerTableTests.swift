import TestSupport
import Testing

@testable import Martlet
@testable import MartletBase

@Suite(.hangLimit) struct ServerTableTests {
  private static let refused: ServerTable.Outcome = .failure(
    HTTPError(.cannotConnect, "refused", phase: .connecting), isUnreached: true)
  private static let lost: ServerTable.Outcome = .failure(
    HTTPError(.connectionLost, "lost", phase: .waiting), isUnreached: false)

  private static func table(_ cluster: Cluster, random: Double = 0) -> ServerTable {
    ServerTable(cluster, random: random)
  }
  private static func servers(_ count: Int) -> [RequestTarget] {
    (0..<count).map { RequestTarget(text: "http://s\($0).test") }
  }

  @Test(arguments: [
    (Cluster.roundRobin(servers(3)), 0.0, [0, 1, 2, 0, 1, 2]),
    (.roundRobin(servers(3)), 0.5, [1, 2, 0, 1, 2, 0]),
    (.roundRobin(servers(3)), 1.0, [0, 1, 2, 0, 1, 2]),
    (.roundRobin(servers(1)), 0.0, [0, 0, 0, 0, 0, 0]),
    (.inOrder(servers(3)), 0.5, [0, 0, 0, 0, 0, 0]),
    // Each choice stays in progress.
    (.leastInFlight(servers(3)), 0.0, [0, 1, 2, 0, 1, 2]),
  ])
  func `the policy and the random start decide the order`(_ cluster: Cluster, _ random: Double, _ order: [Int]) {
    var table = Self.table(cluster, random: random)

    #expect((0..<6).map { _ in table.choose(after: [], now: .zero).index } == order)
  }

  @Test func `least in flight prefers the server whose requests have ended`() {
    var table = Self.table(.leastInFlight(Self.servers(3)))
    for _ in 0..<6 { _ = table.choose(after: [], now: .zero) }
    table.end(1)
    table.end(1)

    #expect(table.servers.map(\.inFlight) == [2, 0, 2])
    #expect((0..<2).map { _ in table.choose(after: [], now: .zero).index } == [1, 1])
    table.end(1)
    table.end(1)
    table.end(1)
    #expect(table.servers[1].inFlight == 0)
  }

  @Test func `a server without a connection is left out at once, and a failing one after three failures`() {
    var table = Self.table(.roundRobin(Self.servers(2)))

    #expect(table.respond(Self.refused, at: 0, isProbe: false, now: .zero, random: 0) == .seconds(1))
    #expect(table.respond(Self.lost, at: 1, isProbe: false, now: .zero, random: 0) == nil)
    #expect(table.respond(Self.lost, at: 1, isProbe: false, now: .zero, random: 0) == nil)
    #expect(!table.isLeftOut(1, .zero))
    #expect(table.respond(Self.lost, at: 1, isProbe: false, now: .zero, random: 0.5) == .milliseconds(750))
    #expect(table.isLeftOut(1, .milliseconds(749)) && !table.isLeftOut(1, .milliseconds(750)))
  }

  @Test func `a response resets the count of failures`() {
    var table = Self.table(.roundRobin(Self.servers(1)))
    for _ in 0..<10 {
      _ = table.respond(Self.lost, at: 0, isProbe: false, now: .zero, random: 0)
      _ = table.respond(Self.lost, at: 0, isProbe: false, now: .zero, random: 0)
      _ = table.respond(.response, at: 0, isProbe: false, now: .zero, random: 0)
    }

    #expect(!table.isLeftOut(0, .zero))
  }

  @Test func `a server that is left out gets one probe, and a growing, bounded pause`() {
    var table = Self.table(.roundRobin(Self.servers(2)))
    var now = Duration.zero
    var pauses: [Duration] = []
    pauses.append(table.respond(Self.refused, at: 0, isProbe: false, now: now, random: 0) ?? .zero)
    for _ in 0..<8 {
      now += pauses.last ?? .zero
      let choices = (0..<3).map { _ in table.choose(after: [], now: now) }
      #expect(choices.filter { $0.index == 0 } == [.init(index: 0, isProbe: true)])
      // Failures of requests that began before do not count.
      #expect(table.respond(Self.lost, at: 0, isProbe: false, now: now, random: 0) == nil)
      pauses.append(table.respond(Self.refused, at: 0, isProbe: true, now: now, random: 0) ?? .zero)
    }

    #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    now += .seconds(60)
    let probe = [table.choose(after: [], now: now), table.choose(after: [], now: now)].first { $0.isProbe }
    #expect(probe?.index == 0)
    #expect(table.respond(.response, at: 0, isProbe: true, now: now, random: 0) == nil)
    #expect(table.respond(Self.refused, at: 0, isProbe: false, now: now, random: 0) == .seconds(1))
  }

  @Test func `a probe without an outcome makes the next request the probe`() {
    var table = Self.table(.inOrder(Self.servers(2)))
    _ = table.respond(Self.refused, at: 0, isProbe: false, now: .zero, random: 0)

    #expect(table.choose(after: [], now: .seconds(1)) == .init(index: 0, isProbe: true))
    #expect(table.choose(after: [], now: .seconds(1)) == .init(index: 1))
    _ = table.respond(.unknown, at: 0, isProbe: true, now: .seconds(1), random: 0)
    #expect(table.choose(after: [], now: .seconds(1)) == .init(index: 0, isProbe: true))
  }

  @Test func `a server that was tried, or is left out, comes last`() {
    var table = Self.table(.inOrder(Self.servers(3)))

    #expect(table.choose(after: [0], now: .zero).index == 1)
    #expect(table.choose(after: [0, 1, 2], now: .zero).index == 0)
    #expect(table.hasOther(than: [0, 1], now: .zero) && !table.hasOther(than: [0, 1, 2], now: .zero))
    _ = table.respond(Self.refused, at: 2, isProbe: false, now: .zero, random: 0)
    #expect(!table.hasOther(than: [0, 1], now: .zero))
    // A server that responded is better than one that is left out.
    #expect(table.choose(after: [0, 1], now: .zero).index == 0)
    for index in 0...1 { _ = table.respond(Self.refused, at: index, isProbe: false, now: .zero, random: 0) }
    #expect(table.choose(after: [], now: .zero) == .init(index: 0))
    #expect(table.choose(after: [0], now: .zero) == .init(index: 1))
    // Its response includes it again.
    _ = table.respond(.response, at: 1, isProbe: false, now: .zero, random: 0)
    #expect(table.choose(after: [], now: .zero) == .init(index: 1))
  }

  @Test func `no server is left out with a circuit breaker that is off`() {
    var cluster = Cluster.roundRobin(Self.servers(1))
    cluster.health = .off
    var table = Self.table(cluster)
    for _ in 0..<10 { #expect(table.respond(Self.refused, at: 0, isProbe: false, now: .zero, random: 0) == nil) }

    #expect(!table.isLeftOut(0, .zero))
  }

  @Test func `a clock that was set back does not prolong a pause`() {
    var table = Self.table(.inOrder(Self.servers(2)))
    _ = table.respond(Self.refused, at: 0, isProbe: false, now: .seconds(3600), random: 0)

    _ = table.choose(after: [], now: .zero)

    #expect(!table.isLeftOut(0, ServerTable.maximumPause))
  }

  @Test func `a redirect's server is chosen first, even if it is left out`() {
    var table = Self.table(.inOrder(Self.servers(3)))
    _ = table.respond(Self.refused, at: 2, isProbe: false, now: .zero, random: 0)

    #expect(table.choose(after: [], first: 2, now: .zero) == .init(index: 2))
    #expect(table.choose(after: [2], now: .zero).index == 0)
  }

  @Test func `a move avoids the servers that were tried, even if all others are left out`() {
    var table = Self.table(.inOrder(Self.servers(2)))
    _ = table.respond(Self.refused, at: 1, isProbe: false, now: .zero, random: 0)

    #expect(table.choose(after: [0], isMove: true, now: .zero).index == 1)
    #expect(table.choose(after: [0], isMove: false, now: .zero).index == 0)
  }

  @Test func `another request tests a server if the first one waits for too long`() {
    var table = Self.table(.inOrder(Self.servers(2)))
    _ = table.respond(Self.refused, at: 0, isProbe: false, now: .zero, random: 0)
    let end = Duration.seconds(1) + ServerTable.maximumPause

    #expect(table.choose(after: [], now: .seconds(1)) == .init(index: 0, isProbe: true))
    #expect(table.choose(after: [], now: end - .milliseconds(1)).index == 1)
    #expect(table.choose(after: [], now: end) == .init(index: 0, isProbe: true))
    #expect(table.choose(after: [], now: end).index == 1)
  }

  @Test(arguments: [
    (HTTPError(.cannotConnect, "x", phase: .connecting), true, true),
    (HTTPError(.connectionLost, "x", phase: .waiting), true, false),
    (HTTPError(.timedOut, "x", phase: .waiting), true, false),
    (HTTPError(.timedOut, "x", phase: .queued), false, false),
    (HTTPError(.protocolViolation, "x", phase: .receiving), true, false),
    (HTTPError(.overloaded, "x", phase: .queued), false, false),
    (HTTPError(.fileFailed, "x"), false, false),
  ])
  func `failures of the server count`(_ error: HTTPError, _ concernsServer: Bool, _ isUnreached: Bool) {
    #expect(error.concernsServer == concernsServer && error.isUnreached == isUnreached)
    var unsent = error
    unsent.mayHaveReachedServer = false
    (unsent.isExhaustion) = true
    #expect(!unsent.isUnreached)
  }
}
