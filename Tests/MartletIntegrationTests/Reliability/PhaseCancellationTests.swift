#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import Testing

  /// A request that is cancelled ends at once, and so does its connection, however far it has come.
  @Suite(.oneAtATime, .serialized, .timeLimit(.minutes(2))) struct PhaseCancellationTests {
    @Test(arguments: Lane.engines, CancelPhase.allCases)
    func `ends at once and closes its connection`(_ lane: Lane, _ phase: CancelPhase) async {
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [lane = lane as Lane, phase = phase as CancelPhase] in
        let scene = try await CancelScene(phase, lane)
        // Only a task can hold a body that it does not read.
        let ways: [CancelWay] = phase == .paused ? [.task] : CancelWay.allCases
        for way in ways {
          var returns: [Duration] = []
          var closes: [Duration] = []
          var missed = 0
          for _ in 0..<20 {
            let sample = await CancelSample.take(scene, phase, way)
            guard sample.hasBegun else { break }
            if let returned = sample.returned { returns.append(returned) } else { missed += 1 }
            if let closed = sample.closed { closes.append(closed) } else if scene.isClosed != nil { break }
          }
          let close = scene.isClosed == nil ? "none" : closes.median.map { Figures.milliseconds($0) } ?? "never"
          Figures.note(
            "cancel \(phase) (\(lane), \(way)): return \(returns.median.map { Figures.milliseconds($0) } ?? "never"), "
              + "close \(close)" + (missed > 0 ? ", \(missed) of 20 had ended before" : ""))
          // A name may turn out unknown before anybody can cancel.
          #expect(missed == 0 || phase == .resolving)
          #expect(returns.count + missed == 20)
          #expect(scene.isClosed == nil || closes.count == 20)
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

  /// One request that is cancelled in the middle.
  private struct CancelSample {
    /// Whether the request came as far as it was to come.
    var hasBegun = false
    /// From the cancellation to the error that the caller gets; `nil` if the request ended by itself.
    var returned: Duration?
    /// From the cancellation to the moment that the server sees.
    var closed: Duration?

    static func take(_ scene: CancelScene, _ phase: CancelPhase, _ way: CancelWay) async -> CancelSample {
      let signs = Shared(CancelScene.Signs())
      let options = RequestOptions.onProgress { progress in
        signs.withLock { $0.moved = progress.sent + progress.received }
      }
      let (cancel, caller) = start(scene, phase, way, options, signs)
      // A lookup may have failed before anybody could see it: then there is nothing to wait for.
      let limit = Duration.milliseconds(phase == .resolving ? 500 : 20_000)
      let isReached = await becomes(within: limit) { await scene.isReached(signs.withLock { $0 }) }
      guard isReached else {
        let now = scene.client.activity.current
        if phase != .resolving { Issue.record("\(phase) has not begun") }
        Figures.note("\(phase), \(way): \(now.running.count) run, \(now.waiting.count) wait; \(signs.withLock { $0 })")
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
      _ signs: Shared<CancelScene.Signs>
    ) -> (cancel: () -> Void, caller: Caller) {
      let client = scene.client
      let request = scene.request
      switch way {
      case .task:
        let caller = caller {
          guard phase == .paused else { return _ = try await client.send(request, options: options) }
          try await client.stream(request, options: options) { response in
            var pieces = response.body.makeAsyncIterator()
            _ = try await pieces.next()
            signs.withLock { $0.hasRead = true }
            try await Task.sleep(for: .seconds(60))
          }
        }
        return ({ caller.cancel() }, caller)
      case .handle:
        let handle = client.start(request, options: options)
        return ({ handle.cancel() }, caller { _ = try await handle.value })
      case .scope:
        var scope: RequestScope? = RequestScope(client: client, options: options)
        guard let handle = scope?.start(request) else { return ({}, caller {}) }
        return ({ scope = nil }, caller { _ = try await handle.value })
      }
    }

    private struct Unended: Error {}

    private static func caller(_ work: @escaping @Sendable () async throws -> Void) -> Caller {
      Task {
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
