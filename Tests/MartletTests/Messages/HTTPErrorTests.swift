import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct HTTPErrorTests {
  private static let secrets = ["hunter2", "abc123", "top-secret", "body text"]

  private static let settings: ClientSetting = [
    .timeout(.unlimited),
    .retry(.custom { attempt, outcome in attempt < 2 && outcome.status == 503 ? .milliseconds(100) : nil }),
  ]

  // MARK: Description

  // C2
  @Test func `the description is one line with kind, request, cause, attempts and time`() async throws {
    let clock = TestClock()
    let transport = StubTransport { _ in
      clock.advance(by: .milliseconds(15))
      return .text("body text", status: 503, headers: ["Set-Cookie": "top-secret"])
    }

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient(transport, .clock(clock), Self.settings).get(
        "https://ada:hunter2@example.test/a/b?token=abc123&page=2#top-secret",
        headers: ["X-Key": "top-secret"])
    }

    #expect(
      error.description
        == "status: GET https://example.test/a/b?token=***&page=2: 503 Service Unavailable (after 2 attempts, 130.0 ms)"
    )
    #expect(error.localizedDescription == error.description)
    #expect(error.method == .get)
    #expect(error.redactedURL == "https://example.test/a/b?token=***&page=2")
    #expect(
      error.url?.absoluteString == "https://example.test/a/b?token=abc123&page=2#top-secret"
        || error.url?.absoluteString == "https://example.test/a/b?token=abc123&page=2")
    #expect(error.attempts.count == 2)
    #expect(error.elapsed == .milliseconds(130))
  }

  @Test func `the description names the phase if known`() async throws {
    let clock = TestClock()
    let transport = StubTransport { _ in
      .streamed { throw HTTPError(.connectionLost, "the server closed the connection", phase: .receiving) }
    }

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient(transport, .clock(clock), Self.settings).post(
        "http://example.test/", body: .text("body text"))
    }

    #expect(
      error.description
        == "connectionLost: POST http://example.test/: the server closed the connection (while receiving, 0.0 ms)")
  }

  @Test(arguments: [
    (Duration.zero, "0.0 ms"), (.microseconds(1250), "1.3 ms"), (.milliseconds(999), "999.0 ms"),
    (.seconds(1), "1.0 s"),
    (.milliseconds(12_345), "12.35 s"), (.seconds(3600), "3600.0 s"),
  ])
  func `formats durations in milliseconds or seconds`(duration: Duration, expected: String) {
    #expect(duration.shown == expected)
  }

  @Test func `the description omits unknown parts`() {
    #expect(HTTPError(.tls, "expired").description == "tls: expired")
    #expect(HTTPError(.timedOut, "late", phase: .connecting).description == "timedOut: late (while connecting)")
  }

  @Test func `the description is bounded, whatever the URL and the message are`() throws {
    let long = String(repeating: "\u{202E}", count: 70_000)
    let target = RequestTarget("https://example.test/\(raw: String(repeating: "a", count: 70_000))")
    var error = HTTPError(.connectionLost, long)
    error.describe(.get(target))

    #expect(error.description.utf8.count < 30_000 && error.description.contains("a…: "))
    #expect(try #require(error.redactedURL).count > 60_000)
  }

  /// Many ways in which a secret enters a request or returns in a response.
  @Test(arguments: [
    "https://ada:hunter2@example.test/?token=abc123", "https://hunter2@example.test/", "/a?token=abc123",
    "https://ada:hunter2@exa mple.test/?token=abc123", "https://ada:hunter2@example.test:99999/",
    "https://ada:hun/hunter2@example.test/", "ftp://ada:hunter2@example.test/", "https:///ada:hunter2@x",
    "//ada:hunter2@example.test/",
  ])
  func `the description contains no secrets of the URL, the header fields or the body`(target: String) async throws {
    let transport = StubTransport { _ in .text("body text", status: 500, headers: ["X-Back": "top-secret"]) }
    let request = HTTPRequest(
      .post, RequestTarget(target), query: ["api_key": "abc123"], headers: ["Authorization": "top-secret"],
      body: .text("body text"))

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient(transport, .clock(TestClock()), Self.settings).send(request)
    }

    for secret in Self.secrets {
      #expect(!error.description.contains(secret))
      #expect(error.redactedURL?.contains(secret) == false)
    }
    #expect(error.url?.user() == nil && error.url?.password() == nil)
    #expect(!error.description.contains("\n"))
  }

  /// Responds with the reason phrase of a hostile server.
  struct Hostile: Transport {
    let reason: String

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      var response = StreamedResponse(status: 418, request: request)
      response.reasonPhrase = reason
      return response
    }
  }

  @Test(arguments: ["\u{1B}[31mred\u{7}", "a\r\nERROR forged", "\u{202E}txet", "\u{9B}31m", "\0"])
  func `escapes control characters received from a server`(text: String) async throws {
    let refused = StubResponse.failure(HTTPError(.protocolViolation, "not HTTP: \(text)"))
    let redirect = StubResponse.redirect(to: "http://example.test/\(text)")
    let transports: [any Transport] = [
      Hostile(reason: text), StubTransport { _ in refused }, StubTransport { _ in redirect },
    ]
    let targets: [RequestTarget] = ["http://example.test/", RequestTarget("http://example.test/\(text)?\(text)")]

    var errors: [HTTPError] = []
    for transport in transports {
      for target in targets {
        let client = HTTPClient(transport, .clock(TestClock()), Self.settings)
        errors.append(try await #require(throws: HTTPError.self) { try await client.get(target) })
      }
    }

    let harmful: Set<Unicode.GeneralCategory> = [.control, .format, .lineSeparator, .paragraphSeparator]
    for error in errors {
      let line = error.description.unicodeScalars
      #expect(line.allSatisfy { !harmful.contains($0.properties.generalCategory) }, "\(error.description)")
    }
  }

  // MARK: Properties

  // C4
  @Test func `decodes the body of the response`() async throws {
    struct Problem: Decodable, Equatable { var title: String }
    let transport = StubTransport { _ in .json(#"{"title":"no"}"#, status: 422) }

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient(transport, .clock(TestClock()), Self.settings).get("http://example.test/")
    }

    #expect(error.decoded(as: Problem.self) == Problem(title: "no"))
    #expect(error.decoded(as: [Int].self) == nil)
    #expect(HTTPError(.timedOut, "late").decoded(as: Problem.self) == nil)
    #expect(error.status == 422)
  }

  @Test(arguments: kinds) func `classifies kinds as transient, connectivity or timeout`(kind: HTTPError.Kind) {
    let error = HTTPError(kind, "x")

    #expect(
      error.isTransient == [.cannotConnect, .connectionLost, .timedOut, .overloaded, .circuitOpen].contains(kind))
    #expect(error.isConnectivity == [.cannotConnect, .connectionLost].contains(kind))
    #expect(error.isTimeout == (kind == .timedOut))
  }

  @Test(arguments: [(EMFILE, true), (ENFILE, true), (ENOMEM, true), (ENOENT, false), (EACCES, false), (ENOSPC, false)])
  func `classifies transient file errors by errno`(code: Int32, isTransient: Bool) {
    let error = HTTPError.file("it cannot be opened", code: code)

    #expect(error.isTransient == isTransient && error.kind == .fileFailed)
    #expect(error.message == "it cannot be opened: \(String(cString: strerror(code)))")
  }

  @Test func `classifies transient statuses`() {
    let transient = (100..<600).filter { status in
      var error = HTTPError(.status, "x")
      error.response = HTTPResponse(status: HTTPStatus(rawValue: status))
      return error.isTransient
    }

    #expect(transient == [408, 425, 429, 500, 502, 503, 504])
  }

  private static let kinds: [HTTPError.Kind] = [
    .invalidRequest, .cannotConnect, .tls, .timedOut, .connectionLost, .protocolViolation, .status, .tooManyRedirects,
    .redirectRefused, .authenticationFailed, .decoding, .notCached, .bodyTooLarge, .bodyNotReplayable, .fileFailed,
    .queueFailed,
    .unsupported, .clientClosed, .middlewareFailed, .cancelled, .refusedByGuard, .overloaded, .circuitOpen,
    .dataBudgetExceeded, .checksumMismatch, .downloadInProgress,
  ]

  @Test func `each kind has a unique name`() {
    #expect(Set(Self.kinds.map(\.description)).count == Self.kinds.count)
    #expect(Set(Self.kinds).count == Self.kinds.count)
    #expect("\(HTTPError.Kind.bodyTooLarge)" == "bodyTooLarge")
  }

  @Test func `the article lists each kind of the source once`() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/Martlet")
    let source = try String(contentsOf: sources.appending(path: "Messages/HTTPErrorKind.swift"), encoding: .utf8)
    let article = try String(contentsOf: sources.appending(path: "Martlet.docc/ErrorsAndStatuses.md"), encoding: .utf8)
    let rows = article.split(separator: "\n").drop { !$0.hasPrefix("| ``HTTPError/Kind`` |") }.prefix {
      $0.hasPrefix("|")
    }
    let listed = rows.flatMap {
      $0.split(separator: "|").first?.matches(of: #/`([a-zA-Z]+)`/#).map { String($0.1) } ?? []
    }

    #expect(
      Self.kinds.map(\.description).sorted() == source.matches(of: #/= Kind\("(.*)"\)/#).map { String($0.1) }.sorted())
    #expect(Self.kinds.map(\.description).sorted() == listed.sorted())
  }

  // MARK: Cancellation

  @Test func `cancellation is never an HTTPError`() async {
    let client = HTTPClient(StubTransport { _ in try await untilCancelled() }, .clock(TestClock()), Self.settings)
    let awaited = Task { try await client.get("http://example.test/") }
    let streamed = Task { try await client.stream(.get("http://example.test/")) { $0.status } }
    let managed = client.start(.get("http://example.test/"))
    await client.wait(until: { client.activity.current.running.count == 3 })

    awaited.cancel()
    streamed.cancel()
    managed.cancel()

    await #expect(throws: CancellationError.self) { try await awaited.value }
    await #expect(throws: CancellationError.self) { try await streamed.value }
    await #expect(throws: CancellationError.self) { try await managed.value }
  }
}
