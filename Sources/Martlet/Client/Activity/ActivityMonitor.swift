import MartletBase

/// Observes the activity of a client.
///
/// Snapshots are created on request; without an observer, only counters are updated. The actor isolates no state, so
/// snapshots need no `await`.
///
/// ```swift
/// for await now in client.activity.snapshots { print(now.running.count, now.bytesPerSecond.received) }
/// ```
public actor ActivityMonitor {
  private nonisolated let core: ClientCore

  init(_ core: ClientCore) { self.core = core }

  /// The current snapshot.
  public nonisolated var current: ActivityMonitor.Snapshot { core.snapshot() }

  /// The current snapshot, then one after each change.
  ///
  /// There are at most ten per second. Only the newest one is kept for a slow reader. While a rate decays, there is one
  /// a second. The stream ends when nothing refers to the client: no monitor, request or handle. Its last snapshot
  /// shows an idle client.
  public nonisolated var snapshots: AsyncStream<ActivityMonitor.Snapshot> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      watch(continuation) { core in
        let snapshot = core.snapshot()
        continuation.yield(snapshot)
        let isMoving = snapshot.bytesPerSecond != TransferProgress.Bandwidth()
        return (.milliseconds(100), isMoving ? .milliseconds(900) : nil)
      } last: { snapshot in
        var snapshot = snapshot
        snapshot.bytesPerSecond = TransferProgress.Bandwidth()
        return snapshot
      }
    }
  }

  /// Whether the network is in use, for an activity indicator.
  ///
  /// The indicator turns on immediately, and turns off after a while without network use.
  ///
  /// - Parameter hideAfter: How long the indicator stays on after the last use, to avoid flicker.
  /// - Returns: The current state, then each change, until nothing refers to the client: no monitor, request or handle.
  ///   The last element is `false`.
  public nonisolated func indicator(hideAfter: Duration) -> AsyncStream<Bool> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let last = Locked((isOn: nil as Bool?, isInUse: false, use: Duration.zero))
      watch(continuation) { core in
        let now = core.timeline.now()
        let isInUse = core.snapshot().isNetworkInUse
        let (isOn, rest, isNew) = last.withLock { last in
          // A call whose retry delay begins stops using the network without ending.
          if last.isInUse { last.use = now }
          let rest = max(core.lastUse, last.use).adding(hideAfter) - now
          let isOn = isInUse || last.isOn == true && rest > .zero
          defer { (last.isOn, last.isInUse) = (isOn, isInUse) }
          return (isOn, rest, isOn != last.isOn)
        }
        if isNew { continuation.yield(isOn) }
        // Another use in the meantime moves `lastUse`; the next step waits again.
        return isOn && !isInUse ? (rest, .zero) : (.zero, nil)
      } last: { _ in
        last.withLock { $0.isOn } == false ? nil : false
      }
    }
  }

  /// Whether requests of an endpoint type are in progress.
  ///
  /// - Parameter type: The type; requests of other types do not count.
  /// - Returns: Whether there is one.
  public nonisolated func isInUse<E: Endpoint>(_ type: E.Type) -> Bool {
    core.calls.contains { $0.endpoint == type }
  }

  /// The requests of an endpoint type in progress.
  ///
  /// - Parameter type: The type.
  /// - Returns: The requests, the oldest first.
  public nonisolated func requests<E: Endpoint>(of type: E.Type) -> [ActivityMonitor.RequestInfo] {
    requests { $0.endpoint == type }
  }

  /// The requests in progress that have a tag.
  ///
  /// - Parameter tag: The tag.
  /// - Returns: The requests, the oldest first.
  public nonisolated func requests(tagged tag: String) -> [ActivityMonitor.RequestInfo] { requests { $0.tag == tag } }

  /// The requests in progress to a host.
  ///
  /// - Parameter host: The host in lower case.
  /// - Returns: The requests, the oldest first.
  public nonisolated func requests(to host: String) -> [ActivityMonitor.RequestInfo] {
    requests { $0.first.url.host == host }
  }

  /// Tracks work outside the client as network use.
  ///
  /// - Parameters:
  ///   - name: The name in snapshots.
  ///   - work: The work; it runs immediately, in the calling task.
  /// - Returns: The result of the work.
  /// - Throws: The error thrown by the work.
  public nonisolated func track<R>(_ name: String, _ work: () async throws -> R) async rethrows -> R {
    let id = core.enterForeign(name)
    defer { core.leaveForeign(id) }
    return try await work()
  }

  /// Waits until no request is in progress, or the task is cancelled.
  ///
  /// Callbacks of the last requests may run later, on their actor.
  public func waitUntilIdle() async { await core.waitUntilIdle() }

  private nonisolated func requests(where matches: (Call) -> Bool) -> [ActivityMonitor.RequestInfo] {
    core.calls.filter(matches).ordered { $0.id < $1.id }.map { ActivityMonitor.RequestInfo($0) }
  }

  /// The pause after a step: a time, then until a change or for a second time; the client's end ends both.
  private typealias Pause = (time: Duration, limit: Duration?)

  /// Runs `step` repeatedly for one stream, until the stream or the client ends.
  ///
  /// The client is not retained between the steps. `last` creates the last element from the client's last snapshot.
  @_semantics("optimize.sil.specialize.generic.never")
  private nonisolated func watch<Element: Sendable>(
    _ continuation: AsyncStream<Element>.Continuation,
    _ step: @escaping @Sendable (ClientCore) -> Pause,
    last: @escaping @Sendable (ActivityMonitor.Snapshot) -> Element?
  ) {
    let (changes, end, timeline) = (core.changes, core.lastSnapshot, core.timeline)
    changes.addWatcher()
    let task = Task { [weak core] in
      while !Task.isCancelled {
        let version = changes.version
        guard let (time, limit) = core.map(step) else {
          if let element = (try? await end.value()).flatMap(last) { continuation.yield(element) }
          break
        }
        do {
          if time > .zero { try await race([{ _ = try await end.value() }, { try await timeline.watch(time) }]) }
          if limit != .zero { try await changes.wait(after: version, orFor: limit, timeline) }
        } catch { break }
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in
      task.cancel()
      changes.removeWatcher()
    }
  }
}

extension ClientCore {
  func snapshot() -> ActivityMonitor.Snapshot {
    let (calls, foreign, totals) = activity()
    var snapshot = ActivityMonitor.Snapshot()
    snapshot.trackedWork = foreign.ordered(by: <)
    snapshot.totals = totals
    (snapshot.totals.bytesReceived, snapshot.totals.bytesSent) = meter.totals
    snapshot.bytesPerSecond = meter.rate(at: timeline.now())
    snapshot.loads = loads
    snapshot.connections = settings.connectionPools
    let configuration = settings.configuration
    if let ledger = configuration.dataLedger {
      let now = configuration.now()
      snapshot.data = ActivityMonitor.DataState(
        used: ledger.used(now: now), budget: ledger.budget.bytes ?? .max,
        timeUntilReset: ledger.budget.period(at: now).rest)
    }
    snapshot.work = work.map(\.snapshot)
    for call in calls.ordered(by: { $0.id < $1.id }) {
      let info = ActivityMonitor.RequestInfo(call)
      switch info.state {
      case .running: snapshot.running.append(info)
      case .waiting(let reason): snapshot.waiting.append(.init(request: info, reason: reason))
      case .ended: continue
      }
      snapshot.byHost[call.first.url.host, default: 0] += 1
    }
    return snapshot
  }
}
