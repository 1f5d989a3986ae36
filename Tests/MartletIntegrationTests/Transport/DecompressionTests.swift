#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  /// ``RequestOptions/Decompression/off``, and bodies that expand.
  @Suite(.ownThreads, .hangLimit) struct DecompressionTests {
    private let client = HTTPClient {
      $0.transport = .curl
      $0.retry = .off
    }

    @Test func `delivers the encoded body if decompression is off`() async throws {
      let fields: KeyValuePairs = ["Content-Encoding": "gzip"]
      let server = try MockServer(.data(CodedBodies.gzip, headers: fields))
      let target = RequestTarget(server.url)
      let derived = client.derived { $0.options.decompression = .off }
      for response in [
        try await client.send(.get(target), options: .decompression(.off)), try await derived.send(.get(target)),
        try await client.send(
          .get(target, headers: ["Range": "bytes=0-1"]), options: .tag("t").decompression(.off)),
        try await derived.send(.get(target, headers: ["Accept-Encoding": "gzip"])),
      ] {
        #expect(response.body == CodedBodies.gzip)
        #expect(response.headers["Content-Encoding"] == "gzip")
        #expect(response.headers["Content-Length"] == "\(CodedBodies.gzip.count)")
      }
      #expect(server.requests.map { $0.headers(named: "Accept-Encoding") } == [[], [], [], ["gzip"]])
      #expect(try await derived.send(.get(target), options: .decompression(.automatic)).text == CodedBodies.text)
    }

    @Test(arguments: Lane.engines)
    func `S57 sends Accept-Encoding and reports whether a body was compressed`(lane: Lane) async throws {
      let server = try MockServer { request in
        request.target == "/coded"
          ? .data(CodedBodies.gzip, headers: ["Content-Encoding": "gzip"]) : .data(Data("x".utf8))
      }
      let client = lane.client { $0.cache = .off }

      let coded = try await client.get(RequestTarget(server.url("/coded")))
      let plain = try await client.get(RequestTarget(server.url("/plain")))
      let raw = try await client.get(RequestTarget(server.url("/coded")), options: .decompression(.off))

      #expect(coded.wasCompressed && coded.text == CodedBodies.text && coded.headers["Content-Encoding"] == nil)
      #expect(!plain.wasCompressed && !raw.wasCompressed)
      #expect(server.requests.first?.header("Accept-Encoding")?.hasPrefix("gzip") == true)
    }

    @Test func `delivers undecodable bodies unchanged if decompression is off`() async throws {
      for (body, coding) in [
        (CodedBodies.gzip.prefix(9), "gzip"), (Data("?".utf8), "gzip, gzip, gzip, gzip, gzip, gzip"),
        (CodedBodies.brotliBomb, "br"),
      ] {
        let server = try MockServer(.data(body, headers: ["Content-Encoding": coding]))
        let response = try await client.get(RequestTarget(server.url), options: .decompression(.off))
        #expect(response.body == body)
      }
    }

    #if canImport(Darwin) || URLSession
      @Test func `the system loader rejects disabled decompression before connecting`() async throws {
        let server = try MockServer(.ok("x"))
        let client = HTTPClient { $0.transport = URLSessionLoader(TransportSettings()) }
        let error = await #expect(throws: HTTPError.self) {
          try await client.get(RequestTarget(server.url), options: .decompression(.off))
        }
        #expect(error?.kind == .unsupported)
        #expect(error?.description.contains(".curl") == true)
        #expect(server.requests.isEmpty)
        #expect(server.connectionCount == 0)
      }
    #endif

    @Test(.needs(.proc)) func `decompression bombs fail with a typed error and bounded memory`() async {
      await #expect(processExitsWith: .success) {
        let bombs = try [
          ("gzip", CodedBodies.gzipBomb()), ("br", CodedBodies.brotliBomb), ("zstd", CodedBodies.zstdBomb),
        ].filter { bomb in ContentCoding.usable.contains { $0.name == bomb.0 } }
        let client = HTTPClient {
          $0.transport = .curl
          $0.retry = .off
        }
        for (coding, bomb) in bombs {
          let server = try MockServer { (request: RecordedRequest) in
            let fields: KeyValuePairs = ["Content-Encoding": coding]
            return switch request.path {
            case "/error": .data(bomb, status: 500, headers: fields)
            case "/redirect": .data(bomb, status: 302, headers: ["Content-Encoding": coding, "Location": "/end"])
            case "/end": .ok("end")
            default: .data(bomb, headers: fields)
            }
          }
          func target(_ path: String) -> RequestTarget { "\(raw: server.url)\(raw: path)" }
          // The first request creates the threads and buffers of both sides.
          #expect(try await client.get(target("/end")).text == "end")
          let before = ProcessFacts.residentBytes

          let whole = await #expect(throws: HTTPError.self) { try await client.get(target("/")) }
          #expect(whole?.kind == .protocolViolation)
          #expect(whole?.description.contains("200:1") == true)
          let streamed = await #expect(throws: HTTPError.self) {
            try await client.stream(.get(target("/"))) { response in
              for try await _ in response.body {}
            }
          }
          #expect(streamed?.kind == .protocolViolation)
          let failed = await #expect(throws: HTTPError.self) { try await client.get(target("/error")) }
          #expect(failed?.kind == .status)
          #expect(failed?.response?.body == Data(count: 64 << 10))
          #expect(try await client.get(target("/redirect")).text == "end")

          #expect(
            isSanitized || ProcessFacts.peakBytes - before < 64 << 20, "\(coding): \(ProcessFacts.peakBytes) \(before)")
          server.stop()
        }
      }
    }

    @Test func `maximumBodyBytes counts decoded bytes`() async throws {
      let body = CodedBodies.repeated(CodedBodies.gzipOfMartlets, 2000)
      let server = try MockServer(.data(body, headers: ["Content-Encoding": "gzip"]))
      let target = RequestTarget(server.url)
      let error = await #expect(throws: HTTPError.self) {
        try await client.get(target, options: .maximumBodyBytes(3_199_999))
      }
      #expect(error?.kind == .bodyTooLarge)
      #expect(try await client.get(target, options: .maximumBodyBytes(3_200_000)).body.count == 3_200_000)
    }
  }
#endif
