import Foundation
import MartletBase
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletHAR

/// The entries that a recorder writes.
@Suite(.hangLimit) struct HARRecorderTests {
  /// Sends requests and returns the recorded entries.
  private static func record(
    _ transport: StubTransport, maximumBodyBytes: Int = 64 << 10, redaction: Redaction = .standard,
    _ change: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in },
    _ requests: @Sendable (HTTPClient) async throws -> Void
  ) async throws -> [HAREntry] {
    let folder = try TemporaryFolder()
    let recorder = try HARRecorder(
      to: URL(filePath: folder.path("x.har")), maximumBodyBytes: maximumBodyBytes, redaction: redaction,
      delay: .seconds(300))
    let client = HTTPClient.stubbed(transport) {
      $0.cache = .off
      $0.instruments = [recorder]
      change(&$0)
    }
    try? await requests(client)
    await client.drain()
    let entries = try HARFile(at: folder.path("x.har")).entries
    #expect(entries.count == recorder.entryCount && recorder.problem == nil && recorder.droppedEventCount == 0)
    return entries
  }

  @Test func `records an entry for each exchange`() async throws {
    let entries = try await Self.record(
      StubTransport(script: [
        .redirect(to: "/b?page=2"), .status(.serviceUnavailable), .json(#"{"name":"Ada"}"#, headers: ["X-Y": "z"]),
      ]),
      {
        $0.retry = .backoff()
        $0.random = { 0 }
      }
    ) { _ = try await $0.send(.post("/a", body: .json(["name": "Bob"])), options: .tag("users").isIdempotent()) }

    #expect(entries.map(\.request.method) == ["POST", "GET", "GET"])
    let next = "http://example.test/b?page=2"
    #expect(entries.map(\.request.url) == ["http://example.test/a", next, next])
    #expect(entries.map(\.response.status) == [302, 503, 200])
    #expect(entries.map(\.hop) == [0, 1, 1] && entries.map(\.attempt) == [1, 1, 2])
    #expect(Set(entries.map(\.call)).count == 1 && entries.allSatisfy { $0.tag == "users" && $0.failure == nil })
    #expect(entries[0].request.body?.content == .text(#"{"name":"Bob"}"#))
    #expect(entries[0].request.headers["Content-Type"] == "application/json")
    #expect(entries[1].request.body == nil && entries[2].response.headers["X-Y"] == "z")
    #expect(entries[2].response.body?.content == .text(#"{"name":"Ada"}"#))
    #expect(entries[2].response.body?.size == 14)
    #expect(entries[0].explanation.contains { $0.contains("the redirect (302) to http://example.test/b?page=2") })
    #expect(entries[1].explanation.contains { $0.contains("is repeated at once") })
    #expect(entries[2].explanation == ["0.0 ms: redirect 1, attempt 2: the status 200 is accepted"])
    #expect(entries[2].codes == ["status.accepted"] && entries[0].codes.contains("redirect.followed"))
  }

  @Test func `records an entry for a request without an exchange`() async throws {
    let transport = StubTransport { _ in .text("x", headers: ["Cache-Control": "max-age=60"]) }
    let entries = try await Self.record(transport, { $0.cache = .memory() }) { client in
      _ = try await client.get("/a")
      _ = try await client.get("/a")
      _ = try? await client.get("/b", options: .cache(.onlyCached))
    }

    #expect(entries.map(\.response.status) == [200, 200, 0])
    #expect(entries.map(\.isFromCache) == [false, true, false])
    #expect(entries[1].explanation.first?.contains("the stored response was used: it is fresh for 60 s") == true)
    #expect(entries[2].failure?.hasPrefix("notCached: ") == true)
  }

  @Test func `records a failure as an entry without a status`() async throws {
    let entries = try await Self.record(
      StubTransport { request in
        request.url?.path() == "/cut"
          ? .streamed { throw HTTPError(.connectionLost, "cut", phase: .receiving) }
          : .failure(HTTPError(.cannotConnect, "refused", phase: .connecting))
      }
    ) { client in
      _ = try? await client.get("/x", options: .retry(.off))
      _ = try? await client.get("/cut", options: .retry(.off))
    }

    #expect(entries.map(\.response.status) == [0, 200])
    #expect(entries.map(\.failure) == ["cannotConnect: refused", "connectionLost: cut"])
    #expect(entries[1].response.body?.isWhole == false)
  }

  @Test func `masks secrets before they are written`() async throws {
    let entries = try await Self.record(
      StubTransport { _ in
        .json(#"{"access_token":"canary","n":1}"#, headers: ["Set-Cookie": "sid=canary; Path=/; Secure; HttpOnly"])
      }
    ) { client in
      _ = try await client.send(
        HTTPRequest(
          .post, "https://canary:canary@example.test/x?api_key=canary&page=2",
          headers: ["X-Api-Key": "canary", "Cookie": "a=canary; canary"], body: .form(["password": "canary", "n": "1"]))
      )
    }

    let entry = try #require(entries.first)
    #expect(entry.request.url == "https://example.test/x?api_key=***&page=2")
    #expect(entry.request.headers["X-Api-Key"] == "***" && entry.request.headers["Cookie"] == "a=***; ***")
    #expect(entry.request.headers["Authorization"] == "***")
    #expect(entry.request.body?.content == .text("password=***&n=1"))
    #expect(entry.response.headers["Set-Cookie"] == "sid=***; Path=/; Secure; HttpOnly")
    #expect(entry.response.body?.content == .text(#"{"access_token":"***","n":1}"#))
  }

  @Test(
    arguments: [
      (["Set-Cookie": "theme=dark; Path=/, session=canary; HttpOnly"], "theme=***; Path=/; HttpOnly"),
      (["Set-Cookie": "a=b; sid=canary"], "a=***; ***"), (["Set-Cookie": "; Path=/; sid=canary"], "***; Path=/; ***"),
      (["Set-Cookie": "canary"], "***"),
      (
        ["Set-Cookie": "a=canary; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Max-Age=1; SameSite=Lax; Secure"],
        "a=***; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Max-Age=1; SameSite=Lax; Secure"
      ),
      (["Set-Cookie": "sid=; Max-Age=0"], "sid=; Max-Age=0"),
      (
        ["Set-Cookie": "a=1; Expires=Thu, 01 Jan 2030 00:00:00 GMT, sid=canary; Path=/"],
        "a=***; Expires=Thu, 01 Jan 2030 00:00:00 GMT; Path=/"
      ),
      (["Location": "/x?redirect_uri=https%3A%2F%2Fa%2F%3Fcode%3Dcanary&n=1"], "/x?redirect_uri=***&n=1"),
      (["Location": "/next;jsessionid=canary?x=1"], "/next;jsessionid=***?x=1"),
      (["X-Info": #"{"token":"canary","n":1}"#], #"{"token":"***","n":1}"#), (["X-GitHub-OTP": "canary"], "***"),
      (["X-Functions-Key": "canary"], "***"), (["X-Auth": "canary"], "***"),
    ] as [(HTTPHeaders, String)])
  func `masks secrets in unusual fields`(_ headers: HTTPHeaders, _ value: String) async throws {
    let entries = try await Self.record(StubTransport { _ in .text("x", headers: headers) }) {
      _ = try await $0.get("/")
    }

    let entry = try #require(entries.first)
    #expect(headers.first.map { entry.response.headers[$0.name] } == value)
    var text: [UInt8] = []
    HAREntry.append([entry], to: &text)
    #expect(!String(decoding: text, as: UTF8.self).contains("canary"))
  }

  @Test(arguments: [
    ("/a;jsessionid=canary/b", "/a;jsessionid=***/b"),
    ("/a?next=https://h/cb?token=canary", "/a?next=***"),
    ("/a?next=https%3A%2F%2Fy%2F%3Ftoken%3Dcanary&x=a%20b", "/a?next=***&x=a%20b"),
  ])
  func `masks secrets in unusual parts of a URL`(_ target: String, _ shown: String) async throws {
    let entries = try await Self.record(StubTransport { _ in .text("x") }) {
      _ = try await $0.get(RequestTarget(target))
    }

    #expect(entries.first?.request.url == "http://example.test" + shown)
  }

  @Test func `another instrument does not make a recorder record longer bodies`() async throws {
    final class Greedy: Instrument {
      let maximumBodyBytes = 1000
      func observe(_ event: InstrumentEvent) {}
    }
    for limit in [0, 3] {
      let entries = try await Self.record(
        StubTransport { _ in .text("0123456789") }, maximumBodyBytes: limit, { $0.instruments.append(Greedy()) }
      ) { _ = try await $0.post("/x", body: .text("0123456789")) }

      let body = try #require(entries.first?.response.body)
      let expected: HAREntry.Body.Content = limit == 0 ? .none : .text("012")
      #expect(body.content == expected && body.isWhole == (limit == 0))
      #expect(body.mimeType == "text/plain; charset=utf-8")
      #expect(entries.first?.request.body?.content == (limit == 0 ? nil : .text("012")))
    }
  }

  @Test func `uses the client's redaction unless the recorder has its own`() async throws {
    let folder = try TemporaryFolder()
    let own = try HARRecorder(to: URL(filePath: folder.path("own.har")), redaction: .revealingSecrets)
    let other = try HARRecorder(to: URL(filePath: folder.path("client.har")))
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") }) {
      $0.redaction = .standard.masking(headers: ["X-Tenant"], queryItems: ["email"])
      $0.instruments = [own, other]
    }
    try await client.get("/x?email=a", headers: ["X-Tenant": "b"])
    await client.drain()

    let shown = try folder.contents("own.har")
    let masked = try folder.contents("client.har")
    #expect(try HARFile(shown, name: "").entries.first?.request.headers["X-Tenant"] == "b")
    let entry = try #require(try HARFile(masked, name: "").entries.first)
    #expect(entry.request.headers["X-Tenant"] == "***" && entry.request.url == "http://example.test/x?email=***")
  }

  @Test func `the last entry of a call contains its failure`() async throws {
    let entries = try await Self.record(StubTransport { _ in .redirect(to: "/next") }) {
      _ = try await $0.get("/x", options: .redirects(.follow(upTo: 2)))
    }

    #expect(entries.map { $0.failure == nil } == [true, true, false])
    #expect(entries.last?.failure?.hasPrefix("tooManyRedirects: ") == true)
  }

  @Test func `closing a recording adds an entry for an unfinished exchange`() async throws {
    let folder = try TemporaryFolder()
    let recorder = try HARRecorder(to: URL(filePath: folder.path("x.har")))
    let gate = Gate()
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        await gate.pass()
        return .text("x")
      }
    ) { $0.instruments = [recorder] }

    let handle = client.start(.get("/x"))
    await gate.waitForArrivals(1)
    await client.core.settings.instruments?.flush(within: .seconds(60))
    recorder.close()
    gate.open()
    _ = await handle.outcome()

    let entries = try HARFile(at: folder.path("x.har")).entries
    #expect(entries.map(\.failure) == ["unfinished when the recording ended"] && recorder.entryCount == 1)
  }

  @Test(arguments: [
    (Redaction.standard, "image/png", true), (.standard, "application/x-protobuf", false),
    (.strict, "image/png", false),
    (.revealingSecrets, "application/x-protobuf", true),
  ])
  func `records bytes if they cannot contain secrets`(
    _ redaction: Redaction, _ type: String, _ isRecorded: Bool
  ) async throws {
    let bytes = Data([0x89, 0x50, 0, 0xFF])
    let entries = try await Self.record(
      StubTransport { _ in .status(.ok, headers: ["Content-Type": type], body: bytes) },
      redaction: redaction
    ) { _ = try await $0.get("/x") }

    let body = try #require(entries.first?.response.body)
    let expected: HAREntry.Body.Content = isRecorded ? .bytes(bytes) : .none
    #expect(body.content == expected && body.size == 4 && body.mimeType == type)
    #expect((body.comment == nil) == isRecorded)
  }

  @Test func `truncates bodies at the limit`() async throws {
    let text = String(repeating: "é", count: 100)
    let entries = try await Self.record(StubTransport { _ in .text(text) }, maximumBodyBytes: 11) {
      _ = try await $0.post("/x", body: .text(text))
      _ = try await $0.put("/x", body: .stream(AsyncStream<Data> { $0.finish() }))
    }

    for body in [entries[0].request.body, entries[0].response.body] {
      #expect(body?.content == .text("ééééé") && body?.isWhole == false && body?.comment == "truncated")
    }
    #expect(entries[0].response.body?.size == 200)
    #expect(entries[1].request.body == nil)
  }

  @Test func `the timings add up to the total time`() async throws {
    let entries = try await Self.record(StubTransport { _ in .text("x") }) { _ = try await $0.get("/x") }

    let entry = try #require(entries.first)
    #expect(entry.timings.total >= .zero && entry.timings.wait <= entry.timings.total)
    #expect(
      entry.startedAt.timeIntervalSince1970 >= 1_700_000_000 && entry.startedAt.timeIntervalSince1970 < 1_700_000_600)
  }

  @Test func `the file is private to its owner, replaces an older one, and leaves no copy`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path("x.har")
    try Data("old".utf8).write(to: URL(filePath: path))
    let recorder = try HARRecorder(to: URL(filePath: path))
    #expect(try HARFile(at: path).entries.isEmpty && folder.names == ["x.har", "x.har.part"])
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") }) { $0.instruments = [recorder] }
    for _ in 0..<5 { try await client.get("/x") }
    await client.drain()
    recorder.close()

    let file = try HARFile(at: path)
    #expect(file.entries.count == 5 && file.creator == "Martlet \(HTTPClient.Configuration.version)")
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600 && folder.names == ["x.har"])
  }

  @Test(arguments: ["/nowhere/at/all/x.har", "https://a.test/x.har"])
  func `an unwritable file is an error at once`(_ text: String) throws {
    let url = try #require(text.hasPrefix("/") ? URL(filePath: text) : URL(string: text))

    let error = #expect(throws: HTTPError.self) { try HARRecorder(to: url) }

    #expect(error?.kind == .fileFailed)
    #expect(error?.message.contains(text.hasPrefix("/") ? "/nowhere/at/all/x.har" : "needs a file URL") == true)
  }

  @Test func `a second recorder of a file is refused before anything is written`() throws {
    let folder = try TemporaryFolder()
    let file = URL(filePath: folder.path("x.har"))
    try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: ".")
    let first = try HARRecorder(to: file)
    let facts = DiskCalls.facts(folder.path("x.har"))

    for name in ["x.har", "link/x.har", "./x.har", "x.har.part"] {
      let path = folder.path(name)
      let error = #expect(throws: HTTPError.self) { try HARRecorder(to: URL(filePath: path)) }
      #expect(error?.kind == .fileFailed && error?.message.contains("is in use by another recorder") == true, "\(path)")
    }

    #expect(folder.names == ["link", "x.har", "x.har.part"] && DiskCalls.facts(folder.path("x.har")) == facts)
    #expect(first.problem == nil)
  }

  @Test func `a file can be recorded again once its recorder is closed or released`() throws {
    let folder = try TemporaryFolder()
    let file = URL(filePath: folder.path("x.har"))
    let first = try HARRecorder(to: file)
    _ = try HARRecorder(to: URL(filePath: folder.path("y.har")))

    first.close()
    do {
      let second = try HARRecorder(to: file)
      first.close()
      #expect(folder.names == ["x.har", "x.har.part", "y.har"] && second.problem == nil)
    }
    let third = try HARRecorder(to: file)

    #expect(folder.names == ["x.har", "x.har.part", "y.har"] && third.problem == nil)
  }
}
