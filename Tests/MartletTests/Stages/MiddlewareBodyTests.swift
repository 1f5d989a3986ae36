import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// A request's limits also apply to bodies that middleware creates.
@Suite(.hangLimit) struct MiddlewareBodyTests {
  /// A body that middleware creates.
  enum Body: CaseIterable {
    case inMemory, endless

    var body: ResponseBody {
      switch self {
      case .inMemory: ResponseBody(Data(count: 5_000_000))
      case .endless: ResponseBody { Data(count: 100) }
      }
    }
  }

  private static func client(
    _ status: HTTPStatus = .ok, clock: TestClock = TestClock(), _ body: @escaping @Sendable () -> ResponseBody
  ) -> HTTPClient {
    HTTPClient.stubbed(StubTransport { _ in .text("x", status: status) }, clock: clock) {
      $0.middleware = [
        .closure { request, _, next in
          var response = try await next(request)
          response.body = body()
          return response
        }
      ]
      $0.options.maximumBodyBytes = 1_000
      $0.options.maximumErrorBodyBytes = 50
      $0.retry = .off
    }
  }

  @Test(arguments: Body.allCases) func `maximumBodyBytes limits an accepted body`(_ body: Body) async throws {
    let client = Self.client { body.body }

    let sent = await #expect(throws: HTTPError.self) { try await client.get("/") }
    let started = await #expect(throws: HTTPError.self) { try await client.start(.get("/")).value }

    #expect(sent?.kind == .bodyTooLarge && started?.kind == .bodyTooLarge)
  }

  @Test(arguments: Body.allCases, [false, true])
  func `maximumErrorBodyBytes truncates the body of an error`(_ body: Body, isStreamed: Bool) async throws {
    let client = Self.client(.notFound) { body.body }

    let error = await #expect(throws: HTTPError.self) {
      if isStreamed { try await client.stream(.get("/")) { _ in } } else { try await client.get("/") }
    }

    #expect(error?.kind == .status)
    #expect(error?.response?.body.count == 50 && error?.response?.isBodyTruncated == true)
  }

  @Test(arguments: Body.allCases, [HTTPStatus.notFound, .found])
  func `maximumErrorBodyBytes truncates the body of a refused download`(_ body: Body, status: HTTPStatus) async throws {
    let client = Self.client(status) { body.body }
    let folder = try TemporaryFolder()

    let error = await #expect(throws: HTTPError.self) {
      try await client.download("/", to: folder.url.appending(path: "file"))
    }

    #expect(error?.kind == .status && error?.status == status)
    #expect(error?.response?.body.count == 50 && error?.response?.isBodyTruncated == true)
  }

  @Test func `the total limit ends the wait for the body of a refused download`() async throws {
    let (clock, gate) = (TestClock(advancing: .manually), Gate())
    let client = Self.client(.notFound, clock: clock) {
      ResponseBody {
        await gate.pass()
        return nil
      }
    }
    let folder = try TemporaryFolder()
    let downloading = Task {
      let options = DownloadOptions { $0.request = .timeout(.seconds(5)) }
      return try await client.download("/", to: folder.url.appending(path: "file"), options: options)
    }
    await gate.waitForArrivals(1)

    clock.advance(by: .seconds(5))

    let error = await #expect(throws: HTTPError.self) { try await downloading.value }
    #expect(error?.kind == .timedOut)
    gate.open()
  }

  @Test func `a body within the limits arrives unchanged`() async throws {
    let client = Self.client { ResponseBody(Data(count: 1_000)) }

    #expect(try await client.get("/").body.count == 1_000)
  }

  @Test(arguments: [true, false]) func `middleware may compress a compressed body again, or replace it`(
    isCompressed: Bool
  ) async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.stubbed(transport) {
      let second = ClosureMiddleware.changing { $0.body = isCompressed ? $0.body?.gzipped() : .text("plain") }
      $0.middleware = [.changing { $0.body = $0.body?.gzipped() }, second]
    }

    try await client.post("/", body: .text(String(repeating: "a", count: 5_000)))

    let sent = try #require(transport.requests.first)
    #expect(sent.headers["Content-Encoding"] == (isCompressed ? "gzip" : nil))
    let body = try await sent.body?.bytes(upTo: 10_000)
    #expect(isCompressed ? body?.prefix(2) == Data([0x1F, 0x8B]) : body == Data("plain".utf8))
  }

  /// The ways to read an accepted response as a stream.
  enum Reading: CaseIterable {
    case inAClosure, chunks, lines

    func text(of client: HTTPClient, _ options: RequestOptions) async throws -> String {
      switch self {
      case .inAClosure: return try await client.stream(.get("/"), options: options) { try await $0.text }
      case .chunks:
        var bytes = Data()
        for try await chunk in try await client.stream(.get("/"), options: options).body { bytes += chunk }
        return String(decoding: bytes, as: UTF8.self)
      case .lines:
        var lines: [String] = []
        let response = try await client.stream(.get("/"), options: options)
        for try await line in response.lines(upTo: 100) { lines.append(line) }
        return lines.joined()
      }
    }
  }

  @Test(arguments: Reading.allCases)
  func `a streamed body arrives after a closure has judged the response`(_ reading: Reading) async throws {
    let judged = Log<String>()
    let client = Self.client {
      let pieces = Log<Int>()
      return ResponseBody {
        pieces.add(1)
        return pieces.count < 3 ? Data("ab".utf8) : nil
      }
    }

    let text = try await reading.text(
      of: client,
      .accepts(
        .when {
          judged.add($0.text)
          return true
        }))

    #expect(text == "abab")
    #expect(judged.elements == ["abab"])
  }

  @Test func `maximumBodyBytes limits a streamed body that a closure judges`() async throws {
    let client = Self.client { Body.endless.body }

    let error = await #expect(throws: HTTPError.self) {
      try await client.stream(.get("/"), options: .accepts(.when { _ in true })) { try await $0.text }
    }

    #expect(error?.kind == .bodyTooLarge)
  }

  @Test func `the total limit ends a streamed body that never arrives`() async throws {
    let (clock, gate) = (TestClock(advancing: .manually), Gate())
    let client = Self.client(clock: clock) {
      ResponseBody {
        await gate.pass()
        return nil
      }
    }
    let reading = Task {
      try await client.stream(.get("/"), options: .timeout(.seconds(5))) { try await $0.text }
    }
    await gate.waitForArrivals(1)

    clock.advance(by: .seconds(5))

    let error = await #expect(throws: HTTPError.self) { try await reading.value }
    #expect(error?.kind == .timedOut)
    gate.open()
  }
}
