import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Streams and downloads that continue at another server of a cluster.
@Suite(.hangLimit) struct ClusterTransferTests {
  private static func client(_ transport: StubTransport, isOneService: Bool = true) -> HTTPClient {
    HTTPClient.stubbed(transport, .cache(.off)) {
      $0.random = { 0 }
      $0.cluster = .roundRobin(["http://a.test", "http://b.test"], isOneService: isOneService)
      $0.retry = .backoff(attempts: 3)
    }
  }

  private static func hosts(_ transport: StubTransport) -> [String] {
    transport.requests.map { $0.url?.host() ?? "" }
  }

  @Test func `server-sent events choose a server for each connection`() async throws {
    let transport = StubTransport(script: [
      .text("id: 1\ndata: a\n\n", headers: ["Content-Type": "text/event-stream"]),
      .text("data: b\n\n", headers: ["Content-Type": "text/event-stream"]),
      .status(204),
    ])
    let client = Self.client(transport)

    var texts: [String] = []
    for try await event in client.serverSentEvents("/events") { texts.append(event.data) }

    #expect(texts == ["a", "b"])
    #expect(Self.hosts(transport) == ["a.test", "b.test", "a.test"])
    #expect(transport.requests[1].headers["Last-Event-ID"] == "1")
  }

  @Test(arguments: [false, true])
  func `a download continues at another server, or restarts if the entity tags differ`(_ areEqual: Bool) async throws {
    let folder = try TemporaryFolder()
    let transport = StubTransport { request in
      if request.url?.host() == "a.test" {
        let chunks = Shared([Data("abc".utf8)])
        return .streamed(headers: ["ETag": "\"a\"", "Content-Length": "6"]) {
          if let chunk = chunks.withLock({ $0.popLast() }) { return chunk }
          throw HTTPError(.connectionLost, "lost", phase: .receiving)
        }
      }
      return areEqual && request.headers["If-Range"] == "\"a\""
        ? .text("def", status: .partialContent, headers: ["ETag": "\"a\"", "Content-Range": "bytes 3-5/6"])
        : .text("ABCDEF", headers: ["ETag": "\"b\"", "Content-Length": "6"])
    }

    let file = try await Self.client(transport).download("/file", to: folder.url.appending(path: "file"))

    #expect(try Data(contentsOf: file.url) == Data((areEqual ? "abcdef" : "ABCDEF").utf8))
    #expect(Self.hosts(transport) == ["a.test", "b.test"])
    #expect(transport.requests.last?.headers["Range"] == "bytes=3-")
  }

  @Test(arguments: [(false, "ABCDEF"), (true, "abcdef")])
  func `another server that is not one service must repeat the size`(
    _ isOneService: Bool, _ content: String
  ) async throws {
    let folder = try TemporaryFolder()
    let transport = StubTransport { request in
      if request.url?.host() == "a.test" {
        let chunks = Shared([Data("abc".utf8)])
        return .streamed(headers: ["ETag": "\"a\"", "Content-Length": "6"]) {
          if let chunk = chunks.withLock({ $0.popLast() }) { return chunk }
          throw HTTPError(.connectionLost, "lost", phase: .receiving)
        }
      }
      return request.headers.contains("Range")
        ? .text("def", status: .partialContent, headers: ["ETag": "\"a\"", "Content-Range": "bytes 3-5/*"])
        : .text("ABCDEF", headers: ["ETag": "\"a\"", "Content-Length": "6"])
    }

    let file = try await Self.client(transport, isOneService: isOneService).download(
      "/file", to: folder.url.appending(path: "file"))

    #expect(try Data(contentsOf: file.url) == Data(content.utf8))
    #expect(Set(Self.hosts(transport)) == ["a.test", "b.test"])
  }
}
