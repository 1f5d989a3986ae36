import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletBase

/// Cancelling a task that awaits `next` immediately ends its request, and nothing else.
@Suite(.hangLimit) struct MiddlewareCancellationTests {
  /// Awaits the response and reads its body in a task that can be cancelled separately.
  final class Awaiting: Middleware {
    /// Holds the middleware after the cancellation.
    let rest = Gate()
    private let task = Shared<Task<StreamedResponse, any Error>?>(nil)

    func intercept(
      _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
    ) async throws -> StreamedResponse {
      let task = Task {
        var response = try await next(request)
        response.body = ResponseBody(try await response.body.collect(upTo: 1 << 20))
        return response
      }
      self.task.withLock { $0 = task }
      do {
        return try await task.value
      } catch {
        await rest.pass()
        throw error
      }
    }

    func cancel() { task.value?.cancel() }
  }

  /// The operation that a request waits for.
  enum Wait: CaseIterable {
    case head, body, retry, turn, budget, question, redirect, sharedResponse

    /// Whether the wait is below exchange middleware.
    var isBelowAttempt: Bool { self == .head || self == .body || self == .turn || self == .budget }
  }

  /// A client whose requests for `/` wait, and a closure that returns when a request is waiting.
  private struct Scene {
    let client: HTTPClient
    let isWaiting: @Sendable () async -> Void
    /// Ends the remaining work of the scene.
    var end: @Sendable () async -> Void = {}

    init(_ wait: Wait, _ change: @Sendable (inout HTTPClient.Configuration) -> Void) async throws {
      let gate = Gate()
      let clock = TestClock(advancing: .manually)
      func client(
        _ transport: StubTransport, _ more: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
      ) -> HTTPClient {
        .stubbed(transport, clock: clock) {
          $0.timeout = .unlimited
          more(&$0)
          change(&$0)
        }
      }
      switch wait {
      case .head:
        self.client = client(
          StubTransport { _ in
            await gate.pass()
            return .text("x")
          })
        isWaiting = { await gate.waitForArrivals(1) }
      case .body:
        self.client = client(
          StubTransport { _ in
            .streamed {
              await gate.pass()
              return nil
            }
          })
        isWaiting = { await gate.waitForArrivals(1) }
      case .retry:
        self.client = client(StubTransport { _ in .status(503) }) { $0.retry = .backoff(attempts: 3) }
        isWaiting = { await clock.wait(forSleepers: 1) }
      case .turn:
        let made = client(
          StubTransport { request in
            if request.url?.path() == "/first" { await gate.pass() }
            return .text("x")
          }
        ) { $0.concurrency = .adaptive(1...1) }
        let first = Task { try await made.get("/first") }
        await gate.waitForArrivals(1)
        self.client = made
        isWaiting = { await made.wait(until: { made.activity.current.waiting.contains { $0.reason == .turn } }) }
        end = {
          gate.open()
          _ = await first.result
        }
      case .budget:
        let made = client(StubTransport { _ in .text("x") }) {
          $0.dataBudget = .perDay(1)
          $0.dataBudget.whenExhausted = .waits
        }
        _ = try? await made.get("/first")
        self.client = made
        isWaiting = { await made.wait(until: { made.activity.current.waiting.contains { $0.reason == .dataBudget } }) }
      case .question:
        self.client = client(StubTransport { _ in .status(401, headers: ["WWW-Authenticate": "Basic realm=\"a\""]) }) {
          $0.authenticators[.baseURL] = .ask { _ in
            await gate.pass()
            return nil
          }
        }
        isWaiting = { await gate.waitForArrivals(1) }
      case .redirect:
        self.client = client(StubTransport { _ in .status(302, headers: ["Location": "/next"]) }) {
          $0.redirects = .ask { _ in
            await gate.pass()
            return .stop
          }
        }
        isWaiting = { await gate.waitForArrivals(1) }
      case .sharedResponse:
        let made = client(
          StubTransport { _ in
            await gate.pass()
            return .text("x", headers: ["Cache-Control": "max-age=60"])
          }
        ) { $0.cache = .memory() }
        let first = Task { try await made.derived { $0.middleware = [] }.get("/") }
        await gate.waitForArrivals(1)
        self.client = made
        isWaiting = { await clock.wait(forSleepers: 1) }
        end = {
          gate.open()
          _ = await first.result
        }
      }
    }
  }

  @Test(arguments: Wait.allCases, [false, true])
  func `cancelling a task that calls next ends each kind of wait`(_ wait: Wait, isAttempt: Bool) async throws {
    guard !isAttempt || wait.isBelowAttempt else { return }
    let awaiting = Awaiting()
    let scene = try await Scene(wait) {
      if isAttempt { $0.exchangeMiddleware = [awaiting] } else { $0.middleware = [awaiting] }
    }
    let task = Task { try await scene.client.get("/") }
    await scene.isWaiting()

    awaiting.cancel()

    await awaiting.rest.waitForArrivals(1)
    #expect(scene.client.activity.current.waiting.isEmpty)
    awaiting.rest.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    await scene.end()
    #expect(scene.client.core.entryCount == 0)
  }

  @Test(arguments: [0, 1, 2]) func `each middleware sees the limit that ends its request`(attempts: Int) async throws {
    let (gate, clock, errors) = (Gate(), TestClock(advancing: .manually), Log<HTTPError.Kind?>())
    let noting = ClosureMiddleware { request, _, next in
      do {
        return try await next(request)
      } catch {
        errors.add((error as? HTTPError)?.kind)
        throw error
      }
    }
    let transport = StubTransport { _ in
      await gate.pass()
      return .text("x")
    }
    let client = HTTPClient.stubbed(transport, clock: clock) {
      $0.timeout = TimeoutPolicy(total: .seconds(10))
      $0.middleware = Array(repeating: noting, count: 3 - attempts)
      $0.exchangeMiddleware = Array(repeating: noting, count: attempts)
    }
    let task = Task { try await client.get("/") }
    await gate.waitForArrivals(1)
    await clock.wait(forSleepers: 1)

    clock.advance(by: .seconds(10))

    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .timedOut)
    await errors.wait(for: 3)
    #expect(errors.elements == [.timedOut, .timedOut, .timedOut])
  }

  @Test(arguments: [false, true]) func `cancelling a task ends its reading of middleware's body`(collects: Bool)
    async throws
  {
    let gate = Gate()
    let client = HTTPClient.stubbed(.text("x")) {
      $0.middleware = [
        .closure { request, _, next in
          var response = try await next(request)
          response.body = ResponseBody {
            await gate.wait()
            return nil
          }
          return response
        }
      ]
    }

    try await client.stream(.get("/")) { response in
      let task = Task {
        if collects { return try await response.body.collect(upTo: 10) }
        for try await piece in response.body { return piece }
        return Data()
      }
      await gate.waitForArrivals(1)
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    gate.open()
  }
}
