import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite(.hangLimit) struct ComposedBodyTests {
  private static func sent(_ body: HTTPBody) async throws -> Data {
    let transport = StubTransport { _ in .text("x") }
    _ = try await HTTPClient.onTestClock { $0.transport = transport }.post("http://example.test/", body: body)
    guard case .data(let data)? = transport.requests.first?.body?.content else { throw HTTPError(.decoding, "no data") }
    return data
  }

  private static func withFile<R>(_ data: Data, _ work: (URL) async throws -> R) async throws -> R {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    return try await work(try folder.write(data, to: "pieces % é.bin"))
  }

  @Test func `concatenates in order`() async throws {
    let large = Data(count: 1_000_000) { UInt8(truncatingIfNeeded: $0 &* 31) }
    try await Self.withFile(large) { file in
      let stream = HTTPBody.stream(length: 3) {
        AsyncStream {
          $0.yield(Data("str".utf8)); $0.finish()
        }
      }
      let inner = HTTPBody.concatenating([.text("in"), .text("ner")])

      let body = HTTPBody.concatenating([.text("<"), .file(file), .data(large), stream, inner, .file(file), .text(">")])
      let data = try await Self.sent(body)

      #expect(data == Data("<".utf8) + large + large + Data("strinner".utf8) + large + Data(">".utf8))
      #expect(body.length == Int64(data.count))
      #expect(body.isReplayable)
    }
  }

  @Test func `empty and small concatenations become data`() {
    #expect(HTTPBody.concatenating([]) == .data(Data()))
    #expect(HTTPBody.concatenating([.text("a"), .text(""), .text("b")]) == .data(Data("ab".utf8)))
    #expect(HTTPBody.concatenating([.text("a")], contentType: "x/y") == .data(Data("a".utf8), contentType: "x/y"))
    #expect(HTTPBody.concatenating([.text("a")], contentType: nil).contentType == nil)
  }

  @Test func `is replayable and has a length only if its parts do`() async throws {
    let once = HTTPBody.stream(AsyncStream<Data> { $0.finish() })
    let unknown = HTTPBody.stream { AsyncStream<Data> { $0.finish() } }

    #expect(!HTTPBody.concatenating([.text("a"), once]).isReplayable)
    #expect(HTTPBody.concatenating([.text("a"), unknown]).isReplayable)
    #expect(HTTPBody.concatenating([.text("a"), unknown]).length == nil)
  }

  @Test func `an invalid part throws before anything is sent`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock { $0.transport = transport }
    let missing = URL(filePath: "/nonexistent/martlet")
    for (body, kind) in [
      (.concatenating([.text("a"), .file(missing)]), .fileFailed),
      (.concatenating([.text("a"), .json([Double.nan])]), .invalidRequest),
      (.concatenating([.text("a"), .text("b").gzipped()]), .invalidRequest),
    ] as [(HTTPBody, HTTPError.Kind)] {
      let error = await #expect(throws: HTTPError.self) { try await client.post("http://example.test/", body: body) }
      #expect(error?.kind == kind)
    }
    #expect(transport.requests.isEmpty)
  }

  @Test(arguments: [-1, 1]) func `detects a file that changes its length before it is sent`(change: Int) async throws {
    try await Self.withFile(Data(count: 600_000)) { file in
      let body = HTTPBody.concatenating([.text("<"), .file(file), .text(">")])
      let plan = try BodyPlan(body.content)
      try Data(count: 600_000 + change).write(to: file)
      let count = Locked(0)

      let error = await #expect(throws: HTTPError.self) {
        try await plan.send { piece in count.withLock { $0 += piece.count } }
      }

      #expect(error?.kind == .fileFailed)
      #expect(error?.message.contains(change < 0 ? "shrank" : "grew") == true)
      #expect(error?.message.contains(file.lastPathComponent) == true)
      // The announced length is never sent in full.
      #expect(count.withLock { $0 } < 600_001)
      let request = HTTPRequest.post("http://example.test/", body: body)
      #expect(throws: HTTPError.self) { try body.content.source(600_002, for: request) }
    }
  }

  @Test func `detects an empty file that grows`() async throws {
    try await Self.withFile(Data()) { file in
      let plan = try BodyPlan(.pieces([.file(file), .data(Data("x".utf8))]))
      try Data("x".utf8).write(to: file)

      await #expect(throws: HTTPError.self) { try await plan.send { _ in } }
    }
  }
}
