import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Every call ends once, even if several causes coincide.
@Suite(.hangLimit) struct OneEndTests {
  /// The actions on the calls of one round, in random order and from several tasks.
  enum Action: CaseIterable, Sendable {
    case finish, fail, cancel, cancelAll, timeout, endScope, dropClient, dropHandle
  }

  /// How a call ended.
  enum End: Sendable { case succeeded, failed, cancelled }

  /// The recorded ends of a round's three calls: one is awaited, one has callbacks, one belongs to a scope.
  private struct Heard: Sendable {
    let awaited = Log<End>()
    let scoped = Log<End>()
    let scopedEvents = Log<End>()
    let managedEvents = Log<End>()
    let callbacks = Log<End>()
    let callbacksAfterCancel = Log<End>()
    /// Counts the finished observers, of which there are four.
    let done = Log<Bool>()
    /// Counts the released calls: no code refers to them, so they cannot end again.
    let released = Log<Bool>()

    /// Returns options that record when their call is released.
    func options() -> RequestOptions {
      let signal = ReleaseSignal { [released] in released.add(true) }
      return .onProgress { _ in withExtendedLifetime(signal) {} }
    }

    func follow(_ events: AsyncStream<RequestEvent>, _ log: Log<End>) {
      Task {
        for await case .ended(let end) in events {
          switch end {
          case .succeeded: log.add(.succeeded)
          case .failed: log.add(.failed)
          case .cancelled: log.add(.cancelled)
          }
        }
        done.add(true)
      }
    }

    func wait(_ log: Log<End>, for value: @escaping @Sendable () async throws -> HTTPResponse) {
      Task {
        do {
          _ = try await value()
          log.add(.succeeded)
        } catch {
          log.add(error is CancellationError ? .cancelled : .failed)
        }
        done.add(true)
      }
    }
  }

  @Test(arguments: 0..<10) func `each call ends exactly once under random interleavings`(block: Int) async throws {
    let count = Stress.count(500, full: 10_000) / 10
    for seed in block * count..<(block + 1) * count {
      let faults = await Self.faults(UInt64(seed))
      guard faults.isEmpty else {
        Issue.record("seed \(seed): \(faults)")
        return
      }
    }
  }

  /// Runs one round and returns its faults.
  private static func faults(_ seed: UInt64) async -> [String] {
    var generator = SeededGenerator(seed: seed)
    let actions = Array(Action.allCases.shuffled(using: &generator).prefix(Int.random(in: 1...4, using: &generator)))
    let heard = Heard()
    let core = await play(actions, inParallel: Bool.random(using: &generator), heard)
    await heard.done.wait(for: 4)
    await heard.released.wait(for: 3)
    await core.waitUntilEmpty()

    let (managed, scoped, awaited) = (heard.managedEvents.elements, heard.scoped.elements, heard.awaited.elements)
    let ends = managed + scoped + awaited
    let totals = core.snapshot().totals
    let callbacks = heard.callbacks.elements
    var faults: [String] = []
    func expect(_ isRight: Bool, _ what: String) { if !isRight { faults.append(what) } }

    expect(heard.done.count == 4 && heard.released.count == 3, "not all came to their end")
    expect([managed.count, scoped.count, awaited.count] == [1, 1, 1], "ends \(managed) \(scoped) \(awaited)")
    expect(heard.scopedEvents.elements == scoped, "events \(heard.scopedEvents.elements), but \(scoped)")
    // The client counts the ends independently.
    let counted = [totals.started, totals.succeeded, totals.failed, totals.cancelled]
    let told = [3] + [End.succeeded, .failed, .cancelled].map { end in ends.count { $0 == end } }
    expect(counted == told, "counted \(counted), told \(told)")
    expect(core.entryCount == 0, "\(core.entryCount) are left")
    // Callbacks report the end unless it is a cancellation. After a cancel, no callback runs.
    let isSilent = managed == [.cancelled]
    let maySilence = actions.contains(.cancel) || actions.contains(.cancelAll)
    expect(callbacks == (isSilent ? [] : managed) || maySilence && callbacks.isEmpty, "callbacks \(callbacks)")
    expect(heard.callbacksAfterCancel.count == 0, "callbacks after a cancel")
    return faults
  }

  /// Starts the calls, runs all actions and lets the calls end.
  private static func play(_ actions: [Action], inParallel: Bool, _ heard: Heard) async -> ClientCore {
    let program = await Program(heard)
    await withTaskGroup(of: Void.self) { group in
      for action in actions {
        if inParallel { group.addTask { await program.run(action) } } else { await program.run(action) }
      }
    }
    program.answer(.success(.text("end")))
    return program.core
  }

  /// Starts the calls and retains their client, scope and handle until an action drops them.
  private final class Program: Sendable {
    let core: ClientCore
    private let clock = TestClock(advancing: .manually)
    private let board = Board()
    private let screen: Screen
    private let client: Shared<HTTPClient?>
    private let scope: Shared<RequestScope?>
    private let handle: Shared<RequestHandle<HTTPResponse>?>

    init(_ heard: Heard) async {
      let client = HTTPClient.stubbed(
        StubTransport { [board] in try await board.answer(to: Forge.number($0)) }, clock: clock
      ) {
        $0.retry = .off
        $0.timeout = TimeoutPolicy(connect: nil, idle: nil, firstByte: nil, total: .seconds(100))
      }
      core = client.core
      screen = Screen(heard)
      heard.wait(heard.awaited) { [core] in
        try await core.send(.get("/0"), options: heard.options()) { response, _ in response }
      }
      let managed = await screen.start(.get("/1"), client, heard.options())
      heard.follow(managed.events, heard.managedEvents)
      let scope = RequestScope(client: client)
      let scoped = scope.start(.get("/2"), options: heard.options())
      heard.follow(scoped.events, heard.scopedEvents)
      heard.wait(heard.scoped) { try await scoped.value }
      self.client = Shared(client)
      self.scope = Shared(scope)
      handle = Shared(managed)
    }

    /// Responds to the calls that have no response yet.
    func answer(_ result: Result<StubResponse, any Error>) { for number in 0..<3 { board.resolve(number, result) } }

    func run(_ action: Action) async {
      switch action {
      case .finish: answer(.success(.text("x")))
      case .fail: answer(.failure(HTTPError(.protocolViolation, "stubbed")))
      case .cancel: if let handle = handle.value { await screen.cancel(handle) }
      case .cancelAll: core.cancel()
      case .timeout: clock.advance(by: .seconds(101))
      case .endScope: scope.withLock { $0?.cancelAll() }
      case .dropClient: client.withLock { $0 = nil }
      case .dropHandle: handle.withLock { $0 = nil }
      }
    }
  }

  /// Counts its callbacks, and separately those after it cancelled the request.
  private actor Screen {
    private let heard: Heard
    private var isCancelled = false

    init(_ heard: Heard) { self.heard = heard }

    func start(_ request: HTTPRequest, _ client: HTTPClient, _ options: RequestOptions) -> RequestHandle<HTTPResponse> {
      client.get(
        request.target, options: options, onSuccess: { _ in self.called(.succeeded) },
        onError: { _ in self.called(.failed) })
    }

    func cancel(_ handle: RequestHandle<HTTPResponse>) {
      handle.cancel()
      isCancelled = true
    }

    private func called(_ end: End) {
      heard.callbacks.add(end)
      if isCancelled { heard.callbacksAfterCancel.add(end) }
    }
  }
}
