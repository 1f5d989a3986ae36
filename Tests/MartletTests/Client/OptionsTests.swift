import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// The levels: global default < client < scope < endpoint < request, field by field.
@Suite(.hangLimit) struct OptionsTests {
  enum Level: Int, CaseIterable, Sendable { case global, client, scope, endpoint, request }

  /// A field with two distinguishable values.
  struct Field: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Sets the value with this number, 1 or 2.
    let set: @Sendable (inout RequestOptions, Int) -> Void
    /// Returns the number of the effective value; 0 for the default.
    let get: @Sendable (RequestOptions) -> Int
  }

  enum OwnKey: RequestOptions.Key { typealias Value = Int }
  enum GlobalKey: RequestOptions.Key { typealias Value = String }

  private static func limit(
    _ name: String, _ path: any WritableKeyPath<TimeoutPolicy, TimeoutPolicy.Limit> & Sendable,
    _ value: any KeyPath<TimeoutPolicy, Duration?> & Sendable
  ) -> [Field] {
    let fallback = TimeoutPolicy()[keyPath: value]
    return [
      Field(
        testDescription: name, set: { $0.timeout[keyPath: path] = .set(.seconds(1000 + $1)) },
        get: {
          let limit = ResolvedOptions($0).timeouts[keyPath: value]
          return limit == fallback ? 0 : limit.map { Int($0.components.seconds) - 1000 } ?? -1
        }),
      Field(
        testDescription: "\(name) nil",
        set: { $0.timeout[keyPath: path] = $1 == 1 ? .set(.seconds(1001)) : .set(nil) },
        get: {
          let limit = ResolvedOptions($0).timeouts[keyPath: value]
          if limit == .seconds(1001) { return 1 }
          // For the first byte, an unset limit and no limit are the same.
          if case .inherited = $0.timeout[keyPath: path] { return 0 }
          return limit == nil ? 2 : -1
        }),
    ]
  }

  /// An option with equatable values.
  private static func option<Value: Equatable>(
    _ path: any WritableKeyPath<RequestOptions, Value?> & Sendable, _ one: Value, _ two: Value
  ) -> Field where Value: Sendable {
    Field(
      testDescription: "\(path)", set: { $0[keyPath: path] = $1 == 1 ? one : two },
      get: { $0[keyPath: path] == one ? 1 : $0[keyPath: path] == two ? 2 : 0 })
  }

  /// An option whose values are compared by their descriptions.
  private static func option<Value: Sendable>(
    _ path: any WritableKeyPath<RequestOptions, Value?> & Sendable, text one: Value, _ two: Value
  ) -> Field {
    Field(
      testDescription: "\(path)", set: { $0[keyPath: path] = $1 == 1 ? one : two },
      get: { ["\(one)", "\(two)"].firstIndex(of: $0[keyPath: path].map { "\($0)" } ?? "").map { $0 + 1 } ?? 0 })
  }

  /// One field for each property of the options; add new properties here.
  private static let properties = [
    option(\.retry, text: .timeouts(1), .timeouts(2)), option(\.isIdempotent, true, false),
    option(\.hedging, .after(.seconds(1)), .after(.seconds(2))), option(\.rate, .perSecond(1), .perSecond(2)),
    option(\.priority, 1, 2), option(\.redirects, text: .follow(upTo: 1), .follow(upTo: 2)),
    option(\.cookies, text: .only([Cookie("one", "x")]), .only([Cookie("two", "x")])),
    option(\.accepts, text: .statuses(0..<300), .statuses(0..<400)), option(\.maximumBodyBytes, 100, 200),
    option(\.maximumErrorBodyBytes, 100, 200), option(\.decompression, .automatic, .off),
    option(\.cache, .standard, .off), option(\.cacheFor, .seconds(1), .seconds(2)),
    option(\.cacheStorage, .permanent, .session),
    option(\.cachePartition, "1", "2"), option(\.coalesces, true, false),
    option(\.httpVersion, .http1_1, .http2), option(\.expectsContinue, true, false),
    option(\.credential, .token("1"), .token("2")), option(\.explains, true, false), option(\.tag, "1", "2"),
    option(\.reportsCancellation, true, false),
    Field(
      testDescription: "onProgress",
      set: { options, number in
        options.onProgress = { _ in reported?.add(number) }
      },
      get: { options in
        let log = Log<Int>()
        $reported.withValue(log) { options.onProgress?(TransferProgress()) }
        return log.elements.last ?? 0
      }),
    Field(testDescription: "own key", set: { $0[OwnKey.self] = $1 }, get: { $0[OwnKey.self] ?? 0 }),
    limits[0],
  ]

  private static let limits =
    limit("connect", \.connectLimit, \.connect) + limit("idle", \.idleLimit, \.idle)
    + limit("firstByte", \.firstByteLimit, \.firstByte) + limit("total", \.totalLimit, \.total)

  static let fields = properties + limits.dropFirst()

  /// The log in which a progress closure records its number.
  @TaskLocal private static var reported: Log<Int>?

  struct Probe: Endpoint {
    typealias Output = String
    let options: RequestOptions
    var target: RequestTarget { "http://example.test/" }
  }

  /// Sends one request with options at some levels and returns the options that the transport received.
  private static func arrived(_ levels: [Level: RequestOptions]) async throws -> RequestOptions {
    let seen = Log<RequestOptions>()
    var configuration = HTTPClient.Configuration()
    // The base URL is the origin of the client's credential.
    configuration.baseURL = "http://example.test"
    configuration.transport = StubTransport(withContext: { _, context in
      seen.add(context.options)
      return .text("x")
    })
    // With a manual clock, no limit expires, however slow the machine is.
    configuration.clock = TestClock(advancing: .manually)
    // A client starts from a copy of the global default.
    configuration.options = levels[.global] ?? RequestOptions()
    if let options = levels[.client] { configuration.options = options.over(configuration.options) }
    let client = HTTPClient { [configuration] in $0 = configuration }
    let request = levels[.request] ?? RequestOptions()
    switch (levels[.scope], levels[.endpoint]) {
    case (let scope?, let endpoint?):
      let scope = RequestScope(client: client, options: scope)
      _ = try await scope.start(Probe(options: endpoint)).value
      // A scope cancels its requests when it is released.
      withExtendedLifetime(scope) {}
    case (let scope?, nil):
      let scope = RequestScope(client: client, options: scope)
      _ = try await scope.start(.get("http://example.test/"), options: request).value
      withExtendedLifetime(scope) {}
    case (nil, let endpoint?): _ = try await client.send(Probe(options: endpoint), options: request)
    case (nil, nil): _ = try await client.get("http://example.test/", options: request)
    }
    return try #require(seen.elements.first)
  }

  @Test(arguments: fields) func `a higher level overrides a field, and unset fields are inherited`(field: Field)
    async throws
  {
    for lower in Level.allCases {
      for upper in Level.allCases where upper.rawValue > lower.rawValue {
        for (low, high) in [(1, 2), (2, 1)] {
          var lowerOptions = RequestOptions()
          var upperOptions = RequestOptions()
          field.set(&lowerOptions, low)
          field.set(&upperOptions, high)

          let both = try await Self.arrived([lower: lowerOptions, upper: upperOptions])
          let inherited = try await Self.arrived([lower: lowerOptions, upper: RequestOptions()])
          let own = try await Self.arrived([lower: RequestOptions(), upper: upperOptions])

          #expect(field.get(both) == high, "\(upper) over \(lower)")
          #expect(field.get(inherited) == low, "\(upper) inherits from \(lower)")
          #expect(field.get(own) == high, "\(upper) alone")
        }
      }
    }
  }

  @Test(arguments: fields.indices) func `overriding one field does not affect the others`(index: Int) async throws {
    // Each limit has two fields; the first is enough.
    let others = Self.fields.indices.filter {
      $0 != index && !Self.fields[$0].testDescription.hasSuffix("nil")
        && Self.fields[index].testDescription != Self.fields[$0].testDescription + " nil"
    }
    var lower = RequestOptions()
    for other in others { Self.fields[other].set(&lower, 1) }
    var upper = RequestOptions()
    Self.fields[index].set(&upper, 2)

    for level in Level.allCases.dropFirst() {
      let options = try await Self.arrived([.global: lower, level: upper])

      #expect(Self.fields[index].get(options) == 2)
      for other in others {
        let name = Self.fields[other].testDescription
        #expect(Self.fields[other].get(options) == 1, "\(name) below \(level)")
      }
    }
  }

  @Test func `merges fields from the global, client, scope and endpoint levels`() async throws {
    var scope = RequestOptions.tag("scope")
    scope.maximumErrorBodyBytes = 3
    let options = try await Self.arrived([
      .global: RequestOptions.maximumBodyBytes(1).tag("global").maximumErrorBodyBytes(1).timeout(idle: .seconds(1)),
      .client: RequestOptions.tag("client").maximumErrorBodyBytes(2).timeout(connect: .seconds(2)),
      .scope: scope, .endpoint: RequestOptions.timeout(.seconds(4)).tag("endpoint"),
    ])

    #expect(options.maximumBodyBytes == 1)
    #expect(options.maximumErrorBodyBytes == 3)
    #expect(options.tag == "endpoint")
    let limits = ResolvedOptions(options).timeouts
    #expect(
      [limits.connect, limits.idle, limits.firstByte, limits.total] == [.seconds(2), .seconds(1), nil, .seconds(4)])
  }

  @Test func `a field set to nil is inherited`() async throws {
    var options = RequestOptions.tag("t").retry(.off)
    options.tag = nil
    options.retry = nil
    options.timeout = .unlimited
    options.timeout = TimeoutPolicy()
    options[OwnKey.self] = 1
    options[OwnKey.self] = nil
    let lower = RequestOptions.tag("lower").timeout(.seconds(7))

    let merged = try await Self.arrived([.client: lower, .request: options])

    #expect(merged.tag == "lower")
    #expect(ResolvedOptions(merged).timeouts.total == .seconds(7))
    #expect(ResolvedOptions(merged).retry.maximumAttempts == 2)
  }

  @Test func `an unset limit is inherited, and streams have a total limit only if one is set`() {
    let policy = TimeoutPolicy(connect: .seconds(5), idle: nil)
    #expect(policy.connect == .seconds(5) && policy.idle == nil && policy.total == .seconds(120))
    #expect(!policy.totalLimit.isSet && !policy.firstByteLimit.isSet && policy.idleLimit.isSet)
    let client = HTTPClient { $0.timeout = policy }
    #expect(client.core.unbounded(RequestOptions()).timeout.total == nil)
    let limited = HTTPClient { $0.timeout = TimeoutPolicy(total: .seconds(9)) }
    #expect(
      ResolvedOptions(limited.core.unbounded(RequestOptions()).over(limited.configuration.options)).timeouts.total
        == .seconds(9))
  }

  @Test func `a set limit can be read, and unset limits are inherited`() {
    #expect(RequestOptions().timeout == TimeoutPolicy())
    let one = RequestOptions.timeout(.seconds(1))
    #expect(one.timeout.total == .seconds(1) && one.timeout.idle == .seconds(30))
    #expect(one.over(.timeout(idle: .seconds(7))).timeout.idle == .seconds(7))
    let written = RequestOptions { $0.timeout.idle = nil }
    #expect(
      ResolvedOptions(written.over(.timeout(.seconds(9)))).timeouts
        == RequestOptions.timeout(idle: nil).timeout(.seconds(9)).timeout)
    let all = RequestOptions.timeout(connect: nil).timeout(idle: nil).timeout(firstByte: nil).timeout(.seconds(1))
    #expect(all.timeout == TimeoutPolicy(connect: nil, idle: nil, firstByte: nil, total: .seconds(1)))
  }

  @Test func `a change of the global default affects new clients only`() async throws {
    let seen = Log<String?>()
    let transport = StubTransport(withContext: { _, context in
      seen.add(context.options[GlobalKey.self])
      return .text("x")
    })
    let before = HTTPClient.stubbed(transport)
    // Only this test uses the key, because other tests create clients at the same time.
    HTTPClient.Configuration.default.options[GlobalKey.self] = "global"
    let after = HTTPClient.stubbed(transport)
    HTTPClient.Configuration.default.options[GlobalKey.self] = nil
    let last = HTTPClient.stubbed(transport)

    for client in [before, after, last] { _ = try await client.get("http://example.test/") }

    #expect(seen.elements == [nil, "global", nil])
  }

  @Test func `a change of the client's options affects later requests only`() async throws {
    let gate = Gate()
    let sent = Log<String?>()
    let client = HTTPClient {
      $0.clock = TestClock()
      $0.options.tag = "old"
      $0.transport = StubTransport(withContext: { _, context in
        sent.add(context.options.tag)
        await gate.pass()
        return .text("x")
      })
    }
    let first = client.start(.get("http://example.test/"))
    await sent.wait(for: 1)

    await client.update { $0.options.tag = "new" }
    gate.open()
    _ = try await first.value
    _ = try await client.get("http://example.test/")

    #expect(sent.elements == ["old", "new"])
    #expect(first.call?.options.source.tag == "old")
  }

  @Test(arguments: [RequestOptions.maximumBodyBytes(-1), .maximumErrorBodyBytes(-1)])
  func `rejects a negative body limit`(options: RequestOptions) async throws {
    let transport = StubTransport { _ in .text("x") }

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient.stubbed(transport).get("http://example.test/", options: options)
    }

    #expect(error.kind == .invalidRequest)
    #expect(transport.requests.isEmpty)
  }

  /// One set of options for each property.
  private static let chosen = properties.map { property in RequestOptions { property.set(&$0, 1) } }

  @Test func `are empty only if no field is set`() {
    #expect(RequestOptions().isEmpty)
    #expect(Self.chosen.allSatisfy { !$0.isEmpty })
    #expect(Mirror(reflecting: RequestOptions()).children.count == Self.chosen.count)
  }

  @Test func `merging keeps every field and changes no other`() {
    func fields(_ options: RequestOptions) -> [String] {
      Mirror(reflecting: options).children.map { "\($0.label ?? ""): \($0.value)" }
    }
    for options in Self.chosen {
      #expect(fields(options) != fields(RequestOptions()))
      #expect(fields(options.over(RequestOptions())) == fields(options))
      #expect(fields(RequestOptions().over(options)) == fields(options))
    }
    let all = Self.chosen.reduce(RequestOptions()) { $1.over($0) }
    #expect(zip(fields(all), fields(RequestOptions())).allSatisfy { $0 != $1 })
  }
}
