#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Cancelling a request ends it and its connection at once in any phase, without a timeout that could end them.
  @Suite(.ownThreads, .needs(.proc), .hangLimit) struct PhaseCancellationTests {
    @Test(arguments: Lane.engines, CancelPhase.allCases.filter { $0 != .resolving })
    func `cancellation in any phase ends the request and closes its connection`(_ lane: Lane, _ phase: CancelPhase)
      async
    {
      await expectEnd(lane, phase)
    }

    @Test(.needs(.unknownNames), arguments: Lane.engines)
    func `cancellation ends a request during name resolution`(_ lane: Lane) async { await expectEnd(lane, .resolving) }

    private func expectEnd(_ lane: Lane, _ phase: CancelPhase) async {
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [lane = lane as Lane, phase = phase as CancelPhase] in
        let scene = try await CancelScene(phase, lane)
        // Only a task can hold a body without reading it.
        let ways: [CancelWay] = phase == .paused ? [.task] : CancelWay.allCases
        for way in ways {
          var returns: [Duration] = []
          var closes: [Duration] = []
          var missed = 0
          let middleware = CancelMiddleware(scene.request)
          if way == .next { await scene.client.update { $0.exchangeMiddleware = [middleware] } }
          let count = Stress.count(4, full: 20)
          for _ in 0..<count {
            let sample = await CancelSample.take(scene, phase, way, middleware)
            guard sample.hasBegun else { break }
            if let returned = sample.returned { returns.append(returned) } else { missed += 1 }
            if let closed = sample.closed { closes.append(closed) } else if scene.isClosed != nil { break }
          }
          let close = scene.isClosed == nil ? "none" : closes.median.map { Figures.milliseconds($0) } ?? "never"
          Figures.record(
            "cancel \(phase) (\(lane), \(way)): return \(returns.median.map { Figures.milliseconds($0) } ?? "never"), "
              + "close \(close)" + (missed > 0 ? ", \(missed) of \(count) had ended before" : ""))
          // A lookup may fail before the request is cancelled.
          #expect(missed == 0 || phase == .resolving)
          #expect(returns.count + missed == count)
          #expect(scene.isClosed == nil || closes.count == count)
          guard Stress.isOn else { continue }
          let bound = Duration.milliseconds(isSanitized ? 5_000 : 250)
          #expect(returns.median ?? .zero <= bound)
          #expect(closes.median ?? .zero <= bound)
          #expect(returns.max() ?? .zero <= .seconds(10))
        }
        await scene.end()
        #expect(await becomes { scene.client.core.entryCount == 0 })
      }
      Figures.show(child)
    }
  }

  /// A request that is cancelled while it runs.
  private struct CancelSample {
    /// Whether the request reached the phase.
    var hasBegun = false
    /// The time from the cancellation to the caller's error; `nil` if the request had already ended.
    var returned: Duration?
    /// The time from the cancellation to the moment the server notices it.
    var closed: Duration?

    static func take(
      _ scene: CancelScene, _ phase: CancelPhase, _ way: CancelWay, _ middleware: CancelMiddleware
    ) async -> CancelSample {
      let signs = Shared(CancelScene.Signs())
      let options = RequestOptions.timeout(.unlimited).onProgress { progress in
        signs.withLock { $0.moved = progress.sent + progress.received }
      }
      let hasEnded = Shared(false)
      let (cancel, caller) = start(scene, phase, way, options, signs, hasEnded, middleware)
      // A lookup may fail before the phase is noticed, so there is nothing to wait for.
      var isReached = false
      _ = await becomes {
        isReached = await scene.isReached(signs.withLock { $0 })
        return isReached || hasEnded.value
      }
      guard isReached else {
        let now = scene.client.activity.current
        if phase != .resolving { Issue.record("\(phase) has not begun") }
        Figures.record(
          "\(phase), \(way): \(now.running.count) run, \(now.waiting.count) wait; \(signs.withLock { $0 })")
        cancel()
        _ = await caller.value
        return CancelSample(hasBegun: phase == .resolving)
      }

      let start = ContinuousClock.now
      cancel()
      let seen = scene.isClosed.map { isClosed in
        Task { await becomes(every: .microseconds(100)) { isClosed() } ? ContinuousClock.now - start : nil }
      }
      let (error, end) = await caller.value
      let closed = await seen?.value
      return CancelSample(hasBegun: true, returned: error is CancellationError ? end - start : nil, closed: closed)
    }

    private typealias Caller = Task<(any Error, ContinuousClock.Instant), Never>

    private static func start(
      _ scene: CancelScene, _ phase: CancelPhase, _ way: CancelWay, _ options: RequestOptions,
      _ signs: Shared<CancelScene.Signs>, _ hasEnded: Shared<Bool>, _ middleware: CancelMiddleware
    ) -> (cancel: () -> Void, caller: Caller) {
      let client = scene.client
      let request = scene.request
      switch way {
      case .task:
        let caller = caller(hasEnded) {
          guard phase == .paused else { return _ = try await client.send(request, options: options) }
          try await client.stream(request, options: options) { response in
            var pieces = response.body.makeAsyncIterator()
            _ = try await pieces.next()
            signs.withLock { $0.hasRead = true }
            try await untilCancelled()
          }
        }
        return ({ caller.cancel() }, caller)
      case .handle:
        let handle = client.start(request, options: options)
        return ({ handle.cancel() }, caller(hasEnded) { _ = try await handle.value })
      case .next:
        return ({ middleware.cancel() }, caller(hasEnded) { _ = try await client.send(request, options: options) })
      case .scope:
        var scope: RequestScope? = RequestScope(client: client, options: options)
        guard let handle = scope?.start(request) else { return ({}, caller(hasEnded) {}) }
        return ({ scope = nil }, caller(hasEnded) { _ = try await handle.value })
      }
    }

    private struct Unended: Error {}

    private static func caller(
      _ hasEnded: Shared<Bool>, _ work: @escaping @Sendable () async throws -> Void
    ) -> Caller {
      Task {
        defer { hasEnded.withLock { $0 = true } }
        do {
          try await work()
          return (Unended(), .now)
        } catch {
          return (error, .now)
        }
      }
    }
  }
#endif
