package import MartletBase
import Synchronization

/// The running calls of a client and the state that they share; may outlive the client.
///
/// A class with a lock, not an actor: `onCancel` handlers and `deinit` are synchronous.
package final class ClientCore: Sendable {
  fileprivate struct State: ~Copyable {
    var settings: ClientSettings
    var calls = Slots<Call>()
    /// Calls whose callbacks have not run yet.
    var delivering: [RequestID: Call] = [:]
    var work: [ObjectIdentifier: any ClientWork] = [:]
    var foreign = Slots<Foreign>()
    var isClosed = false
    var totals = ActivityMonitor.Totals()
    /// The number of times that the client became idle, even for a moment.
    var rests = 0
    var lastUse = Duration.zero

    var isIdle: Bool { calls.isEmpty && foreign.isEmpty }
  }

  /// Other activity than requests.
  fileprivate struct Foreign {
    let name: String
    /// The source that ends it; `nil` if nothing else does.
    var abortSource: AbortSource?
  }

  private static let numbers = Atomic<UInt64>(0)

  package let timeline: Timeline
  let watchdog: Watchdog
  let budget: RetryBudget
  /// Whether the budget counts time like the client, because it is not another client's.
  private let hasOwnBudget: Bool
  /// The load limits.
  let gates: AdmissionControllers
  let meter: BandwidthMeter
  let outcomes = OutcomeHub()
  package let changes = ChangeSignal()
  /// The snapshot at the end of a client whose activity is watched.
  let lastSnapshot = Promise<ActivityMonitor.Snapshot>()
  private let rest = ChangeSignal()
  let callSessions = CallSessions()
  private let state: Locked<State>

  /// Creates the core of a client, which shares the limits of the one that it is derived from.
  init(_ settings: ClientSettings, derivedFrom other: ClientCore? = nil) {
    timeline = Timeline(settings.configuration.clock)
    watchdog = Watchdog(timeline, changes: changes)
    meter = BandwidthMeter()
    budget = other?.budget ?? RetryBudget(timeline)
    hasOwnBudget = other == nil
    gates = other?.gates ?? AdmissionControllers(timeline)
    state = Locked(State(settings: settings))
  }

  /// Ends the streams of activity.
  deinit {
    guard changes.isWatched else { return }
    var snapshot = self.snapshot()
    // This may be the thread of an engine, which ends with the client.
    snapshot.connections = []
    lastSnapshot.resolve(.success(snapshot))
    changes.signal()
  }

  static func nextID() -> RequestID { RequestID(number: numbers.add(1, ordering: .relaxed).newValue) }

  var settings: ClientSettings { state.withLock { $0.settings } }

  func update(_ change: @Sendable (inout HTTPClient.Configuration) -> Void) {
    // Not atomic, because user code never runs under the lock. The actor `HTTPClient` keeps the changes in order.
    let previous = settings
    var configuration = previous.configuration.unshared
    change(&configuration)
    let next = ClientSettings(configuration.unshared, reusing: previous)
    state.withLock { $0.settings = next }
  }

  /// The settings for the next call.
  ///
  /// Files that could not be read for a temporary reason are read again.
  var freshSettings: ClientSettings {
    let settings = settings
    guard settings.isUnread else { return settings }
    var configuration = settings.configuration
    configuration.tls = configuration.tls.reread
    let next = ClientSettings(configuration, reusing: settings)
    return state.withLock {
      // Keeps a change that was made in the meantime.
      if $0.settings === settings { $0.settings = next }
      return $0.settings
    }
  }

  // MARK: Calls

  /// The options of a stream or a download.
  ///
  /// Without a total limit, unless the options or the client set one.
  func unbounded(_ options: RequestOptions) -> RequestOptions {
    if settings.configuration.options.timeout.totalLimit.isSet { options } else { options.over(.timeout(nil)) }
  }

  /// Checks a request and registers its call; throws before anything is sent.
  func begin(
    _ asked: HTTPRequest, options: RequestOptions, endpoint: (any Endpoint.Type)? = nil, retryOf: RequestID? = nil,
    server: Int? = nil, isManaged: Bool, isHeld: Bool = false, observer: (any CallObserver)? = nil
  ) throws -> Call {
    let settings = freshSettings
    let resolved =
      options.isEmpty ? settings.options : ResolvedOptions(options.over(settings.configuration.options))
    let id = ClientCore.nextID()
    var asked = asked
    if let name = settings.configuration.requestIDHeader { asked.headers[name] = "\(id)" }
    let (first, credential) = try RequestGate.admit(
      asked, settings: settings, options: resolved, credential: options.credential)
    let call = Call(
      id: id, core: self, settings: settings, first: first, credential: credential, options: resolved,
      endpoint: endpoint, retryOf: retryOf, server: server,
      isManaged: isManaged, observer: observer)
    call.notifyInstruments(.began)
    let isOpen = state.withLock {
      guard !$0.isClosed else { return false }
      call.place.number = $0.calls.add(call)
      $0.totals.started += 1
      return true
    }
    guard isOpen else {
      let error = HTTPError(.clientClosed, "the client is drained and accepts no new requests", request: call.request)
      call.notifyInstruments(.ended(.failed(error), source: nil))
      throw error
    }
    if call.explains { RequestGate.explain(call) }
    if let deadline = call.deadline, deadline.deadline.hasPassed {
      var error = deadline.error
      error.phase = .queued
      error.mayHaveReachedServer = false
      call.abort(call.complete(error))
      throw call.failure ?? error
    }
    if isHeld {
      call.report(.waiting(.queue))
      watchEnd(of: call)
    } else {
      launched(call)
    }
    return call
  }

  /// Starts the time limit of a call and counts the call.
  func launched(_ call: Call) {
    watchEnd(of: call)
    if hasOwnBudget { budget.countRequest(at: call.startedAt) } else { budget.countRequest() }
    call.report(.started)
    activityChanged()
  }

  private func watchEnd(of call: Call) {
    guard let end = call.end else { return }
    watchdog.watch(call, at: call.watchPlace, next: end)
    // Another thread may have ended the registered call, which must not stay watched.
    if call.stage.isEnded { watchdog.forget(call, at: call.watchPlace) }
  }

  /// Removes an ended call from the registry.
  func leave(_ call: Call, _ end: RequestEvent.End) {
    watchdog.forget(call, at: call.watchPlace)
    finish {
      // The caller has another reference.
      _ = $0.calls.remove(at: call.place.number)
      switch end {
      case .succeeded: $0.totals.succeeded += 1
      case .failed: $0.totals.failed += 1
      case .cancelled: $0.totals.cancelled += 1
      }
    }
  }

  /// Removes a call or other activity, and records whether the client is now idle.
  private func finish(_ remove: @Sendable (inout State) -> Void) {
    let now = timeline.now()
    let isIdle = state.withLock {
      remove(&$0)
      $0.lastUse = now
      if $0.isIdle { $0.rests += 1 }
      return $0.isIdle
    }
    if isIdle { rest.signal() }
    activityChanged()
  }

  var calls: [Call] { state.withLock { Array($0.calls.all) } }

  /// Cancels all calls and other activity; returns the number of calls that it ended.
  @discardableResult
  package func cancel() -> Int {
    for source in state.withLock({ $0.foreign.all.compactMap(\.abortSource) }) { source.abort(CancellationError()) }
    return cancel { _ in true }
  }

  /// Cancels the calls for which `matches` is true.
  ///
  /// Returns how many it ended.
  @discardableResult
  package func cancel(where matches: (Call) -> Bool) -> Int {
    let candidates = state.withLock { state in
      state.delivering.merging(state.calls.all.lazy.map { ($0.id, $0) }) { call, _ in call }
    }
    return candidates.values.count { matches($0) && $0.cancel() }
  }

  func expectDelivery(_ call: Call) { state.withLock { $0.delivering[call.id] = call } }

  func delivered(_ call: Call) {
    let removed = state.withLock { $0.delivering.removeValue(forKey: call.id) }
    _ = removed
    activityChanged()
  }

  /// The number of calls in all tables, for leak tests.
  package var entryCount: Int { state.withLock { $0.calls.count + $0.delivering.count } + watchdog.count }

  func close() { state.withLock { $0.isClosed = true } }

  func countHedge(hasWon: Bool) {
    state.withLock { state in
      if hasWon { state.totals.hedgesWon += 1 } else { state.totals.hedges += 1 }
    }
  }

  /// Counts the bytes of an exchange whose response is not used.
  func countWaste(_ bytes: Int64) { state.withLock { $0.totals.wastedBytes += bytes } }

  // MARK: Work

  /// Registers work that uses this client.
  func enter(_ work: any ClientWork) throws {
    let isOpen = state.withLock {
      guard !$0.isClosed else { return false }
      $0.work[ObjectIdentifier(work)] = work
      return true
    }
    guard isOpen else { throw HTTPError(.clientClosed, "the client is drained and accepts no new requests") }
  }

  func leave(_ work: any ClientWork) {
    let removed = state.withLock { $0.work.removeValue(forKey: ObjectIdentifier(work)) }
    _ = removed
  }

  var work: [any ClientWork] { state.withLock { Array($0.work.values) } }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  // MARK: Activity

  func enterForeign(_ name: String) -> Int {
    defer { activityChanged() }
    return state.withLock { $0.foreign.add(Foreign(name: name)) }
  }

  /// Registers activity that ``cancel()`` ends; `nil` if the client is closed.
  func enterForeign(_ name: String, endedBy source: AbortSource) -> Int? {
    defer { activityChanged() }
    return state.withLock { $0.isClosed ? nil : $0.foreign.add(Foreign(name: name, abortSource: source)) }
  }

  func leaveForeign(_ place: Int) { finish { _ = $0.foreign.remove(at: place) } }

  func activity() -> (calls: [Call], foreign: [String], totals: ActivityMonitor.Totals) {
    state.withLock { (Array($0.calls.all), $0.foreign.all.map(\.name), $0.totals) }
  }

  func didMove(sent: Int, received: Int, now: Duration) {
    meter.record(sent: sent, received: received, at: now)
    activityChanged()
  }

  /// The time at which the last call or tracked work ended.
  var lastUse: Duration { state.withLock { $0.lastUse } }

  func activityChanged() { changes.signal() }

  /// Waits until nothing runs, or the task is cancelled.
  func waitUntilIdle() async {
    let rests = state.withLock { $0.rests }
    await rest.wait { state.withLock { $0.isIdle || $0.rests != rests } }
  }
}
