import Foundation
import Martlet
import MartletTesting
import Synchronization
import TestSupport
import Testing

nonisolated final class Metrics: ClientWork {
  private struct State {
    var counts: [String: Int] = [:]
    var isDraining = false
  }

  private let client: HTTPClient
  private let file: URL
  private let state = Mutex(State())

  init(_ client: HTTPClient, file: URL) throws {
    (self.client, self.file) = (client, file)
    try client.attach(self)
  }

  func count(_ name: String) {
    state.withLock { $0.counts[name, default: 0] += 1 }
    client.workDidChange()
  }

  func upload() async {
    let counts = state.withLock { state in
      defer { if !state.isDraining { state.counts = [:] } }
      return state.isDraining ? [:] : state.counts
    }
    guard !counts.isEmpty else { return }
    do {
      try await client.send(.post("/metrics", body: .json(counts)))
    } catch {
      state.withLock { $0.counts.merge(counts, uniquingKeysWith: +) }
    }
  }

  var snapshot: any Sendable { state.withLock { $0.counts } }

  func beginDraining() { state.withLock { $0.isDraining = true } }

  func finishDraining(within limit: Duration?) async {
    try? JSONEncoder().encode(state.withLock { $0.counts }).write(to: file)
    client.detach(self)
  }
}

nonisolated extension HTTPError.Kind {
  static let quietHours = HTTPError.Kind("quietHours")
}

/// Hours of the day in UTC.
nonisolated enum QuietHours: RequestOptions.Key {
  typealias Value = Range<Int>

  static func problem(_ hours: Range<Int>) -> String? {
    hours.clamped(to: 0..<24) == hours ? nil : "the quiet hours are \(hours); they must be within 0..<24"
  }
}

nonisolated struct ChangesByDay: Middleware {
  var now: @Sendable () -> Date = { Date() }

  func intercept(
    _ request: HTTPRequest, context: RequestContext,
    next: MiddlewareNext
  ) async throws -> StreamedResponse {
    let hour = Int(now().timeIntervalSince1970) / 3600 % 24
    if !request.method.isSafe, context.options[QuietHours.self]?.contains(hour) == true {
      throw HTTPError(.quietHours, "the server accepts no changes at \(hour):00 UTC")
    }
    return try await next(request)
  }
}

/// Samples from the article on extensions.
extension SamplesTests {
  @Test func `refuses changes at night`() async throws {
    let transport = StubTransport { _ in .status(200) }
    let client = Self.client(transport)
    let careful = client.derived {
      $0.middleware = [ChangesByDay()]
      $0.options[QuietHours.self] = 1..<5
    }
    let atNight = careful.derived {
      $0.middleware = [ChangesByDay(now: { Date(timeIntervalSince1970: 3.5 * 3600) })]
    }

    try await atNight.get("/news")
    let refused = await #expect(throws: HTTPError.self) { try await atNight.post("/news") }
    var options = RequestOptions()
    options[QuietHours.self] = 22..<30
    let invalid = await #expect(throws: HTTPError.self) { try await careful.get("/news", options: options) }

    #expect(refused?.kind == .quietHours)
    #expect(invalid?.kind == .invalidRequest && invalid?.message.contains("within 0..<24") == true)
    #expect(transport.requests.count == 1)
  }

  @Test func `drains attached work`() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "metrics")
    let transport = StubTransport { request in .status(request.url?.path == "/metrics" ? 204 : 404) }
    let client = Self.client(transport)
    let metrics = try Metrics(client, file: file)

    metrics.count("opened")
    await metrics.upload()
    metrics.count("closed")
    #expect(client.activity.current.work.first as? [String: Int] == ["closed": 1])
    await client.drain()

    #expect(transport.requests.count == 1 && client.isClosed)
    #expect(client.activity.current.work.isEmpty)
    #expect(try JSONDecoder().decode([String: Int].self, from: Data(contentsOf: file)) == ["closed": 1])
    let error = #expect(throws: HTTPError.self) { try Metrics(client, file: file) }
    #expect(error?.kind == .clientClosed)
  }
}
