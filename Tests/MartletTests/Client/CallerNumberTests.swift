import Foundation
import MartletTesting
import MartletWebSocket
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet
@testable import MartletHAR
@testable import MartletOutbox

/// Extreme numbers from callers produce a result or an error, never a trap or an endless loop.
@Suite(.hangLimit) struct CallerNumberTests {
  struct Number: Sendable, CustomTestStringConvertible {
    let text: String
    let int: Int
    let double: Double
    let duration: Duration
    let date: Date

    var testDescription: String { text }
    var int64: Int64 { Int64(int) }

    init(_ text: String, _ int: Int, _ double: Double, _ duration: Duration) {
      (self.text, self.int, self.double, self.duration) = (text, int, double, duration)
      date = Date(timeIntervalSince1970: double)
    }
  }

  static let numbers = [
    Number("0", 0, 0, .zero), Number("1", 1, 1, .seconds(1)), Number("-1", -1, -1, .seconds(-1)),
    Number("maximum", .max, .greatestFiniteMagnitude, Duration(attoseconds: .max)),
    Number("minimum", .min, -.greatestFiniteMagnitude, Duration(attoseconds: .min)),
    Number("nan", 2, .nan, .nanoseconds(1)), Number("infinity", 1 << 62, .infinity, .seconds(Int64.max)),
    Number("-infinity", -1 << 62, -.infinity, .seconds(Int64.min)), Number("1e20", 1 << 40, 1e20, .seconds(1e20)),
  ]

  private typealias Try = @Sendable (Number) async throws -> Void

  private static func client(
    _ status: HTTPStatus = .ok, _ change: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
  ) -> HTTPClient {
    stubbed(
      StubTransport { _ in .status(status, headers: ["Cache-Control": "max-age=5"], body: Data("ok\n".utf8)) }, change)
  }

  /// A client whose clock skips each delay, however long.
  ///
  /// The clock starts at one hour, because sums with 0, the time of a new client, would not overflow.
  private static func stubbed(
    _ transport: StubTransport, _ change: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
  ) -> HTTPClient {
    let clock = TestClock(automaticLimit: .seconds(1 << 40))
    let client = HTTPClient.stubbed(transport, clock: clock, change: change)
    clock.advance(by: .seconds(3600))
    return client
  }

  /// Tries a setting of a WebSocket.
  private static func webSocket(_ change: @escaping @Sendable (inout WebSocketOptions, Number) -> Void) -> Try {
    { number in
      _ = try await client().webSocket("http://a.test/", options: WebSocketOptions { change(&$0, number) })
    }
  }

  /// Tries an option of a WebSocket that reconnects.
  private static func reconnecting(
    _ change: @escaping @Sendable (inout ReconnectingWebSocket.Options, Number) -> Void
  ) -> Try {
    { number in
      _ = try await client().reconnectingWebSocket("http://a.test/", options: .init { change(&$0, number) }).next()
    }
  }

  /// Tries a client setting.
  private static func setting(_ change: @escaping @Sendable (inout HTTPClient.Configuration, Number) -> Void) -> Try {
    { number in
      let client = client { change(&$0, number) }
      for _ in 0..<2 { _ = try? await client.get("https://a.test/") }
    }
  }

  /// Tries a member of a WebSocket's message in a HAR entry.
  private static func message(_ change: @escaping @Sendable (inout HAREntry.WebSocketMessage, Number) -> Void) -> Try {
    entry { entry, number in
      let body = HAREntry.Body(mimeType: "", content: .text("x"), size: 1)
      var message = HAREntry.WebSocketMessage(isSent: true, time: .distantPast, opcode: 1, body: body)
      change(&message, number)
      entry.webSocketMessages = [message]
    }
  }

  /// Tries a member of a HAR entry, which is written and read back.
  private static func entry(_ change: @escaping @Sendable (inout HAREntry, Number) -> Void) -> Try {
    { number in
      var file = HARFile()
      var entry = HAREntry(
        startedAt: Date(timeIntervalSince1970: 0), request: HAREntry.Request(method: "GET", url: "https://a.test/"),
        response: HAREntry.Response(status: 200))
      entry.response.body = HAREntry.Body(mimeType: "", content: .text("x"), size: 1)
      change(&entry, number)
      file.entries = [entry]
      #expect(entry.timings.total == entry.timings.total)
      #expect(throws: Never.self) { try HARFile(file.data(), name: "x.har") }
    }
  }

  /// Tries a request option.
  private static func option(
    _ status: HTTPStatus = .ok, _ change: @escaping @Sendable (inout RequestOptions, Number) -> Void
  ) -> Try {
    { number in
      var options = RequestOptions()
      change(&options, number)
      let client = client(status)
      for _ in 0..<2 { _ = try? await client.get("https://a.test/", options: options) }
    }
  }

  /// Tries a connection setting, as passed to the engine.
  private static func transport(_ change: @escaping @Sendable (inout TransportSettings, Number) -> Void) -> Try {
    { number in
      var settings = TransportSettings()
      change(&settings, number)
      _ = settings.problem
      #if os(Linux)
        _ = CurlTransport().prepared(for: settings)
      #endif
    }
  }

  /// Tries a way to read a body.
  private static func reading(_ read: @escaping @Sendable (StreamedResponse, Number) async throws -> Void) -> Try {
    { number in try await client().stream(.get("https://a.test/")) { try await read($0, number) } }
  }

  private static func rate(_ change: @escaping @Sendable (Number) -> RateLimit) -> Try {
    option(.tooManyRequests) { $0.rate = change($1) }
  }

  /// Tries a delay between the attempts of a failing request.
  private static func retry(_ policy: @escaping @Sendable (Number) -> RetryPolicy) -> Try {
    option(.serviceUnavailable) { options, number in
      options.retry = policy(number)
      options.timeout.total = .seconds(100)
    }
  }

  private static func events(_ change: @escaping @Sendable (inout ServerSentEvents.Options, Number) -> Void) -> Try {
    { number in
      let stream = StubResponse.text("data: a\n\n", headers: ["Content-Type": "text/event-stream"])
      let client = stubbed(StubTransport(script: [stream, .status(503), .status(204)]))
      var options = ServerSentEvents.Options()
      change(&options, number)
      options.request.timeout.total = .seconds(100)
      for try await _ in client.serverSentEvents(.get("https://a.test/"), options: options) {}
    }
  }

  private static func outbox(_ change: @escaping @Sendable (inout Outbox.Options, Number) -> Void) -> Try {
    { number in
      let folder = try OutboxFolder()
      var options = Outbox.Options()
      options.maximumAttempts = 2
      change(&options, number)
      let client = client(.serviceUnavailable)
      let outbox = try await client.outbox(at: folder.url, options: options)
      _ = try? await outbox.submit(.post("https://a.test/", body: .text("x")))
      await outbox.close(within: .zero)
    }
  }

  private static func download(_ change: @escaping @Sendable (inout DownloadOptions, Number) -> Void) -> Try {
    { number in
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      var options = DownloadOptions()
      change(&options, number)
      _ = try await client().download("https://a.test/a", to: folder.url.appending(path: "a"), options: options)
    }
  }

  private static func endpoints(_ number: Int) -> [Forge.GetItem] { (0..<number).map { Forge.GetItem(number: $0) } }

  private static let tries: [String: Try] = [
    "ActivityMonitor.indicator(hideAfter:)": { number in
      let client = client()
      _ = try await client.get("https://a.test/")
      var states = client.activity.indicator(hideAfter: number.duration).makeAsyncIterator()
      _ = await states.next()
    },
    "Authenticator.ask(schemes:timeout:_:)": setting {
      $0.authenticators[.origin("https://a.test")] = .ask(timeout: $1.duration) { _ in nil }
    },
    "Authenticator.oauth2(_:refreshLimit:refresh:)": setting {
      $0.authenticators[.origin("https://a.test")] = .oauth2(refreshLimit: $1.duration) { _ in .token("a") }
    },
    "BandwidthLimit.limit(down:up:)": setting { $0.bandwidth = .limit(down: $1.int, up: $1.int) },
    "BandwidthLimit.down": setting {
      $0.bandwidth = .limit(down: 1_024)
      $0.bandwidth?.down = $1.int
    },
    "BandwidthLimit.up": setting {
      $0.bandwidth = .limit(up: 1_024)
      $0.bandwidth?.up = $1.int
    },
    "CircuitBreaker.afterFailures(_:pause:)": { number in
      for (failures, pause) in [(number.int, .seconds(1)), (1, number.duration)] {
        let client = stubbed(StubTransport { _ in throw HTTPError(.cannotConnect, "refused") }) {
          $0.circuitBreaker = .afterFailures(failures, pause: pause)
          $0.retry = .off
        }
        for _ in 0..<3 { _ = try? await client.get("https://a.test/") }
      }
    },
    "ConcurrencyPolicy.adaptive(_:)": setting { $0.concurrency = .adaptive(min($1.int, 1)...max($1.int, 1)) },
    "ConcurrencyPolicy.fixed(_:)": setting { $0.concurrency = .fixed($1.int) },
    "ConcurrencyPolicy.maximumWait": { number in
      let gate = Gate()
      let client = stubbed(
        StubTransport { _ in
          await gate.pass()
          return .text("ok")
        }
      ) {
        $0.concurrency = .adaptive(1...1)
        $0.concurrency.maximumWait = number.duration
      }
      let first = Task { try? await client.get("https://a.test/") }
      let second = Task { try? await client.get("https://a.test/", options: .timeout(.seconds(100))) }
      await letOthersRun()
      gate.open()
      _ = await (first.value, second.value)
    },
    "ConcurrencyPolicy.maximumWaiting": setting {
      $0.concurrency = .adaptive
      $0.concurrency.maximumWaiting = $1.int
    },
    "Cookie.expires": { number in
      var cookie = Cookie("a", "b", domain: "a.test")
      cookie.expires = number.date
      _ = await CookieJar().set(cookie)
    },
    "Cookie.init(_:_:domain:isHostOnly:path:expires:isSecure:isHTTPOnly:sameSite:)": { number in
      _ = await CookieJar().set(Cookie("a", "b", domain: "a.test", expires: number.date))
    },
    "Credential.token(_:refreshToken:expires:isPreemptive:)": setting {
      $0.authenticators[.origin("https://a.test")] = .oauth2(.token("a", expires: $1.date)) { _ in .token("b") }
    },
    "DataBudget.limit(_:per:)": setting {
      $0.dataBudget = .limit(1_000, per: $1.duration)
      $0.dataBudget = .limit($1.int64, per: $1.duration)
    },
    "DataBudget.perDay(_:)": setting { $0.dataBudget = .perDay($1.int64) },
    "DataBudget.perHour(_:)": setting { $0.dataBudget = .perHour($1.int64) },
    "Deadline.init(_:name:clock:)": { number in
      let deadline = Deadline(number.duration, clock: TestClock())
      _ = (deadline.remaining, deadline.limit, Deadline(number.duration).remaining)
    },
    "Deadline.Header.deadline(in:name:now:clock:)": { number in
      let all = ["https://a.test"]
      let headers = [Deadline.Header.grpcTimeout(to: all), .milliseconds("X-A", to: all), .date("X-A", to: all)]
      for header in headers {
        _ = header.deadline(in: ["grpc-timeout": "1S", "X-A": "1000"], now: number.date, clock: TestClock())
        _ = header.deadline(in: ["X-A": "Sun, 06 Nov 1994 08:49:37 GMT"], now: number.date, clock: TestClock())
      }
    },
    "Deadline.Header.margin": setting {
      var header = Deadline.Header.grpcTimeout(to: ["https://a.test"])
      header.margin = $1.duration
      $0.deadlineHeader = header
    },
    "DownloadOptions.maximumBytes": download { $0.maximumBytes = $1.int64 },
    "DownloadOptions.maximumBytes(_:)": download { $0 = .maximumBytes($1.int64) },
    "DownloadOptions.segments": download { $0.segments = $1.int },
    "DownloadOptions.segments(_:)": download { $0 = .segments($1.int) },
    "HTTPBody.spooled(upTo:in:)": { number in
      _ = try await client().post("https://a.test/", body: .text("abc").spooled(upTo: number.int64))
    },
    "HTTPBody.descriptor(_:length:contentType:)": { number in
      _ = try await client().post("https://a.test/", body: .descriptor(-1, length: number.int64))
    },
    "HTTPBody.stream(_:length:contentType:)": { number in
      let body = HTTPBody.stream(AsyncStream<Data> { $0.finish() }, length: number.int64)
      _ = try await client().post("https://a.test/", body: body)
    },
    "HTTPBody.stream(length:contentType:_:)": { number in
      let body = HTTPBody.stream(length: number.int64) { AsyncStream<Data> { $0.finish() } }
      _ = try await client().post("https://a.test/", body: body)
    },
    "HTTPClient.Configuration.engineThreads": setting { $0.engineThreads = $1.int },
    "HTTPClient.Configuration.idleConnectionLifetime": transport { $0.idleConnectionLifetime = $1.duration },
    "HTTPClient.Configuration.maximumConnections": setting { $0.maximumConnections = $1.int },
    "HTTPClient.Configuration.maximumConnectionsPerHost": setting { $0.maximumConnectionsPerHost = $1.int },
    "HTTPClient.Configuration.maximumErrorBodyBytes": setting {
      $0.maximumErrorBodyBytes = $1.int
      $0.accepts = .statuses(201..<202)
    },
    "HTTPClient.Configuration.now": setting { configuration, number in
      configuration.now = { number.date }
      configuration.dataBudget = .perDay(1_000)
      configuration.guards = [.hsts]
      configuration.retry = .backoff()
    },
    "HTTPClient.Configuration.random": { number in
      let folder = try OutboxFolder()
      let client = client(.serviceUnavailable) {
        $0.random = { number.double }
        $0.retry = .backoff()
      }
      _ = try? await client.get("https://a.test/")
      var options = Outbox.Options()
      options.maximumAttempts = 2
      let outbox = try await client.outbox(at: folder.url, options: options)
      try await outbox.submit(.post("https://a.test/", body: .text("x")))
      await outbox.close(within: .zero)
    },
    "HTTPClient.sendAll(_:limit:)": { _ = try await client().sendAll(endpoints(3), limit: $0.int) },
    "HTTPClient.results(_:limit:)": { for await _ in client().results(endpoints(3), limit: $0.int) {} },
    "HTTPClient.drain(timeout:)": { await client().drain(timeout: $0.duration) },
    "HTTPClient.upgrade(_:to:idleLimit:freshFields:options:)": { number in
      _ = try await client().upgrade("http://a.test/", to: "x", idleLimit: number.duration)
    },
    "HTTPClient.events(of:bufferingNewest:)": { number in
      let events = client().events(of: Forge.GetItem.self, bufferingNewest: number.int)
      _ = events
    },
    "HTTPDate.init(_:)": { _ = HTTPDate($0.date).description },
    "HTTPDate.init(_:now:)": { _ = HTTPDate("Sunday, 06-Nov-94 08:49:37 GMT", now: $0.date)?.description },
    "HTTPStatus.init(_:)": { _ = HTTPStatus($0.int).description },
    "HTTPStatus.init(rawValue:)": { _ = HTTPStatus(rawValue: $0.int).description },
    "HedgingPolicy.after(_:)": setting { $0.options.hedging = .after($1.duration) },
    "HedgingPolicy.afterPercentile(_:)": setting { $0.options.hedging = .afterPercentile($1.double) },
    "LoggingMiddleware.init(_:redaction:maximumBodyBytes:to:)": setting {
      $0.middleware = [LoggingMiddleware(.bodies, maximumBodyBytes: $1.int, to: LogSink { _ in })]
    },
    "Outbox.Options.initialDelay": outbox { $0.initialDelay = $1.duration },
    "Outbox.Options.maximumAge": outbox { $0.maximumAge = $1.duration },
    "Outbox.Options.maximumAttempts": outbox { $0.maximumAttempts = min($1.int, 2) },
    "Outbox.Options.maximumBytes": outbox { $0.maximumBytes = $1.int64 },
    "Outbox.Options.maximumDelay": outbox { $0.maximumDelay = $1.duration },
    "Outbox.close(within:)": { number in
      let folder = try OutboxFolder()
      await (try await client().outbox(at: folder.url)).close(within: number.duration)
    },
    "ProtectionSpace.init(scheme:host:port:realm:isProxy:)": {
      _ = "\(ProtectionSpace(scheme: "https", host: "a.test", port: $0.int))"
    },
    "RateLimit.maximumPause": rate { number in
      var rate = RateLimit.perSecond(1)
      rate.maximumPause = number.duration
      return rate
    },
    "RateLimit.maximumWait": rate { number in
      var rate = RateLimit.perSecond(1)
      rate.maximumWait = number.duration
      return rate
    },
    "RateLimit.maximumWaiting": rate { number in
      var rate = RateLimit.perSecond(1)
      rate.maximumWaiting = number.int
      return rate
    },
    "RateLimit.limit(_:per:burst:scope:)": rate { .limit(1, per: $0.duration) },
    "RateLimit.perMinute(_:burst:scope:)": rate { .perMinute($0.double, burst: $0.int) },
    "RateLimit.perSecond(_:burst:scope:)": rate { .perSecond(1, burst: $0.int) },
    "RedirectPolicy.follow(upTo:allowingDowngrade:)": option { $0.redirects = .follow(upTo: $1.int) },
    "RedirectPolicy.maximumHops": option {
      $0.redirects = .follow
      $0.redirects?.maximumHops = $1.int
    },
    "RequestOptions.StatusAcceptance.statuses(_:)": option { $0.accepts = .statuses(min($1.int, 0)..<max($1.int, 0)) },
    "RequestOptions.cacheFor": option { $0.cacheFor = $1.duration },
    "RequestOptions.cacheFor(_:)": option { $0 = $0.cacheFor($1.duration) },
    "RequestOptions.maximumBodyBytes": option { $0.maximumBodyBytes = $1.int },
    "RequestOptions.maximumBodyBytes(_:)": option { $0 = $0.maximumBodyBytes($1.int) },
    "RequestOptions.maximumErrorBodyBytes": option(.notFound) { $0.maximumErrorBodyBytes = $1.int },
    "RequestOptions.maximumErrorBodyBytes(_:)": option(.notFound) { $0 = $0.maximumErrorBodyBytes($1.int) },
    "RequestOptions.priority": option { $0.priority = $1.int },
    "RequestOptions.priority(_:)": option { $0 = $0.priority($1.int) },
    "RequestOptions.timeout(_:)": option { $0 = $0.timeout($1.duration) },
    "RequestOptions.timeout(connect:)": option { $0 = $0.timeout(connect: $1.duration) },
    "RequestOptions.timeout(firstByte:)": option { $0 = $0.timeout(firstByte: $1.duration) },
    "RequestOptions.timeout(idle:)": option { $0 = $0.timeout(idle: $1.duration) },
    "WebSocketOptions.closeTimeout": webSocket { $0.closeTimeout = $1.duration },
    "WebSocketOptions.pingTimeout": webSocket { $0.pingTimeout = $1.duration },
    "WebSocketOptions.maximumFrameBytes": webSocket { $0.maximumFrameBytes = $1.int },
    "WebSocketOptions.maximumMessageBytes": webSocket { $0.maximumMessageBytes = $1.int },
    "WebSocketOptions.maximumUnreadBytes": webSocket { $0.maximumUnreadBytes = $1.int },
    "WebSocketOptions.maximumWaitingMessages": webSocket { $0.maximumWaitingMessages = $1.int },
    "WebSocketOptions.Compression.clientMaxWindowBits": webSocket { $0.compression.clientMaxWindowBits = $1.int },
    "WebSocketOptions.Compression.serverMaxWindowBits": webSocket { $0.compression.serverMaxWindowBits = $1.int },
    "WebSocketOptions.Compression.minimumBytes": webSocket { $0.compression.minimumBytes = $1.int },
    "WebSocketOptions.Compression.init(level:)": webSocket { $0.compression = .init(level: $1.int) },
    "WebSocketOptions.KeepAlive.pings(every:)": webSocket { $0.keepAlive = .pings(every: $1.duration) },
    "ReconnectingWebSocket.Options.initialDelay": reconnecting { $0.initialDelay = $1.duration },
    "ReconnectingWebSocket.Options.maximumDelay": reconnecting { $0.maximumDelay = $1.duration },
    "ReconnectingWebSocket.Options.maximumFailures": reconnecting { $0.maximumFailures = $1.int },
    "ReconnectingWebSocket.Options.stableAfter": reconnecting { $0.stableAfter = $1.duration },
    "RequestQueue.Limits.concurrent(_:perHost:)": { number in
      let queue = RequestQueue(client: client(), limits: .concurrent(number.int, perHost: number.int))
      queue.add(.get("https://a.test/"))
      _ = await queue.finish()
    },
    "RequestQueue.add(_:priority:after:options:)": { number in
      let queue = RequestQueue(client: client())
      for _ in 0..<3 { queue.add(.get("https://a.test/"), priority: number.int) }
      _ = await queue.finish()
    },
    "ResponseCache.memory(bytes:)": setting { $0.cache = .memory(bytes: $1.int) },
    "RetryPolicy.backoff(attempts:initialDelay:maximumDelay:)": retry {
      .backoff(attempts: min($0.int, 3), initialDelay: $0.duration, maximumDelay: $0.duration)
    },
    "RetryPolicy.custom(attempts:_:)": retry { number in
      .custom(attempts: min(number.int, 3)) { _, _ in number.duration }
    },
    "RetryPolicy.maximumRetryAfter": retry { number in
      var policy = RetryPolicy.backoff()
      policy.maximumRetryAfter = number.duration
      return policy
    },
    "RetryPolicy.timeouts(_:)": retry { .timeouts($0.int) },
    "ServerSentEvents.Options.initialDelay": events { $0.initialDelay = $1.duration },
    "ServerSentEvents.Options.maximumDelay": events { $0.maximumDelay = $1.duration },
    "ServerSentEvents.Options.maximumEventBytes": events { $0.maximumEventBytes = $1.int },
    "ServerSentEvents.Options.maximumFailures": events { $0.maximumFailures = $1.int },
    "ServerSentEvents.Options.minimumDelay": events { $0.minimumDelay = $1.duration },
    "ServerSentEvents.Options.initialDelay(_:)": events { $0 = .initialDelay($1.duration) },
    "ServerSentEvents.Options.maximumDelay(_:)": events { $0 = .maximumDelay($1.duration) },
    "ServerSentEvents.Options.maximumEventBytes(_:)": events { $0 = .maximumEventBytes($1.int) },
    "ServerSentEvents.Options.maximumFailures(_:)": events { $0 = .maximumFailures($1.int) },
    "ServerSentEvents.Options.minimumDelay(_:)": events { $0 = .minimumDelay($1.duration) },
    "HTTPBody.bytes(upTo:)": { _ = try await HTTPBody.text("abc").bytes(upTo: $0.int) },
    "HAREntry.attempt": entry { $0.attempt = $1.int }, "HAREntry.hop": entry { $0.hop = $1.int },
    "HAREntry.omittedMessageCount": entry { $0.omittedMessageCount = $1.int },
    "HAREntry.WebSocketMessage.opcode": message { $0.opcode = $1.int },
    "HAREntry.WebSocketMessage.time": message { $0.time = $1.date },
    "HAREntry.startedAt": entry { $0.startedAt = $1.date },
    "HAREntry.Body.size": entry { $0.response.body?.size = $1.int64 },
    "HAREntry.Request.bodySize": entry { $0.request.bodySize = $1.int64 },
    "HAREntry.Response.bodySize": entry { $0.response.bodySize = $1.int64 },
    "HAREntry.Response.status": entry { $0.response.status = $1.int },
    "HAREntry.Timings.blocked": entry { $0.timings.blocked = $1.duration },
    "HAREntry.Timings.connect": entry { ($0.timings.connect, $0.timings.ssl) = ($1.duration, $1.duration) },
    "HAREntry.Timings.dns": entry { ($0.timings.dns, $0.timings.connect) = ($1.duration, $1.duration) },
    "HAREntry.Timings.receive": entry { ($0.timings.receive, $0.timings.wait) = ($1.duration, $1.duration) },
    "HAREntry.Timings.send": entry { ($0.timings.send, $0.timings.receive) = ($1.duration, $1.duration) },
    "HAREntry.Timings.ssl": entry { $0.timings.ssl = $1.duration },
    "HAREntry.Timings.wait": entry { ($0.timings.wait, $0.timings.send) = ($1.duration, $1.duration) },
    "HTTPBody.write(upTo:to:)": { _ = try await HTTPBody.text("abc").write(upTo: $0.int64) { _ in } },
    "HTTPBody.collected(upTo:)": { _ = try await HTTPBody.text("abc").collected(upTo: $0.int) },
    "StreamedResponse.collect(upTo:)": reading { _ = try await $0.collect(upTo: $1.int) },
    "StreamedResponse.jsonLines(as:decoder:upTo:)": reading {
      for try await _ in $0.jsonLines(as: JSONValue.self, upTo: $1.int) {}
    },
    "StreamedResponse.lines(upTo:)": reading { for try await _ in $0.lines(upTo: $1.int) {} },
    "StreamedResponse.text(upTo:)": reading { _ = try await $0.text(upTo: $1.int) },
    "TimeoutPolicy.connect": option { $0.timeout.connect = $1.duration },
    "TimeoutPolicy.firstByte": option { $0.timeout.firstByte = $1.duration },
    "TimeoutPolicy.idle": option { $0.timeout.idle = $1.duration },
    "TimeoutPolicy.total": option { $0.timeout.total = $1.duration },
    "TimeoutPolicy.init(connect:idle:firstByte:total:)": option {
      let limit = $1.duration
      $0.timeout = TimeoutPolicy(connect: limit, idle: limit, firstByte: limit, total: limit)
    },
    "TransportSettings.idleConnectionLifetime": transport { $0.idleConnectionLifetime = $1.duration },
    "TransportSettings.maximumConnections": transport { $0.maximumConnections = $1.int },
    "TransportSettings.maximumConnectionsPerHost": transport { $0.maximumConnectionsPerHost = $1.int },
    "TransportSettings.maximumRequestsPerHost": transport { $0.maximumRequestsPerHost = $1.int },
  ]

  @Test func `each public number is tested or excused with a reason`() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Docs/PublicAPI.txt")
    let text = try String(contentsOf: page.standardizedFileURL, encoding: .utf8)
    let modules = text.components(separatedBy: "\n# ").filter { !$0.hasPrefix("MartletTest") }
    let names = Self.names(of: modules.joined(separator: "\n"))
    #expect(names.count > 100)

    let unknown = names.filter { name in
      Self.tries[name] == nil && Self.excused[name] == nil
        && !Self.excused.keys.contains { $0.hasSuffix(".") && name.hasPrefix($0) }
    }
    #expect(unknown.isEmpty, "add them to `tries`, or to `excused` with a reason")
    #expect(Self.tries.keys.filter { !names.contains($0) }.isEmpty, "no longer public")
  }

  @Test(arguments: tries.keys.sorted()) func `a number at the end of its range yields a result or an error`(
    name: String
  ) async throws {
    let attempt = try #require(Self.tries[name])

    for number in Self.numbers {
      do {
        try await attempt(number)
      } catch {
        #expect(error is HTTPError, "\(name) with \(number.text): \(error)")
      }
    }
  }
}
