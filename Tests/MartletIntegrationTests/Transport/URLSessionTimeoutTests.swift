import Foundation
import MartletTesting
import Testing

@testable import Martlet

extension URLSessionTests {
  @Suite struct TimeoutTests {
    private func client(_ loader: URLSessionTransport.Loader) -> HTTPClient {
      HTTPClient {
        $0.transport = .urlSession(loader: loader)
        $0.retry = .none
      }
    }

    /// What a request that has to time out throws, and after how long.
    private func timeOut(
      _ url: String, _ options: RequestOptions, body: HTTPBody? = nil, _ loader: URLSessionTransport.Loader
    ) async -> (error: HTTPError?, elapsed: Duration) {
      let start = ContinuousClock.now
      let error = await #expect(throws: HTTPError.self) {
        try await client(loader).send(
          HTTPRequest(body == nil ? .get : .put, RequestTarget(url), body: body), options: options)
      }
      return (error, ContinuousClock.now - start)
    }

    @Test(arguments: [50, 300, 700], URLSessionTests.loaders)
    func `keeps a total limit of less than a second`(_ milliseconds: Int, _ loader: URLSessionTransport.Loader)
      async throws
    {
      let server = try MockServer(.hang)
      let limit = Duration.milliseconds(milliseconds)

      let (error, elapsed) = await timeOut(server.url, .timeout(limit), loader)

      #expect(error?.kind == .timedOut)
      #expect(elapsed >= limit && elapsed < limit + .seconds(5))
    }

    @Test(arguments: URLSessionTests.loaders)
    func `keeps the connect limit at a host that does not answer`(_ loader: URLSessionTransport.Loader) async throws {
      let hole = try BlackHole()

      let (error, elapsed) = await timeOut(hole.url, .timeout(connect: .milliseconds(300)), loader)

      #expect(error?.kind == .timedOut)
      #expect(error?.phase == .connecting)
      #expect(error?.mayHaveReachedServer == false)
      #expect(elapsed >= .milliseconds(300) && elapsed < .seconds(5))
    }

    @Test(arguments: URLSessionTests.loaders)
    func `does not hold the connect limit against a slow server`(_ loader: URLSessionTransport.Loader) async throws {
      let server = try MockServer(.ok("late").delayed(by: .milliseconds(400)))

      let response = try await client(loader).get(
        RequestTarget(server.url), options: .timeout(connect: .milliseconds(100)))

      #expect(response.text == "late")
    }

    @Test(arguments: URLSessionTests.loaders)
    func `waits for a connection when the first byte limit is shorter than the connect limit`(
      _ loader: URLSessionTransport.Loader
    ) async throws {
      let hole = try BlackHole()

      let (error, elapsed) = await timeOut(
        hole.url, .timeout(connect: .milliseconds(400)).timeout(firstByte: .milliseconds(100)), loader)

      #expect(error?.phase == .connecting)
      #expect(elapsed >= .milliseconds(400) && elapsed < .seconds(5))
    }

    @Test(arguments: URLSessionTests.loaders)
    func `keeps the first byte limit`(_ loader: URLSessionTransport.Loader) async throws {
      let server = try MockServer(.hang)

      let (error, elapsed) = await timeOut(server.url, .timeout(firstByte: .milliseconds(200)), loader)

      #expect(error?.kind == .timedOut)
      #expect(error?.phase == .waiting)
      #expect(error?.mayHaveReachedServer == true)
      #expect(elapsed >= .milliseconds(200) && elapsed < .seconds(5))
    }

    @Test(arguments: [false, true], URLSessionTests.loaders)
    func `keeps the idle limit while it waits for the response`(_ hasBody: Bool, _ loader: URLSessionTransport.Loader)
      async throws
    {
      let server = try MockServer(.hang)

      let (error, elapsed) = await timeOut(
        server.url, .timeout(idle: .milliseconds(200)), body: hasBody ? .text("x") : nil, loader)

      #expect(error?.kind == .timedOut)
      #expect(error?.phase == .waiting)
      #expect(elapsed >= .milliseconds(200) && elapsed < .seconds(5))
    }

    @Test(arguments: URLSessionTests.loaders)
    func `keeps the idle limit in the middle of a body`(_ loader: URLSessionTransport.Loader) async throws {
      let server = try MockServer(
        .steps([.text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), .hang]))

      let (error, elapsed) = await timeOut(server.url, .timeout(idle: .milliseconds(200)), loader)

      #expect(error?.kind == .timedOut)
      #expect(error?.phase == .receiving)
      #expect(elapsed >= .milliseconds(200) && elapsed < .seconds(5))
    }

    @Test(arguments: URLSessionTests.loaders)
    func `does not hold the idle limit against a body that moves`(_ loader: URLSessionTransport.Loader) async throws {
      let drip = MockResponse.Step.drip(Data("0123456789".utf8), chunk: 1, every: .milliseconds(50))
      let server = try MockServer(.steps([.text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"), drip]))

      let response = try await client(loader).get(
        RequestTarget(server.url), options: .timeout(idle: .milliseconds(300)))

      #expect(response.text == "0123456789")
    }

    @Test(arguments: URLSessionTests.loaders)
    func `takes informational responses as movement`(_ loader: URLSessionTransport.Loader) async throws {
      let hint = MockResponse.Step.text("HTTP/1.1 103 Early Hints\r\n\r\n")
      let server = try MockServer(
        .steps([
          .delay(.milliseconds(150)), hint, .delay(.milliseconds(150)), hint, .delay(.milliseconds(150)),
          .text("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ]))

      let response = try await client(loader).get(
        RequestTarget(server.url), options: .timeout(idle: .milliseconds(300)))

      #expect(response.status == .ok)
    }
  }
}
