import Synchronization

/// Hands out the right to use a connection: so many per origin, so many in all, first come, first served.
///
/// ```
///   acquire ─▶ slot at once, if origin and total have room
///           └▶ queue of the origin ─▶ slot, when one is released      the longest wait first
///                     └▶ the reason, when aborted
/// ```
///
/// Whoever waits is held back by its own origin or by the total, never by somebody who waits for another origin.
final class ConnectionLimiter: Sendable {
  fileprivate struct Waiter {
    let number: Int
    let result: OneShot<ConnectionSlot>
  }

  fileprivate struct Line {
    var active = 0
    /// In order of arrival; those before `head` are gone.
    var waiters: [Waiter?] = []
    var head = 0
    var waiting = 0
  }

  private struct State {
    var active = 0
    var lines: [Origin: Line] = [:]
    /// The origins for which somebody waits.
    var crowded: Set<Origin> = []
    var nextNumber = 0
  }

  private let perOrigin: Int
  private let total: Int
  private let state = Locked(State())

  init(perOrigin: Int, total: Int) {
    self.perOrigin = max(1, perOrigin)
    self.total = max(1, total)
  }

  /// The number of slots in use and of those waited for, for tests.
  var counts: (active: Int, waiting: Int) {
    state.withLock { ($0.active, $0.lines.values.reduce(0) { $0 + $1.waiting }) }
  }

  /// Takes a slot if there is one.
  func take(for origin: Origin) -> ConnectionSlot? {
    state.withLock { take(origin, &$0) } ? ConnectionSlot(limiter: self, origin: origin) : nil
  }

  /// With room for both nobody else can be waiting for this origin: a release serves all who can be served.
  private func take(_ origin: Origin, _ state: inout State) -> Bool {
    guard state.active < total else { return false }
    let isTaken = state.lines[origin, default: Line()].take(upTo: perOrigin)
    if isTaken { state.active += 1 }
    return isTaken
  }

  /// Takes a slot, waiting for one if need be.
  ///
  /// - Parameters:
  ///   - origin: Who will be connected to.
  ///   - source: Ends the wait.
  ///   - onWait: Called before a wait.
  /// - Returns: The slot; it goes back when it is released, or dropped.
  /// - Throws: The reason why the wait was ended.
  func acquire(
    for origin: Origin, abort source: AbortSource, onWait: () -> Void = {}
  ) async throws -> ConnectionSlot {
    let waiter: Waiter? = state.withLock { state in
      if take(origin, &state) { return nil }
      var line = state.lines[origin] ?? Line()
      state.nextNumber += 1
      let waiter = Waiter(number: state.nextNumber, result: OneShot())
      // Taken out, or the array would be copied.
      state.lines[origin] = nil
      line.waiters.append(waiter)
      line.waiting += 1
      state.lines[origin] = line
      state.crowded.insert(origin)
      return waiter
    }
    guard let waiter else { return ConnectionSlot(limiter: self, origin: origin) }
    let (number, result) = (waiter.number, waiter.result)
    onWait()
    let token = source.onAbort { error in
      self.leave(number, origin)
      result.resolve(.failure(error))
    }
    defer { source.remove(token) }
    return try await result.value()
  }

  /// Takes a slot for an exchange, and tells its call of the wait, if there is one.
  func acquire(for origin: Origin, _ context: RequestContext) async throws -> ConnectionSlot {
    let source = context.exchange.abortSource
    try source.check()
    var hasWaited = false
    let slot = try await acquire(for: origin, abort: source) {
      hasWaited = true
      context.call.report(.waiting(.connectionSlot))
    }
    if hasWaited { context.call.report(.running) }
    return slot
  }

  fileprivate func release(_ origin: Origin) {
    let served: [(Waiter, Origin)] = state.withLock { state in
      state.active -= 1
      if state.crowded.isEmpty {
        guard var line = state.lines[origin] else { return [] }
        line.active -= 1
        // Kept for the next request to the same origin, up to a number that nobody would miss.
        state.lines[origin] = line.active == 0 && state.lines.count > 32 ? nil : line
        return []
      }
      state.lines[origin]?.active -= 1
      var served: [(Waiter, Origin)] = []
      while state.active < total, let next = nextServed(state) {
        guard let waiter = state.lines[next]?.takeFirst() else { break }
        state.active += 1
        state.lines[next]?.active += 1
        if state.lines[next]?.waiting == 0 { state.crowded.remove(next) }
        served.append((waiter, next))
      }
      if let line = state.lines[origin], line.active == 0, line.waiting == 0 { state.lines[origin] = nil }
      return served
    }
    // Who was aborted meanwhile does not take the slot, and dropping it releases it.
    for (waiter, origin) in served {
      waiter.result.resolve(.success(ConnectionSlot(limiter: self, origin: origin)))
    }
  }

  /// The origin whose first waiter has waited longest among those that have room.
  private func nextServed(_ state: State) -> Origin? {
    var best: (number: Int, origin: Origin)?
    for origin in state.crowded {
      guard let line = state.lines[origin], line.active < perOrigin, let number = line.firstNumber else { continue }
      if best.map({ number < $0.number }) ?? true { best = (number, origin) }
    }
    return best?.origin
  }

  private func leave(_ number: Int, _ origin: Origin) {
    let removed: Waiter? = state.withLock { state in
      let removed = state.lines[origin]?.remove(number)
      if let line = state.lines[origin], line.waiting == 0 {
        state.crowded.remove(origin)
        if line.active == 0 { state.lines[origin] = nil }
      }
      return removed
    }
    _ = removed
  }
}

extension ConnectionLimiter.Line {
  fileprivate mutating func take(upTo limit: Int) -> Bool {
    guard active < limit else { return false }
    active += 1
    return true
  }

  var firstNumber: Int? { head < waiters.count ? waiters[head]?.number : nil }

  mutating func takeFirst() -> ConnectionLimiter.Waiter? {
    guard head < waiters.count, let first = waiters[head] else { return nil }
    waiters[head] = nil
    waiting -= 1
    skipGone()
    return first
  }

  mutating func remove(_ number: Int) -> ConnectionLimiter.Waiter? {
    // The numbers ascend, but for the gaps; aborting is rare enough for a search.
    guard let index = waiters[head...].firstIndex(where: { $0?.number == number }) else { return nil }
    let removed = waiters[index]
    waiters[index] = nil
    waiting -= 1
    skipGone()
    return removed
  }

  /// Keeps `head` at a waiter, and the array from growing without end.
  private mutating func skipGone() {
    while head < waiters.count, waiters[head] == nil { head += 1 }
    if head > 64 && head * 2 > waiters.count {
      waiters.removeFirst(head)
      head = 0
    }
  }
}

/// The right to use one connection, until it is released or dropped.
final class ConnectionSlot: Sendable {
  private let limiter: ConnectionLimiter
  private let origin: Origin
  private let isReleased = Atomic(false)

  fileprivate init(limiter: ConnectionLimiter, origin: Origin) {
    self.limiter = limiter
    self.origin = origin
  }

  deinit { release() }

  /// Gives it back; more than once does nothing.
  func release() {
    guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
    limiter.release(origin)
  }

  /// The same right in other hands, so that a release of this one does nothing; `nil` if it was released.
  func handOn() -> ConnectionSlot? {
    guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return nil }
    return ConnectionSlot(limiter: limiter, origin: origin)
  }
}
