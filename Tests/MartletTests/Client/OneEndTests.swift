import Foundation
import Martlet
import MartletTesting
import Testing

/// Every call ends once, whatever comes together.
@Suite(.oneAtATime, .serialized) struct OneEndTests {
  /// What happens to one request in one round, in random order and from several tasks.
  enum Action: CaseIterable, Sendable {
    case finish, fail, cancel, cancelAll, timeout, endScope, dropClient, dropHandle
  }

  struct Outcome: Sendable {
    var results = 0
    var callbacks = 0
    var callbacksAfterCancel = 0
    var entries = 0
  }

  @Test(arguments: 0..<10) func `ten thousand random interleavings end each request once`(block: Int) async throws {
    for seed in (block * 1000)..<(block * 1000 + (isSanitized ? 100 : 1000)) {
      let outcome = await round(UInt64(seed))
      let isRight =
        outcome.results == 3 && outcome.callbacks <= 1 && outcome.callbacksAfterCancel == 0 && outcome.entries == 0
      if !isRight {
        Issue.record("seed \(seed): \(outcome)")
        return
      }
    }
  }

  private func round(_ seed: UInt64) async -> Outcome {
    var generator = SeededGenerator(seed: seed)
    let clock = TestClock(advancing: .manually)
    let answer = Answer()
    var client: HTTPClient? = HTTPClient {
      $0.clock = clock
      $0.retry = .none
      $0.transport = .stub { _ in try await answer.value() }
      $0.timeout = TimeoutPolicy(connect: nil, idle: nil, firstByte: nil, total: .seconds(100))
    }
    guard let core = client?.core else { return Outcome() }
    let callbacks = Log<String>()
    let probe = CallbackActor(callbacks)
    let scope = RequestScope(client: client ?? .shared)
    // Unmanaged, managed with callbacks, scoped: one of each.
    let awaited = Task { [client] in try await client?.get("http://example.test/awaited") }
    let managed = await probe.start(client ?? .shared)
    let scoped = scope.start(.get("http://example.test/scoped"))

    let actions = Action.allCases.shuffled(using: &generator).prefix(Int.random(in: 1...4, using: &generator))
    let inParallel = Bool.random(using: &generator)
    let dropsClient = actions.contains(.dropClient)
    if dropsClient { client = nil }
    await withTaskGroup(of: Void.self) { group in
      for action in actions {
        let run: @Sendable () async -> Void = {
          switch action {
          case .finish: answer.resolve(.success(.text("x")))
          case .fail: answer.resolve(.failure(HTTPError(.protocolViolation, "stubbed")))
          case .cancel: await probe.cancel(managed)
          case .cancelAll: core.cancel()
          case .timeout: clock.advance(by: .seconds(101))
          case .endScope: scope.cancelAll()
          case .dropClient, .dropHandle: break
          }
        }
        if inParallel { group.addTask { await run() } } else { await run() }
      }
    }
    // Whatever is still open comes to its end now.
    answer.resolve(.success(.text("end")))
    var outcome = Outcome()
    _ = await awaited.result
    outcome.results += 1
    _ = try? await managed.value
    outcome.results += 1
    _ = try? await scoped.value
    outcome.results += 1
    for _ in 0..<50 where core.entryCount > 0 { await Task.yield() }
    for _ in 0..<2_000 where core.entryCount > 0 { try? await Task.sleep(for: .milliseconds(1)) }
    outcome.entries = core.entryCount
    outcome.callbacks = callbacks.elements.count
    outcome.callbacksAfterCancel = await probe.late
    return outcome
  }

  /// Starts a request in block style and counts what comes after its own cancel.
  actor CallbackActor {
    private let log: Log<String>
    private var isCancelled = false
    private(set) var late = 0

    init(_ log: Log<String>) { self.log = log }

    func start(_ client: HTTPClient) -> RequestHandle<HTTPResponse> {
      client.get(
        "http://example.test/managed", onSuccess: { _ in self.called("success") },
        onError: { _ in self.called("error") })
    }

    func cancel(_ handle: RequestHandle<HTTPResponse>) {
      handle.cancel()
      isCancelled = true
    }

    private func called(_ what: String) {
      log.add(what)
      if isCancelled { late += 1 }
    }
  }

  /// One answer for all requests of a round.
  final class Answer: Sendable {
    private struct State {
      var result: Result<StubResponse, any Error>?
      var waiters: [CheckedContinuation<StubResponse, any Error>] = []
    }

    private let state = Locked(State())

    func resolve(_ result: Result<StubResponse, any Error>) {
      let waiters = state.withLock { state in
        guard state.result == nil else { return [CheckedContinuation<StubResponse, any Error>]() }
        state.result = result
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in waiters { waiter.resume(with: result) }
    }

    func value() async throws -> StubResponse {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state in
          if state.result == nil { state.waiters.append(continuation) }
          return state.result
        }
        if let result { continuation.resume(with: result) }
      }
    }
  }
}
