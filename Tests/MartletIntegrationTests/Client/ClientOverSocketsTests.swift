import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The client's guarantees, with a real server.
@Suite(.ownThreads, .hangLimit) struct ClientOverSocketsTests {
  @Test func `a status error keeps 64 KiB of the body and closes the connection`() async throws {
    let part = String(repeating: "A", count: 100_000)
    let server = try MockServer(answering: { _ in
      .steps([.text("HTTP/1.1 500 No\r\nContent-Length: 1000000\r\n\r\n"), .text(part), .hang])
    })
    defer { server.stop() }
    let client = HTTPClient()

    let kept = try await #require(throws: HTTPError.self) { try await client.get("\(raw: server.url)/") }
    let none = try await #require(throws: HTTPError.self) {
      try await client.get("\(raw: server.url)/", options: .maximumErrorBodyBytes(0))
    }

    #expect(kept.response?.body.count == 64 << 10)
    #expect(none.response?.body.isEmpty == true)
    let areClosed = await server.waitForOpenConnections(atMost: 0)
    #expect(areClosed)
  }

  @Test func `a status error without a body is thrown as soon as the head arrives`() async throws {
    let server = try MockServer(answering: { _ in
      .steps([.text("HTTP/1.1 500 No\r\nContent-Length: 10\r\n\r\n"), .hang])
    })
    defer { server.stop() }
    let client = HTTPClient { $0.maximumErrorBodyBytes = 0 }

    let error = try await #require(throws: HTTPError.self) {
      try await client.get("\(raw: server.url)/", options: .timeout(.unlimited))
    }

    #expect(error.kind == .status)
  }

  @Test func `a managed request is sent completely after its handle and client are released`() async throws {
    let server = try MockServer(answering: { _ in .ok("x") })
    defer { server.stop() }
    let body = Data(repeating: 66, count: 1 << 20)
    var client: HTTPClient? = HTTPClient()

    client?.start(.post("\(raw: server.url)/read", body: .data(body)))
    client = nil

    let hasArrived = await server.wait { $0.requests.first?.body.count == 1 << 20 }
    #expect(hasArrived)
    #expect(server.requests.first?.body == body)
  }

  @Test func `releasing a scope cancels its request and closes the connection`() async throws {
    let server = try MockServer(answering: { _ in .hang })
    defer { server.stop() }
    var scope: RequestScope? = RequestScope(client: HTTPClient())
    let handle = scope?.start(.get("\(raw: server.url)/"))
    let hasArrived = await server.waitForRequests(1)
    #expect(hasArrived)

    scope = nil

    await #expect(throws: CancellationError.self) { try await handle?.value }
    let areClosed = await server.waitForOpenConnections(atMost: 0)
    #expect(areClosed)
  }

  @Test(arguments: ["get", "head", "delete", "post", "put", "patch"])
  func `each method with callbacks reaches the server, and onStart precedes onSuccess`(verb: String) async throws {
    let server = try MockServer(answering: { _ in .ok("x") })
    defer { server.stop() }
    let target: RequestTarget = "\(raw: server.url)/"

    let calls = await withCheckedContinuation { (done: CheckedContinuation<[String], Never>) in
      let recorder = EventRecorder<String>()
      let onStart = { recorder.record("start") }
      let onSuccess = { (_: HTTPResponse) in
        recorder.record("success")
        done.resume(returning: recorder.elements)
      }
      let onError = { (_: HTTPError) in
        recorder.record("error")
        done.resume(returning: recorder.elements)
      }
      let client = HTTPClient()
      switch verb {
      case "get": client.get(target, onStart: onStart, onSuccess: onSuccess, onError: onError)
      case "head": client.head(target, onStart: onStart, onSuccess: onSuccess, onError: onError)
      case "delete": client.delete(target, onStart: onStart, onSuccess: onSuccess, onError: onError)
      case "post": client.post(target, onStart: onStart, onSuccess: onSuccess, onError: onError)
      case "put": client.put(target, onStart: onStart, onSuccess: onSuccess, onError: onError)
      default: client.patch(target, onStart: onStart, onSuccess: onSuccess, onError: onError)
      }
    }

    #expect(calls == ["start", "success"])
    #expect(server.requests.map(\.method) == [verb.uppercased()])
  }

  @Test func `the shared client sends each method`() async {
    // The shared client belongs to the process, so the test runs in a separate one.
    await #expect(processExitsWith: .success) {
      let server = try MockServer(answering: { request in .json(#"{"method":"\#(request.method)"}"#) })
      defer { server.stop() }
      struct Seen: Decodable, Sendable { var method: String }
      let target: RequestTarget = "\(raw: server.url)/"

      let seen = try await [
        HTTPClient.shared.get(target).json(Seen.self).method, HTTPClient.shared.get(target, as: Seen.self).method,
        HTTPClient.shared.post(target, body: .text("x"), as: Seen.self).method,
        HTTPClient.shared.put(target, as: Seen.self).method,
        HTTPClient.shared.patch(target, as: Seen.self).method, HTTPClient.shared.delete(target, as: Seen.self).method,
      ]
      let head = try await HTTPClient.shared.head(target)

      #expect(seen == ["GET", "GET", "POST", "PUT", "PATCH", "DELETE"])
      #expect(head.status == .ok)
    }
  }

  @Test func `encodes the query and a form body independently of each other`() async throws {
    let server = try MockServer(answering: { _ in .ok("x") })
    defer { server.stop() }
    let client = HTTPClient()

    _ = try await client.post(
      "\(raw: server.url)/?z=0", query: ["a": "1 2"], body: .form(["b": "3 4", "c": ["5", "6"]]))
    _ = try await client.delete("\(raw: server.url)/", query: ["a": "1+2"])

    #expect(server.requests.map(\.target) == ["/?z=0&a=1%202", "/?a=1%2B2"])
    #expect(server.requests.first.map { String(decoding: $0.body, as: UTF8.self) } == "b=3+4&c=5&c=6")
    #expect(server.requests.first?.header("content-type") == "application/x-www-form-urlencoded")
  }

  #if canImport(Darwin) || URLSession
    @Test func `sends a URLRequest and returns data and an HTTPURLResponse`() async throws {
      let server = try MockServer(answering: { _ in .status(404, headers: ["X-A": "1"], body: "gone") })
      defer { server.stop() }
      let url = try #require(URL(string: server.url("/path?q=1")))
      var request = URLRequest(url: url)
      request.httpMethod = "PUT"
      request.setValue("v", forHTTPHeaderField: "X-Test")
      request.httpBody = Data("body".utf8)

      let (data, response) = try await HTTPClient().data(for: request)

      #expect(String(decoding: data, as: UTF8.self) == "gone")
      #expect(response.statusCode == 404)
      #expect(response.value(forHTTPHeaderField: "X-A") == "1")
      #expect(response.url == url)
      let seen = try #require(server.requests.first)
      #expect(seen.method == "PUT")
      #expect(seen.target == "/path?q=1")
      #expect(seen.header("X-Test") == "v")
      #expect(seen.body == Data("body".utf8))
    }
  #endif

  #if canImport(Darwin) || URLSession
    @Test func `converts a URLRequest to an HTTPRequest`() throws {
      let url = try #require(URL(string: "https://example.test/a?b=c"))
      var request = URLRequest(url: url)
      request.httpMethod = "PATCH"
      request.setValue("1", forHTTPHeaderField: "X-One")
      request.httpBody = Data("x".utf8)

      let converted = try HTTPRequest(request)

      #expect(converted.method == .patch)
      #expect(converted.url == url)
      #expect(converted.headers["x-one"] == "1")
      #expect(converted.body == .data(Data("x".utf8), contentType: nil))
    }
  #endif

  @Test func `pass-through middleware leaves the request unchanged`() async throws {
    let server = try MockServer(answering: { _ in .ok("answer") })
    defer { server.stop() }
    let plain = HTTPClient()
    let watched = HTTPClient {
      $0.middleware = [.passingOn, .passingOn]
      $0.exchangeMiddleware = [.passingOn]
    }

    var texts: [String] = []
    for client in [plain, watched] {
      texts.append(
        try await client.post("\(raw: server.url)/a?b=c", headers: ["X-A": "1"], body: .text("body")).text)
    }

    #expect(texts == ["answer", "answer"])
    let heads = server.requests.map { $0.headers.map { "\($0.name): \($0.value)" }.sorted() }
    #expect(heads.first == heads.last)
    #expect(server.requests.map(\.body) == [Data("body".utf8), Data("body".utf8)])
  }

  @Test func `retry sends an identical request`() async throws {
    let server = try MockServer(script: [.status(500), .ok("x")])
    defer { server.stop() }
    let client = HTTPClient { $0.requestIDHeader = "X-Request-ID" }
    let first = client.start(.post("\(raw: server.url)/a", headers: ["X-A": "1"], body: .json(["k": "v"])))
    await #expect(throws: HTTPError.self) { try await first.value }

    let second = first.retry()
    _ = try await second.value

    let seen = server.requests
    #expect(seen.map(\.target) == ["/a", "/a"])
    #expect(seen.first?.body == seen.last?.body)
    #expect(seen.map { $0.header("X-A") } == ["1", "1"])
    #expect(seen.map { $0.header("X-Request-ID") } == ["\(first.id)", "\(second.id)"])
  }

  @Test func `a redirect to another server drops Authorization and Cookie`() async throws {
    let other = try MockServer(answering: { _ in .ok("other") })
    defer { other.stop() }
    let home = try MockServer { [url = other.url] (request: RecordedRequest) in
      request.path == "/start" ? .redirect(to: "next", status: 302) : .redirect(to: "\(url)/end", status: 307)
    }
    defer { home.stop() }

    let response = try await HTTPClient().get(
      "\(raw: home.url)/start", headers: ["Authorization": "Bearer secret", "Cookie": "a=b", "X-Kept": "1"])

    #expect(response.text == "other")
    #expect(response.redirects.count == 2)
    #expect(response.url.absoluteString == other.url("/end"))
    #expect(response.request.url?.absoluteString == home.url("/start"))
    #expect(home.requests.map { $0.header("Authorization") } == ["Bearer secret", "Bearer secret"])
    let seen = try #require(other.requests.first)
    #expect(seen.header("Authorization") == nil)
    #expect(seen.header("Cookie") == nil)
    #expect(seen.header("X-Kept") == "1")
  }

  @Test func `a body file that does not exist fails before connecting`() async throws {
    let server = try MockServer(answering: { _ in .ok("x") })
    defer { server.stop() }
    let missing = FileManager.default.temporaryDirectory.appending(path: "no such file \(UUID())")

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient().post("\(raw: server.url)/", body: .file(missing))
    }

    #expect(error.kind == .fileFailed)
    #expect(error.message.contains("no such file"))
    #expect(server.connectionCount == 0)
  }

  @Test func `sends a file unchanged`() async throws {
    let server = try MockServer(answering: { _ in .ok("x") })
    defer { server.stop() }
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let content = Data(count: 300_000) { UInt8(truncatingIfNeeded: $0 &* 31) }
    let file = try folder.write(content, to: "file")

    _ = try await HTTPClient().put("\(raw: server.url)/", body: .file(file, contentType: "image/png"))

    let seen = try #require(server.requests.first)
    #expect(seen.body == content)
    #expect(seen.header("Content-Length") == "300000")
    #expect(seen.header("Content-Type") == "image/png")
  }

  @Test func `backoff retries after failures and records each attempt`() async throws {
    let server = try MockServer(script: [.status(503), .status(503, headers: ["Retry-After": "0"]), .ok("third")])
    defer { server.stop() }

    let response = try await HTTPClient().get(
      "\(raw: server.url)/", options: .retry(.backoff(attempts: 3, initialDelay: .milliseconds(10))))

    #expect(response.text == "third")
    #expect(response.attempts.count == 3)
    #expect(response.attempts.map(\.number) == [1, 2, 3])
    #expect(server.requests.count == 3)
  }

  @Test func `a request created on a plain thread can be sent from a task`() async throws {
    let server = try MockServer(answering: { _ in .ok("x") })
    defer { server.stop() }
    let made = EventRecorder<HTTPRequest>()
    Thread { [url = server.url] in made.record(.get("\(raw: url)/made")) }.start()
    let isMade = await made.wait(for: 1)
    #expect(isMade)
    #expect(server.connectionCount == 0)

    let response = try await HTTPClient().send(try #require(made.elements.first))

    #expect(response.text == "x")
    #expect(server.requests.map(\.target) == ["/made"])
  }

  private enum Screen: RequestOptions.Key { typealias Value = String }

  // S10
  @Test func `tags and custom option values are visible to the client and never sent to the server`() async throws {
    let isHeld = Shared(false)
    let server = try MockServer { _ in
      await isHeld.wait { !$0 }
      return .ok("x")
    }
    defer { server.stop() }
    let seen = EventRecorder<String?>()
    let client = HTTPClient {
      $0.middleware = [
        .closure { request, context, next in
          seen.record(context.options[Screen.self])
          return try await next(request)
        }
      ]
    }
    var options = RequestOptions.tag("tag-of-mine")
    options[Screen.self] = "value-of-mine"

    _ = try await client.post("\(raw: server.url)/a", body: .text("b"))
    isHeld.withLock { $0 = true }
    let handle = client.start(.post("\(raw: server.url)/a", body: .text("b")), options: options)
    let tagged = client.activity.requests(tagged: "tag-of-mine").map(\.id)
    isHeld.withLock { $0 = false }
    _ = try await handle.value

    #expect(seen.elements == [nil, "value-of-mine"] && tagged == [handle.id])
    #expect(server.requests.count == 2 && server.requests[0].rawHead == server.requests[1].rawHead)
    #expect(server.requests[0].body == server.requests[1].body)
  }
}
