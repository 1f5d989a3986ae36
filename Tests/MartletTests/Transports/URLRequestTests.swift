#if canImport(Darwin) || URLSession
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// Each property of a `URLRequest` is honored, or refused by name.
  @Suite(.hangLimit) struct URLRequestTests {
    private static func request(_ change: (inout URLRequest) -> Void = { _ in }) throws -> URLRequest {
      var request = URLRequest(url: try #require(URL(string: "http://a.test/x?q=1")))
      change(&request)
      return request
    }

    #if canImport(Darwin)
      private static let refused = refusedEverywhere.merging(refusedOnApple) { $1 }

      private static let refusedOnApple: [String: @Sendable (inout URLRequest) -> Void] = [
        "allowsExpensiveNetworkAccess": { $0.allowsExpensiveNetworkAccess.toggle() },
        "allowsConstrainedNetworkAccess": { $0.allowsConstrainedNetworkAccess.toggle() },
        "assumesHTTP3Capable": { $0.assumesHTTP3Capable.toggle() },
        "attribution": { $0.attribution = .user },
        "requiresDNSSECValidation": { $0.requiresDNSSECValidation.toggle() },
        "allowsPersistentDNS": { $0.allowsPersistentDNS.toggle() },
      ]
    #else
      private static let refused = refusedEverywhere
    #endif

    private static let refusedEverywhere: [String: @Sendable (inout URLRequest) -> Void] = [
      "mainDocumentURL": { $0.mainDocumentURL = URL(string: "http://b.test/") },
      "networkServiceType": { $0.networkServiceType = .background },
      "allowsCellularAccess": { $0.allowsCellularAccess = false },
      "httpShouldUsePipelining": { ($0 as any Pipelining).pipeline(&$0) },
      "httpBodyStream": { $0.httpBodyStream = InputStream(data: Data()) },
    ]

    private static let honored: Set = [
      "url", "httpMethod", "allHTTPHeaderFields", "httpBody", "cachePolicy", "timeoutInterval",
      "httpShouldHandleCookies",
    ]

    #if !canImport(Darwin)
      @Test func `every property is honored or refused`() throws {
        let names = Mirror(reflecting: try Self.request { $0.httpBody = Data() }).children.compactMap(\.label)

        #expect(names.count >= 10)
        #expect(Set(names).isSubset(of: Self.honored.union(Self.refused.keys)), "\(names)")
      }

      /// Reads the declarations that `.ci/apple` compiles with, and the code that refuses properties.
      @Test func `every property of Apple's platforms is refused by name`() throws {
        let root = (0..<4).reduce(URL(filePath: #filePath)) { place, _ in place.deletingLastPathComponent() }
        let sdk = try String(contentsOf: root.appending(path: ".ci/apple-sdk/AppleSDK.swift"), encoding: .utf8)
        let start = try #require(sdk.range(of: "extension URLRequest {")?.upperBound)
        let end = try #require(sdk[start...].range(of: "\n}")?.lowerBound)
        let names = sdk[start..<end].matches(of: /var (\w+):/).map { String($0.1) }
        let source = "Sources/Martlet/Transports/URLSession/HTTPClient+URLRequest.swift"
        let code = try String(contentsOf: root.appending(path: source), encoding: .utf8)

        #expect(names.count >= 8)
        for name in names { #expect(code.contains("\"\(name)\")"), "\(name)") }
      }
    #endif

    @Test(arguments: refused.keys.sorted()) func `a property without an equivalent is refused by name`(name: String)
      async throws
    {
      let request = try Self.request(try #require(Self.refused[name]))
      let transport = StubTransport { _ in .text("x") }
      let client = HTTPClient.stubbed(transport)

      let error = await #expect(throws: HTTPError.self) { try await client.data(for: request) }
      #expect(throws: HTTPError.self) { try HTTPRequest(request) }

      #expect(error?.message.contains(name) == true)
      #expect(transport.requests.isEmpty)
    }

    @Test(
      arguments: [
        (URLRequest.CachePolicy.useProtocolCachePolicy, nil, nil), (.reloadIgnoringLocalCacheData, .neverRead, nil),
        (.reloadIgnoringLocalAndRemoteCacheData, .neverRead, "no-cache"),
        (.returnCacheDataElseLoad, .preferCached, nil),
        (.returnCacheDataDontLoad, .onlyCached, nil), (.reloadRevalidatingCacheData, .alwaysRevalidate, nil),
      ] as [(URLRequest.CachePolicy, CachePolicy?, String?)]) func `maps cache policies`(
        policy: URLRequest.CachePolicy, expected: CachePolicy?, field: String?
      ) throws
    {
      var options = RequestOptions()
      let request = try HTTPRequest(try Self.request { $0.cachePolicy = policy }, options: &options)

      #expect(options.cache == expected)
      #expect(request.headers["Cache-Control"] == field)
    }

    @Test(
      arguments: [
        (1.0, Duration.seconds(1)), (0.0001, .milliseconds(1)), (60, nil), (0, nil), (-1, nil), (.nan, nil),
        (.infinity, .seconds(1_000_000_000)), (1e300, .seconds(1_000_000_000)),
      ] as [(TimeInterval, Duration?)]) func `maps the time interval`(interval: TimeInterval, limit: Duration?) throws
    {
      var options = RequestOptions()
      options.timeout.firstByte = .seconds(7)
      _ = try HTTPRequest(try Self.request { $0.timeoutInterval = interval }, options: &options)

      #expect(options.timeout.idle == limit ?? .seconds(30))
      #expect(options.timeout.connect == limit ?? .seconds(10))
      #expect(options.timeout.firstByte == (limit == nil ? .seconds(7) : nil))
    }

    @Test func `a stored response is not used if the request forbids it`() async throws {
      let count = Shared(0)
      let transport = StubTransport { _ in
        let number = count.withLock {
          $0 += 1
          return $0
        }
        return .status(.ok, headers: ["Cache-Control": "max-age=60"], body: Data("\(number)".utf8))
      }
      let client = HTTPClient.stubbed(transport)
      func text(_ policy: URLRequest.CachePolicy, _ options: RequestOptions = RequestOptions()) async throws -> String {
        let (data, _) = try await client.data(for: try Self.request { $0.cachePolicy = policy }, options: options)
        return String(decoding: data, as: UTF8.self)
      }

      #expect(try await text(.useProtocolCachePolicy) == "1")
      #expect(try await text(.useProtocolCachePolicy) == "1")
      #expect(try await text(.reloadIgnoringLocalCacheData) == "2")
      #expect(try await text(.returnCacheDataDontLoad) == "2")
      #expect(try await text(.returnCacheDataDontLoad, .cache(.off)) == "3")
    }

    @Test func `cookies are off if the request turns them off`() async throws {
      let transport = StubTransport { _ in .status(.ok, headers: ["Set-Cookie": "a=1"]) }
      let client = HTTPClient.stubbed(transport)

      _ = try await client.data(for: try Self.request())
      _ = try await client.data(for: try Self.request { $0.httpShouldHandleCookies = false })
      _ = try await client.data(for: try Self.request())

      #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, nil, "a=1"])
    }

    @Test func `timeoutInterval ends a silent response`() async throws {
      let clock = TestClock(advancing: .manually)
      let entered = Log<Int>()
      let transport = StubTransport { _ in
        entered.add(1)
        try await untilCancelled()
      }
      let client = HTTPClient.stubbed(transport, clock: clock)
      let request = try Self.request { $0.timeoutInterval = 1 }

      let sending = Task { try await client.data(for: request, options: .retry(.off)) }
      await entered.wait(for: 1)
      await clock.wait(forSleepers: 1)
      // Both limits add up, because this transport does not report its connection.
      clock.advance(by: .seconds(3))

      let error = await #expect(throws: HTTPError.self) { try await sending.value }
      #expect(error?.kind == .timedOut)
    }

    @Test func `an HTTPRequest cannot be made from a URLRequest with options`() throws {
      let error = #expect(throws: HTTPError.self) {
        try HTTPRequest(
          try Self.request {
            $0.timeoutInterval = 5
            $0.httpShouldHandleCookies = false
          })
      }

      #expect(error?.message.contains("timeoutInterval, httpShouldHandleCookies") == true)
    }

    @Test func `joins response fields whose names differ only in case`() async throws {
      let transport = StubTransport { _ in .status(.ok, headers: ["X-A": "1", "x-a": "2", "X-B": "3"]) }

      let (_, head) = try await HTTPClient.stubbed(transport).data(for: try Self.request())

      #expect(head.value(forHTTPHeaderField: "X-A") == "1, 2" && head.value(forHTTPHeaderField: "x-b") == "3")
      #expect(head.allHeaderFields.keys.count { "\($0)".lowercased() == "x-a" } == 1)
    }

    @Test func `uploads, streams and downloads with a URLRequest`() async throws {
      let transport = StubTransport { request in
        .text("\(request.method):\(String(decoding: try await request.bodyData(), as: UTF8.self))")
      }
      let client = HTTPClient.stubbed(transport)
      let folder = try TemporaryFolder()
      let file = try folder.write(Data("file".utf8), to: "body")
      let put = try Self.request {
        $0.httpMethod = "PUT"
        $0.httpBody = Data("own".utf8)
      }

      let (sent, status) = try await client.upload(for: put, from: Data("data".utf8))
      let (fromFile, _) = try await client.upload(for: put, fromFile: file)
      let (body, head) = try await client.bytes(for: try Self.request())
      let lines = try await body.lines.reduce(into: []) { $0.append($1) }
      let (place, response) = try await client.download(for: try Self.request())
      defer { try? FileManager.default.removeItem(at: place) }

      #expect(String(decoding: sent, as: UTF8.self) == "PUT:data" && status.statusCode == 200)
      #expect(String(decoding: fromFile, as: UTF8.self) == "PUT:file")
      #expect(lines == ["GET:"] && head.url?.absoluteString == "http://a.test/x?q=1")
      #expect(try String(contentsOf: place, encoding: .utf8) == "GET:" && response.statusCode == 200)
    }
  }

  /// Sets a deprecated property without a warning.
  private protocol Pipelining {
    func pipeline(_ request: inout URLRequest)
  }

  extension URLRequest: Pipelining {
    @available(*, deprecated) fileprivate func pipeline(_ request: inout URLRequest) {
      request.httpShouldUsePipelining.toggle()
    }
  }
#endif
