import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct HTTPBodyStreamTests {
  private static func pieces(_ texts: [String]) -> AsyncStream<Data> {
    AsyncStream { source in
      for text in texts { source.yield(Data(text.utf8)) }
      source.finish()
    }
  }

  private static let retries = ClientSetting.retry(.backoff(attempts: 3, initialDelay: .zero))

  @Test func `has its declared length and equals only itself`() {
    let body = HTTPBody.stream(Self.pieces(["a"]), length: 1)
    let other = HTTPBody.stream(Self.pieces(["a"]), length: 1)

    #expect(body.length == 1)
    #expect(HTTPBody.stream(Self.pieces([])).length == nil)
    #expect(body.contentType == "application/octet-stream")
    #expect(HTTPBody.stream(Self.pieces([]), contentType: nil).contentType == nil)
    #expect(body == body)
    #expect(body != other)
    #expect(Set([body, body, other]).count == 2)
  }

  @Test func `only a stream made by a closure is replayable`() {
    let once = HTTPBody.stream(Self.pieces(["a"]))
    let again = HTTPBody.stream(length: 1) { Self.pieces(["a"]) }

    #expect(!once.isReplayable)
    #expect(again.isReplayable)
    #expect(again.length == 1)
    #expect(!HTTPRequest.post("/", body: once).isReplayable)
  }

  @Test(arguments: [nil, 6] as [Int64?])
  func `sends all chunks and reports progress`(length: Int64?) async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock(transport, Self.retries)

    let body = HTTPBody.stream(Self.pieces(["ab", "", "cdef"]), length: length, contentType: "text/plain")
    let handle = client.start(.post("http://example.test/", body: body))
    _ = try await handle.value

    var last = TransferProgress()
    for await progress in handle.progress { last = progress }
    #expect(transport.requests.first?.body == .text("abcdef", contentType: "text/plain"))
    #expect(last.sent == 6)
    #expect(last.expectedToSend == length)
  }

  @Test(arguments: [0, 1, 5, 7, 1000] as [Int64])
  func `fails if the stream does not match its declared length`(length: Int64) async throws {
    let transport = StubTransport { _ in .text("x") }

    let error = await #expect(throws: HTTPError.self) {
      let body = HTTPBody.stream(Self.pieces(["ab", "cdef"]), length: length)
      return try await HTTPClient.onTestClock(transport, Self.retries).post("http://example.test/", body: body)
    }

    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains(length > 6 ? "ended after 6 of the" : "more than the") == true)
    #expect(transport.requests.isEmpty)
  }

  @Test func `rejects a negative length`() async throws {
    let transport = StubTransport { _ in .text("x") }

    let error = await #expect(throws: HTTPError.self) {
      try await HTTPClient.onTestClock(transport, Self.retries).post(
        "http://example.test/", body: .stream(Self.pieces([]), length: -1))
    }

    #expect(error?.kind == .invalidRequest)
    #expect(transport.requests.isEmpty)
  }

  @Test func `cannot be sent twice`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let body = HTTPBody.stream(Self.pieces(["a"]))

    _ = try await HTTPClient.onTestClock(transport, Self.retries).post("http://example.test/", body: body)
    let error = await #expect(throws: HTTPError.self) {
      try await HTTPClient.onTestClock(transport, Self.retries).post("http://example.test/", body: body)
    }

    #expect(error?.kind == .bodyNotReplayable)
    #expect(transport.requests.count == 1)
  }

  @Test func `retries and redirects repeat only a replayable stream`() async throws {
    let again = HTTPBody.stream { Self.pieces(["a"]) }
    let script: [StubResponse] = [.status(503), .redirect(to: "/b", status: 307), .text("done")]
    let transport = StubTransport(script: script)
    let refusing = StubTransport(script: script)
    let redirecting = StubTransport(script: Array(script.dropFirst()))

    let response = try await HTTPClient.onTestClock(transport, Self.retries).put("http://example.test/", body: again)
    let status = await #expect(throws: HTTPError.self) {
      try await HTTPClient.onTestClock(refusing, Self.retries).put(
        "http://example.test/", body: .stream(Self.pieces(["a"])))
    }
    let redirect = await #expect(throws: HTTPError.self) {
      try await HTTPClient.onTestClock(redirecting, Self.retries).put(
        "http://example.test/", body: .stream(Self.pieces(["a"])))
    }

    #expect(response.text == "done")
    #expect(transport.requests.map { $0.body?.length } == [1, 1, 1])
    #expect(status?.kind == .status)
    #expect(refusing.requests.count == 1)
    #expect(redirect?.kind == .bodyNotReplayable)
    #expect(redirecting.requests.count == 1)
  }

  @Test func `rethrows errors from the stream unchanged`() async throws {
    struct Broken: Error {}
    let transport = StubTransport { _ in .text("x") }
    let pieces = AsyncThrowingStream<Data, any Error> { $0.finish(throwing: Broken()) }

    await #expect(throws: Broken.self) {
      try await HTTPClient.onTestClock(transport, Self.retries).put("http://example.test/", body: .stream(pieces))
    }
    await #expect(throws: Broken.self) {
      let body = HTTPBody.stream { () throws -> AsyncStream<Data> in throw Broken() }
      return try await HTTPClient.onTestClock(transport, Self.retries).put("http://example.test/", body: body)
    }
  }

  @Test func `a stub stops reading an endless stream`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let endless = AsyncStream<Data> { Data(count: 1 << 20) }

    let error = await #expect(throws: HTTPError.self) {
      try await HTTPClient.onTestClock(transport, Self.retries).put("http://example.test/", body: .stream(endless))
    }

    #expect(error?.kind == .unsupported)
  }
}
