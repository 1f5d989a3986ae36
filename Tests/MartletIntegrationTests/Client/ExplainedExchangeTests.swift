#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Decisions that only a real exchange shows.
  @Suite(.hangLimit) struct ExplainedExchangeTests {
    private static func sentences(
      _ client: HTTPClient, _ request: HTTPRequest, _ options: RequestOptions = RequestOptions()
    ) async -> [String] {
      let explanation: Explanation
      do {
        explanation = try await client.send(request, options: options.explains()).explanation
      } catch {
        explanation = (error as? HTTPError)?.explanation ?? Explanation()
      }
      return explanation.entries.map(\.sentence)
    }

    private static func place(_ server: MockServer) -> String { "127.0.0.1:\(server.port)" }

    @Test(arguments: Lane.engines) func `explains the connection of each exchange`(_ lane: Lane) async throws {
      let server = try MockServer(.ok("x"))
      let client = lane.client()

      let first = await Self.sentences(client, .get(RequestTarget(server.url)))
      let second = await Self.sentences(client, .get(RequestTarget(server.url)))

      #expect(first == ["a connection to \(Self.place(server)) was opened (HTTP/1.1)", "the status 200 is accepted"])
      #expect(
        second == ["the open connection to \(Self.place(server)) was used (HTTP/1.1)", "the status 200 is accepted"])
    }

    @Test(arguments: Lane.engines) func `explains the content coding of a body`(_ lane: Lane) async throws {
      let coded = CodedBodies.gzip
      let server = try MockServer { request in
        .data(
          coded, status: request.path == "/part" ? 206 : 200,
          headers: ["Content-Encoding": "gzip", "Content-Range": "bytes 0-\(coded.count - 1)/100"])
      }
      let client = lane.client()
      _ = try await client.get(RequestTarget(server.url))

      let decoded = await Self.sentences(client, .get(RequestTarget(server.url)))
      let kept = await Self.sentences(client, .get(RequestTarget(server.url)), .decompression(.off))
      let part = await Self.sentences(client, .get(RequestTarget(server.url("/part"))))

      #expect(decoded[1] == "the body is decoded, and Content-Encoding and Content-Length are removed")
      #expect(kept[1] == "the body stays encoded (gzip): decompression is off")
      #expect(part[1] == "the body stays encoded (gzip): a range of an encoded body cannot be decoded")
    }

    @Test(arguments: Lane.engines) func `explains Expect: 100-continue for a large body`(_ lane: Lane) async throws {
      let options = MockServer.Options(keepsBodies: false, sendsContinue: false)
      let server = try MockServer(.ok(), options: options)
      let client = lane.client()
      let large = HTTPRequest.post(RequestTarget(server.url), body: .data(Data(count: 2 << 20)))
      let small = HTTPRequest.post(RequestTarget(server.url), body: .data(Data(count: 2)))

      let first = await Self.sentences(client, large)
      let second = await Self.sentences(client, large)
      let hasty = await Self.sentences(client, large, .timeout(idle: .seconds(1)))
      let asked = await Self.sentences(client, small, .expectsContinue(true))
      let never = await Self.sentences(client, large, .expectsContinue(false))
      let usual = await Self.sentences(client, small)

      #expect(first[0] == "the body waits for 100 Continue, because it is larger than 1048576 bytes")
      #expect(
        second[0]
          == "the body does not wait for 100 Continue: the server has ignored or refused Expect: 100-continue before"
      )
      #expect(
        hasty[0] == "the body does not wait for 100 Continue: the idle limit of 1.0 s could expire in the meantime")
      #expect(asked[0] == "the body waits for 100 Continue, as the option expectsContinue requires")
      #expect(never[0] == "the body does not wait for 100 Continue: the option expectsContinue disables it")
      #expect(usual.count == 2)
    }

    @Test(arguments: Lane.engines) func `explains a rejected Expect: 100-continue`(_ lane: Lane) async throws {
      let server = try MockServer(
        .ok(),
        options: .init(
          keepsBodies: false, sendsContinue: false,
          earlyAnswer: { $0.header("Expect") != nil ? .status(417) : nil }))
      let large = HTTPRequest.post(RequestTarget(server.url), body: .data(Data(count: 2 << 20)))

      let sentences = await Self.sentences(lane.client(), large)

      #expect(
        sentences.contains("the server refused the expectation (417), so the request is sent again without it"),
        "\(sentences)")
    }

    @Test(arguments: Lane.engines) func `explains which limit ended a request`(_ lane: Lane) async throws {
      let server = try MockServer { request in
        request.path == "/silent" ? .steps([.hang]) : .ok("12345")
      }
      defer { server.stop() }
      let client = lane.client { $0.accepts = .success }
      let silent = HTTPRequest.get(RequestTarget(server.url("/silent")))

      let total = await Self.sentences(client, silent, .timeout(.milliseconds(50)))
      let idle = await Self.sentences(client, silent, .timeout(idle: .milliseconds(50)))
      let body = await Self.sentences(client, .get(RequestTarget(server.url)), .maximumBodyBytes(4))
      let error = await Self.sentences(
        client, .get(RequestTarget(server.url)), .maximumErrorBodyBytes(2).accepts(.statuses(300..<400)))

      #expect(total.contains("the total limit of 50.0 ms was exceeded"), "\(total)")
      #expect(idle.contains("the idle limit of 50.0 ms was exceeded"), "\(idle)")
      #expect(body.contains("the body exceeds 4 bytes"), "\(body)")
      #expect(error.contains("only the first 2 bytes of the body were kept"), "\(error)")
    }

    @Test(arguments: Lane.engines) func `explains why an address was refused`(_ lane: Lane) async throws {
      let client = lane.client { $0.guards = [.publicAddressesOnly] }

      let sentences = await Self.sentences(client, .get("http://127.0.0.1:9/"))

      #expect(sentences.first == "the guards admit 127.0.0.1")
      #expect(sentences[1].hasPrefix("publicAddressesOnly refuses 127.0.0.1: "), "\(sentences)")
    }

    @Test(arguments: Lane.engines) func `explains why a proxy's challenge was not answered`(_ lane: Lane) async throws {
      let proxy = try MockServer(.status(407, headers: ["Proxy-Authenticate": "Basic realm=\"p\""]))
      let client = lane.client { $0.proxy = .proxy(Proxy(proxy.url)) }

      let without = await Self.sentences(client, .get("http://a.test/"))
      let wrong = await Self.sentences(
        client.derived { $0.authenticators[.proxy(proxy.url)] = .password(user: "u", password: "p") },
        .get("http://a.test/"))

      #expect(
        without.contains("the challenge of the proxy was not answered: no credential is configured"),
        "\(without)")
      #expect(wrong.contains("the challenge of the proxy was answered (Basic, realm \"p\")"), "\(wrong)")
      #expect(
        wrong.contains(
          "the challenge of the proxy was not answered: the only credential was rejected (Basic)"),
        "\(wrong)")
    }

    @Test(arguments: Lane.engines) func `instruments receive the phases and the byte counts of an exchange`(
      _ lane: Lane
    )
      async throws
    {
      final class Recorder: Instrument {
        let events = Log<InstrumentEvent.Kind>()
        func observe(_ event: InstrumentEvent) { events.add(event.kind) }
      }
      let server = try MockServer(answering: MockResponse.echo)
      let recorder = Recorder()
      let client = lane.client { $0.instruments = [recorder] }

      let response = try await client.post(RequestTarget(server.url), body: .data(Data(count: 5000)))
      await client.drain()

      let phases = recorder.events.elements.compactMap { if case .phase(let phase, 1) = $0 { phase } else { nil } }
      #expect(phases == [.connecting, .sending, .waiting, .receiving], "\(phases)")
      let ends = recorder.events.elements.compactMap { if case .exchangeEnded(let end, 1) = $0 { end } else { nil } }
      #expect(ends.map(\.sentBytes) == [5000] && ends.map(\.receivedBytes) == [Int64(response.body.count)])
      let version = recorder.events.elements.compactMap {
        if case .head(let head, 1) = $0 { head.httpVersion } else { nil }
      }
      #expect(version == [.http1_1])
    }

    @Test(arguments: Lane.engines) func `a downloaded file includes the explanation of its call`(_ lane: Lane)
      async throws
    {
      let server = try MockServer { request in
        request.path == "/old" ? .redirect(to: "/new") : .ok("x")
      }
      let folder = try TemporaryFolder()
      let client = lane.client { $0.redirects = .follow }

      let file = try await client.download(
        .get(RequestTarget(server.url("/old"))), to: URL(filePath: folder.path("file")),
        options: .init { $0.request = .explains() })

      #expect(
        file.response.explanation.entries.map(\.sentence).contains(
          "the redirect (302) to \(server.url("/new")) was followed"), "\(file.response.explanation)")
    }

    @Test func `explains that a request waited for an equal one`() async throws {
      let server = try MockServer { _ in
        try? await Task.sleep(for: .milliseconds(200))
        return .ok("x", headers: ["Cache-Control": "max-age=60"])
      }
      let client = HTTPClient { $0.cache = .memory() }
      async let first = client.get(RequestTarget(server.url))
      #expect(await server.waitForRequests(1))

      let second = await Self.sentences(client, .get(RequestTarget(server.url)))

      #expect(try await first.text == "x")
      #expect(second.contains("the request waited for an equal request, to share its response"), "\(second)")
      #expect(server.requests.count == 1)
    }

    @Test func `martlet --explain prints the decisions`() async throws {
      let server = try MockServer { request in
        request.path == "/old" ? .status(301, headers: ["Location": "/new"]) : .ok("x")
      }

      let result = try await ToolProcess.martlet(server.url("/old"), "--explain")

      let url = server.url("/new")
      #expect(result.text == "x")
      #expect(
        result.errors.contains(": the redirect (301) to \(url) was followed (RFC 9110 §15.4.2)"), "\(result.errors)")
    }
  }
#endif
