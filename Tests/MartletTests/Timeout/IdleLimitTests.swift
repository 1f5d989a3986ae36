import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// The idle limit with a transport that reports received bytes itself and is notified when its exchange must end.
@Suite(.hangLimit) struct IdleLimitTests {
  /// Responds with a body that never yields bytes; the test reports them instead.
  private struct ReportingTransport: AbortAwareTransport {
    let contexts = Log<RequestContext>()

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      let body = ResponseBody {
        contexts.add(context)
        return try await withAbort(context.exchange.abortSource) { try await untilCancelled() }
      }
      return StreamedResponse(status: .ok, body: body, request: request)
    }
  }

  /// Never responds.
  private struct SilentTransport: AbortAwareTransport {
    let contexts: Log<RequestContext>

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      contexts.add(context)
      return try await withAbort(context.exchange.abortSource) { try await untilCancelled() }
    }
  }

  private let clock = TestClock(advancing: .manually)
  private let transport = ReportingTransport()

  private static let settings: ClientSetting = [
    .cache(.off), .retry(.off), .timeout(TimeoutPolicy(connect: nil, idle: .seconds(30), total: nil)),
  ]

  @Test(arguments: [true, false])
  func `restarts when bytes are received and when the request body progresses`(isReceiving: Bool) async throws {
    let handle = HTTPClient(transport, .clock(clock), Self.settings).start(.get("https://a.test/"))
    await transport.contexts.wait(for: 1)
    let context = try #require(transport.contexts.elements.first)

    for _ in 0..<4 {
      await clock.waitForSleepers(1)
      clock.advance(by: .seconds(20))
      if isReceiving { context.didReceive(10) } else { context.exchange.didMove() }
    }
    await clock.waitForSleepers(1)
    clock.advance(by: .seconds(29))
    await clock.waitForSleepers(1)
    #expect(handle.isAlive)
    clock.advance(by: .seconds(1))

    let error = try await #require(throws: HTTPError.self) { try await handle.value }
    #expect(error.kind == .timedOut && error.phase == .receiving)
    #expect(error.elapsed == .seconds(110))
  }

  @Test func `progress of the request body restarts the first byte limit`() async throws {
    let contexts = Log<RequestContext>()
    let client = HTTPClient {
      $0.clock = clock
      $0.cache = .off
      $0.retry = .off
      $0.timeout = TimeoutPolicy(connect: nil, idle: .seconds(300), firstByte: .seconds(30), total: nil)
      $0.transport = SilentTransport(contexts: contexts)
    }
    let handle = client.start(.get("https://a.test/"))
    await contexts.wait(for: 1)
    let exchange = try #require(contexts.elements.first).exchange
    exchange.enter(.waiting)

    for _ in 0..<4 {
      await clock.waitForSleepers(1)
      clock.advance(by: .seconds(20))
      exchange.didMove()
    }
    await clock.waitForSleepers(1)
    #expect(handle.isAlive)
    clock.advance(by: .seconds(30))

    let error = try await #require(throws: HTTPError.self) { try await handle.value }
    #expect(error.kind == .timedOut && error.phase == .waiting && error.message.contains("first byte"))
    #expect(error.elapsed == .seconds(110))
  }

  @Test func `does not expire while the transfer waits for the reader, and restarts afterwards`() async throws {
    let handle = HTTPClient(transport, .clock(clock), Self.settings).start(.get("https://a.test/"))
    await transport.contexts.wait(for: 1)
    let exchange = try #require(transport.contexts.elements.first).exchange

    exchange.setPaused(true)
    await clock.waitForSleepers(1)
    clock.advance(by: .seconds(100))
    await clock.waitForSleepers(1)
    clock.advance(by: .seconds(10))
    exchange.setPaused(false)
    // The limit is checked again 30 seconds after the previous check.
    clock.advance(by: .seconds(20))
    await clock.waitForSleepers(1)
    #expect(handle.isAlive)
    clock.advance(by: .seconds(10))

    let error = try await #require(throws: HTTPError.self) { try await handle.value }
    #expect(error.kind == .timedOut && error.phase == .receiving)
    #expect(error.elapsed == .seconds(140))
  }
}
