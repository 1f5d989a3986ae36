import CMartletShim
package import MartletBase
import Synchronization

/// The engines of one client; the first exchange for an engine opens it.
///
/// Engines share no connections. So each origin has a home among the regular engines. An exchange uses another engine
/// only if its home has as many exchanges, of any origin, as one connection carries.
package struct CurlEngines {
  private var usual: [CurlEngine?]
  /// The engines of upgraded connections, each of which has one exchange.
  private var upgraded: [CurlEngine?]
  /// The engines for exchanges that share no connections with the regular ones.
  private var others: [ConnectionGroup: CurlEngine] = [:]
  /// When the connections of prior knowledge may be too old; `nil` if they never are.
  ///
  /// Without TLS, libcurl does not keep new requests from one of its HTTP/2 connections. So a new engine replaces theirs,
  /// which ends with its last exchange.
  private var priorKnowledgeEnd: Int64?
  private var generation = 0
  /// The replaced engines that have not ended.
  private var replaced: [CurlMailbox] = []

  /// - Parameter threads: The maximum number of regular engines, and of those for upgraded connections.
  package init(threads: Int) {
    usual = Array(repeating: nil, count: max(1, threads))
    upgraded = usual
  }

  package var mailboxes: [CurlMailbox] {
    (usual + upgraded).compactMap { $0?.mailbox } + others.values.map(\.mailbox) + replaced.filter(\.isRunning)
  }

  /// Replaces all engines by new ones if the settings of their connections are of a later generation.
  ///
  /// An old engine ends with its last exchange.
  package mutating func renew(to generation: Int) {
    guard generation > self.generation else { return }
    self.generation = generation
    // Also those whose first transfer is about to start.
    replaced = mailboxes
    usual = Array(repeating: nil, count: usual.count)
    upgraded = usual
    others = [:]
  }

  /// Opens the engine for an exchange, unless it is open.
  ///
  /// `streams` is the number of exchanges that a connection of this exchange carries. Returns `nil` if no descriptor is
  /// left. The share in the engine's load is `nil` if there is only one engine to choose from.
  package mutating func open(
    for sharing: ConnectionGroup, _ origin: Origin, streams: @autoclosure () -> Int,
    _ settings: @autoclosure () -> CurlConnectionSettings
  ) -> (mailbox: CurlMailbox, share: LoadShare?)? {
    switch sharing {
    case .agreed: return Self.open(&usual, home: origin.hashValue, streams: streams(), settings)
    case .upgraded: return Self.open(&upgraded, home: 0, streams: 1, settings)
    case .serial, .priorKnowledge, .http3: break
    }
    if sharing == .priorKnowledge, let end = priorKnowledgeEnd, end <= martlet_microseconds() {
      replaced = replaced.filter(\.isRunning) + [others.removeValue(forKey: sharing)?.mailbox].compactMap { $0 }
    }
    if others[sharing] == nil {
      let settings = settings()
      others[sharing] = CurlEngine(settings)
      if sharing == .priorKnowledge { priorKnowledgeEnd = settings.maximumAge.map { martlet_microseconds() + $0 } }
    }
    return others[sharing].map { ($0.mailbox, nil) }
  }

  /// Opens one of several engines.
  private static func open(
    _ engines: inout [CurlEngine?], home: @autoclosure () -> Int, streams: @autoclosure () -> Int,
    _ settings: () -> CurlConnectionSettings
  ) -> (mailbox: CurlMailbox, share: LoadShare?)? {
    var index = 0
    if engines.count > 1 {
      let home = Int(UInt(bitPattern: home()) % UInt(engines.count))
      index = choice(home: home, loads: engines.map { $0?.mailbox.load.value ?? 0 }, streams: streams())
    }
    if engines[index] == nil { engines[index] = CurlEngine(settings()) }
    guard let mailbox = (engines[index] ?? engines.lazy.compactMap { $0 }.first)?.mailbox else { return nil }
    return (mailbox, engines.count > 1 ? LoadShare(mailbox.load) : nil)
  }

  /// The least loaded engine if `home` has at least `streams` exchanges, otherwise `home`.
  package static func choice(home: Int, loads: [Int], streams: Int) -> Int {
    guard loads[home] >= streams, let least = loads.indices.min(by: { loads[$0] < loads[$1] }) else { return home }
    return loads[least] < loads[home] ? least : home
  }
}

/// The number of exchanges of an engine.
package final class EngineLoad: Sendable {
  private let count = Atomic(0)

  package var value: Int { count.load(ordering: .relaxed) }

  fileprivate func add(_ more: Int) { count.add(more, ordering: .relaxed) }
}

/// The share of one exchange in the load of its engine, until its end.
package final class LoadShare: Sendable {
  private let load: EngineLoad
  private let isOver = Atomic(false)

  package init(_ load: EngineLoad) {
    self.load = load
    load.add(1)
  }

  deinit { end() }

  /// Ends the share; calling it again does nothing.
  package func end() { if !isOver.exchange(true, ordering: .relaxed) { load.add(-1) } }
}
