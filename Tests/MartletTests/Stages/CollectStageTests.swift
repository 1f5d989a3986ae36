import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct CollectStageTests {
  /// A response whose body has this many chunks; `asked` counts the reads.
  private static func response(
    _ status: HTTPStatus, headers: HTTPHeaders = [:], pieces: Int, of size: Int = 10, asked: Log<Int> = Log()
  ) -> StubResponse {
    .streamed(status, headers: headers) {
      asked.add(1)
      return asked.elements.count <= pieces ? Data(repeating: 65, count: size) : nil
    }
  }

  @Test(arguments: [(100, true), (101, true), (99, false), (10, false), (0, false)])
  func `collects a body only if it does not exceed the limit`(limit: Int, isRead: Bool) async throws {
    for response in [Self.response(200, pieces: 10), .status(200, body: Data(count: 100))] {
      let client = HTTPClient.onTestClock(.stub { _ in response }, .retry(.off))

      let result = try? await client.get("http://example.test/", options: .maximumBodyBytes(limit))

      #expect(result?.body.count == (isRead ? 100 : nil))
      #expect(client.core.entryCount == 0)
    }
  }

  @Test func `reports a body above the limit as bodyTooLarge`() async throws {
    for limit in [0, 99] {
      let error = try await #require(throws: HTTPError.self) {
        try await HTTPClient.onTestClock(.stub { _ in Self.response(200, pieces: 10) }, .retry(.off)).get(
          "http://example.test/", options: .maximumBodyBytes(limit))
      }
      #expect(error.kind == .bodyTooLarge)
      #expect(error.phase == .receiving)
    }
  }

  @Test func `accepts an empty body with a limit of zero`() async throws {
    let response = try await HTTPClient.onTestClock(.stub { _ in .status(204) }, .retry(.off)).get(
      "http://example.test/", options: .maximumBodyBytes(0))

    #expect(response.body.isEmpty)
  }

  @Test(arguments: [(0, 0, 0), (1, 1, 1), (25, 25, 3), (100, 100, 11), (1000, 100, 11)])
  func `keeps no more than maximumErrorBodyBytes of an error's body`(limit: Int, kept: Int, reads: Int) async throws {
    let asked = Log<Int>()
    let client = HTTPClient.onTestClock(.stub { _ in Self.response(500, pieces: 10, asked: asked) }, .retry(.off))

    let error = try await #require(throws: HTTPError.self) {
      try await client.get("http://example.test/", options: .maximumErrorBodyBytes(limit))
    }

    #expect(error.response?.body.count == kept)
    #expect(error.response?.isBodyTruncated == (kept < 100))
    #expect(error.description.contains("body truncated after \(kept) bytes") == (kept < 100))
    #expect(asked.elements.count == reads)
    #expect(client.core.entryCount == 0)
  }

  @Test(arguments: [(1, true), (4, false), (0, true)])
  func `marks an error body as truncated only if bytes are missing`(limit: Int, isCut: Bool) async throws {
    let client = HTTPClient.onTestClock(.stub { _ in .text("four", status: 404) }, .retry(.off))
    let empty = HTTPClient.onTestClock(.stub { _ in .status(404) }, .retry(.off))

    let error = await #expect(throws: HTTPError.self) {
      try await client.get("http://example.test/", options: .maximumErrorBodyBytes(limit))
    }
    let bare = await #expect(throws: HTTPError.self) {
      try await empty.get("http://example.test/", options: .maximumErrorBodyBytes(limit))
    }

    #expect(error?.response?.isBodyTruncated == isCut)
    #expect(bare?.response?.isBodyTruncated == false)
  }

  /// Nothing is read from such a body, not even its end, so the stage cannot tell whether the body is complete.
  @Test func `with a limit of zero, an error body of unknown length counts as truncated`() async throws {
    for headers: HTTPHeaders in [["Transfer-Encoding": "chunked"], ["Content-Encoding": "gzip"]] {
      let asked = Log<Int>()
      for (limit, isCut) in [(0, true), (1, false)] {
        let client = HTTPClient.onTestClock(
          .stub { _ in Self.response(404, headers: headers, pieces: 0, asked: asked) }, .retry(.off))

        let error = await #expect(throws: HTTPError.self) {
          try await client.get("http://example.test/", options: .maximumErrorBodyBytes(limit))
        }

        #expect(error?.response?.isBodyTruncated == isCut && error?.response?.body.isEmpty == true)
        #expect(asked.elements.count == limit)
      }
    }
  }

  @Test func `reads only the beginning of a redirect's body`() async throws {
    let asked = Log<Int>()
    let client = HTTPClient.onTestClock {
      $0.transport = .stub { request in
        request.url?.path() == "/a"
          ? Self.response(302, headers: ["Location": "/b"], pieces: 1000, of: 1 << 10, asked: asked) : .text("x")
      }
    }

    let response = try await client.get("http://example.test/a")

    #expect(response.text == "x")
    #expect(asked.elements.count <= 66)
    #expect(client.core.entryCount == 0)
  }

  @Test func `does not read the body of a streamed response`() async throws {
    let asked = Log<Int>()
    let client = HTTPClient.onTestClock(.stub { _ in Self.response(200, pieces: 10, asked: asked) }, .retry(.off))

    let early = try await client.stream(.get("http://example.test/"), options: .maximumBodyBytes(5)) { _ in
      asked.elements.count
    }

    #expect(early == 0)
    #expect(asked.elements.isEmpty)
    #expect(client.core.entryCount == 0)
  }

  @Test func `collects a streamed body for an accepts closure`() async throws {
    let client = HTTPClient.onTestClock(.stub { _ in Self.response(200, pieces: 10) }, .retry(.off))
    let options = RequestOptions.accepts(.when { $0.body.count == 100 })

    let count = try await client.stream(.get("http://example.test/"), options: options) { response in
      try await response.body.collect(upTo: 1000).count
    }

    #expect(count == 100)
  }
}
