import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletBase

/// A body has one reader, and ends with the closure that received it.
@Suite(.hangLimit) struct ResponseBodyReaderTests {
  /// The origins of a body with the chunks `abc` and `def`.
  enum Origin: CaseIterable {
    case transport, closure, recorded, middleware

    func body() -> ResponseBody {
      switch self {
      case .transport:
        let stream = BodyStream(from: ClosureSource())
        for text in ["abc", "def"] { stream.append(Data(text.utf8)) }
        stream.finish()
        return ResponseBody(stream)
      case .closure:
        let rest = Locked(["def", "abc"])
        return ResponseBody { rest.withLock { $0.popLast() }.map { Data($0.utf8) } }
      case .recorded: return Origin.transport.body().mapped { pull in { try await pull() } }
      case .middleware:
        let reader = Locked(Origin.transport.body().makeAsyncIterator())
        return ResponseBody {
          var iterator = reader.withLock { $0 }
          defer { reader.withLock { [iterator] in $0 = iterator } }
          return try await iterator.next()
        }
      }
    }
  }

  /// The ways to read a body.
  enum Reading: CaseIterable {
    case collect, text, loop, firstChunk, lines, jsonLines

    func run(_ response: StreamedResponse) async throws {
      switch self {
      case .collect: _ = try await response.collect(upTo: 100)
      case .text: _ = try await response.text
      case .loop: for try await _ in response.body {}
      case .firstChunk: for try await _ in response.body { break }
      case .lines: for try await _ in response.lines {}
      case .jsonLines:
        do {
          for try await _ in response.jsonLines(as: JSONValue.self) {}
        } catch let error as HTTPError where error.kind == .decoding {
          // The body was read, but it is not JSON.
        }
      }
    }
  }

  private static func response(_ body: ResponseBody) -> StreamedResponse {
    StreamedResponse(status: .ok, body: body, request: .get("http://a.test/"))
  }

  @Test(arguments: Origin.allCases, Reading.allCases)
  func `a second reading throws after any kind of first reading`(_ origin: Origin, _ first: Reading) async throws {
    for second in Reading.allCases {
      let response = Self.response(origin.body())
      try await first.run(response)

      let error = await #expect(throws: HTTPError.self) { try await second.run(response) }

      #expect(error?.kind == .unsupported && error?.message.contains("another reader") == true)
    }
  }

  @Test(arguments: Origin.allCases) func `concurrent readers do not share the body`(_ origin: Origin) async throws {
    for _ in 0..<Stress.count(50, full: 5_000) {
      let response = Self.response(origin.body())

      let results = await withTaskGroup(of: Result<String, any Error>.self) { group in
        for _ in 0..<2 {
          group.addTask {
            do { return .success(try await response.text) } catch { return .failure(error) }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }

      let texts = results.compactMap { try? $0.get() }
      #expect(texts == ["abcdef"])
    }
  }

  @Test func `a copy of the iterator cannot read at the same time`() async throws {
    let gate = Gate()
    let rest = Locked(["b", "a"])
    let body = ResponseBody {
      guard let piece = rest.withLock({ $0.popLast() }) else { return nil }
      if piece == "b" { await gate.pass() }
      return Data(piece.utf8)
    }
    var iterator = body.makeAsyncIterator()
    #expect(try await iterator.next() == Data("a".utf8))
    let copy = iterator
    let first = Task {
      var iterator = copy
      return try await iterator.next()
    }
    await gate.waitForArrivals(1)

    let error = await #expect(throws: HTTPError.self) { _ = try await iterator.next() }
    gate.open()

    #expect(error?.kind == .unsupported)
    #expect(try await first.value == Data("b".utf8), "the first reader is not disturbed")
  }

  @Test func `a body in memory can be read any number of times`() async throws {
    let response = Self.response(ResponseBody(Data("abc".utf8)))

    for _ in 0..<2 {
      #expect(try await response.text == "abc")
      for try await piece in response.body { #expect(piece == Data("abc".utf8)) }
    }
  }

  @Test(arguments: [false, true])
  func `a response that escapes stream's closure cannot be read`(hasMiddleware: Bool) async throws {
    let gate = Gate()
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        .streamed {
          await gate.pass()
          return Data("abc".utf8)
        }
      }
    ) { if hasMiddleware { $0.middleware = [.passingOn] } }
    let response = try await client.stream(.get("/")) { $0 }

    let error = await #expect(throws: HTTPError.self) { try await response.text }

    #expect(error?.kind == .unsupported && error?.message.contains("closure") == true)
    #expect(client.cancelAll() == 0)
    gate.open()
  }

  @Test(arguments: [false, true])
  func `a reading that outlives stream's closure ends with it`(hasMiddleware: Bool) async throws {
    let gate = Gate()
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        .streamed {
          await gate.pass()
          return Data("abc".utf8)
        }
      }
    ) { if hasMiddleware { $0.middleware = [.passingOn] } }

    let reading = try await client.stream(.get("/")) { response in
      let reading = Task { try await response.text }
      await gate.waitForArrivals(1)
      return reading
    }

    let error = await #expect(throws: HTTPError.self) { try await reading.value }
    #expect(error?.kind == .unsupported)
    gate.open()
  }
}
