import MartletBase

/// The admission queues of a client and of its derived clients.
final class AdmissionControllers: Sendable {
  private struct State: ~Copyable {
    var lines: [AdmissionQueue.Key: AdmissionQueue] = [:]
    /// The queues that obey the pauses of an origin.
    var obedient: [Origin: [AdmissionQueue]] = [:]
    var pace = SweepPace(least: AdmissionControllers.manyEntries)
    var pausePace = SweepPace(least: AdmissionControllers.manyEntries)
    /// The number of entries that sweeps have examined.
    var examined = 0
    /// The queue that was found last, because a client often uses one server.
    var last: AdmissionQueue?
    /// The time until which an origin wants no requests.
    var pauses: [Origin: Duration] = [:]
    var hedgeLogs: [HedgeLatencies.Key: HedgeLog] = [:]
    /// The hedge log that was found last.
    var lastHedgeLog: HedgeLog?

    mutating func sweepLines() {
      examined += lines.count
      lines = lines.filter { !$0.value.isIdle }
      last = nil
      obedient = [:]
      for line in lines.values {
        if let origin = line.key.obeyedOrigin { obedient[origin, default: []].append(line) }
      }
      pace.swept(rest: lines.count)
    }

    mutating func sweepPauses(_ now: Duration) {
      examined += pauses.count
      pauses = pauses.filter { $0.value > now }
      pausePace.swept(rest: pauses.count)
    }
  }

  /// The number of entries above which entries without effect are removed.
  fileprivate static let manyEntries = 1_000

  /// The timeline of the client that created this object.
  let timeline: Timeline
  private let state = Locked(State())

  init(_ timeline: Timeline) { self.timeline = timeline }

  /// Returns the queue for a key, and creates it if necessary.
  func line(_ key: AdmissionQueue.Key) -> AdmissionQueue {
    let known: AdmissionQueue? = state.withLock { state in
      if let last = state.last, last.key == key { return last }
      guard let line = state.lines[key] else { return nil }
      state.last = line
      return line
    }
    if let known { return known }
    let now = timeline.now()
    return state.withLock { state in
      if let line = state.lines[key] { return line }
      if state.pace.isDue(state.lines.count) { state.sweepLines() }
      let line = AdmissionQueue(key, timeline)
      if let origin = key.obeyedOrigin {
        if let end = state.pauses[origin], end > now { line.pause(until: end) }
        state.obedient[origin, default: []].append(line)
      }
      state.lines[key] = line
      return line
    }
  }

  /// Records that an origin wants no requests for a time.
  func pause(_ origin: Origin, for time: Duration) {
    let now = timeline.now()
    let (lines, end): ([AdmissionQueue], Duration) = state.withLock { state in
      if state.pausePace.isDue(state.pauses.count) { state.sweepPauses(now) }
      let end = max(state.pauses[origin] ?? now, now.adding(time))
      state.pauses[origin] = end
      return (state.obedient[origin] ?? [], end)
    }
    for line in lines { line.pause(until: end) }
  }

  /// The number of entries that sweeps have examined, for tests.
  var examined: Int { state.withLock { $0.examined } }

  /// All queues, for the activity monitor.
  var lines: [AdmissionQueue] { state.withLock { Array($0.lines.values) } }

  /// The numbers of waiting requests and of exchanges, for leak tests.
  var counts: (waiting: Int, inFlight: Int) {
    lines.map(\.counts).reduce((0, 0)) { ($0.0 + $1.waiting, $0.1 + $1.inFlight) }
  }

  // MARK: Latencies

  /// The latencies that determine the delay of a hedge.
  func hedgeLog(_ key: HedgeLatencies.Key) -> HedgeLog {
    state.withLock { state in
      if let last = state.lastHedgeLog, last.key == key { return last }
      let log = state.hedgeLogs[key] ?? HedgeLog(key)
      if state.hedgeLogs[key] == nil {
        if state.hedgeLogs.count >= Self.manyEntries { state.hedgeLogs = [:] }
        state.hedgeLogs[key] = log
      }
      state.lastHedgeLog = log
      return log
    }
  }
}
