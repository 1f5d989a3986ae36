#if os(Linux)
  import CMartletShim
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// HTTP/2 frames in any order: each request ends once, and the next request gets its own response.
  @Suite(.needsHTTP2Server, .hangLimit) struct HTTP2FrameTests {
    struct Case: CustomTestStringConvertible {
      let name: String
      let steps: [String]
      /// The body of the right response; without one, the request must fail.
      var body: String?
      /// The kind of the error, if it is certain.
      var kind: HTTPError.Kind?
      /// The error code of the GOAWAY.
      var code: Int?
      /// Whether an error from libcurl and a right response are both possible.
      var isEither = false

      var testDescription: String { name }

      static let all: [Case] = resets + goaways + floods + others

      private static let resets = (0..<14).flatMap { code in
        [
          Case(name: "RST_STREAM \(code) before the head", steps: ["reset:\(code)"], kind: kind(code)),
          Case(
            name: "RST_STREAM \(code) after the head", steps: ["head", "data:abc", "wait:5", "reset:\(code)"],
            kind: code == 13 ? nil : kind(code)),
          Case(
            name: "RST_STREAM \(code) with the last bytes", steps: ["head", "wait:20", "data:abc", "reset:\(code)"],
            kind: code == 13 ? nil : kind(code)),
          Case(
            name: "RST_STREAM \(code) with the whole answer", steps: ["head", "data:abc", "reset:\(code)"],
            kind: code == 13 ? nil : kind(code)),
        ]
      }

      /// Returns the error kind for the code of a reset.
      private static func kind(_ code: Int) -> HTTPError.Kind {
        switch code {
        case 1, 3, 5, 6, 9: .protocolViolation
        case 12: .tls
        case 13: .unsupported
        default: .connectionLost
        }
      }

      private static let goaways =
        [
          Case(name: "GOAWAY, then the answer", steps: ["goaway:0:0", "head", "last:ok"], body: "ok"),
          Case(name: "GOAWAY in the answer", steps: ["head", "data:o", "wait:5", "goaway:0:0", "last:k"], body: "ok"),
          Case(name: "GOAWAY after the answer", steps: ["head", "last:ok", "goaway:0:0", "close"], body: "ok"),
          Case(name: "GOAWAY twice", steps: ["goaway:0:8", "head", "wait:5", "goaway:0:0", "last:ok"], body: "ok"),
          Case(name: "GOAWAY and the end", steps: ["goaway:0:0", "close"]),
          Case(name: "GOAWAY and the end in the body", steps: ["head", "data:abc", "goaway:0:0", "wait:5", "close"]),
        ]
        + [1, 2, 11, 12].flatMap { code in
          [
            Case(
              name: "GOAWAY \(code) and the end", steps: ["goaway:\(code):0", "close"], kind: kind(code), code: code),
            Case(
              name: "GOAWAY \(code) before its stream", steps: ["goaway:\(code):-100"], kind: kind(code), code: code),
            Case(
              name: "GOAWAY \(code) and the end in the body",
              steps: ["head", "data:abc", "goaway:\(code):0", "wait:5", "close"], kind: kind(code), code: code),
            Case(name: "GOAWAY \(code), then the answer", steps: ["goaway:\(code):0", "head", "last:ok"], body: "ok"),
          ]
        }

      private static let floods = [
        Case(
          name: "PINGs", steps: ["500*frame:6:0:0:0000000000000000", "head", "last:ok"], body: "ok", isEither: true),
        Case(name: "SETTINGS", steps: ["500*frame:4:0:0:", "head", "last:ok"], body: "ok", isEither: true),
        Case(name: "empty DATA", steps: ["head", "2000*data:", "last:ok"], body: "ok", isEither: true),
        Case(name: "interim responses", steps: ["2000*head:103"]),
        Case(
          name: "CONTINUATION",
          steps: ["frame:1:0:-:88", "2000*frame:9:0:-:" + String(repeating: "0001610162", count: 20)]),
      ]

      private static let others = [
        Case(name: "DATA after END_STREAM", steps: ["head", "last:ok", "data:more"], body: "ok", isEither: true),
        Case(
          name: "trailers, and a frame that breaks the connection",
          steps: ["head", "wait:20", "data:hello", "trailer:x-sum=1", "frame:2:4:0:8000000100"], body: "hello",
          isEither: true),
        Case(name: "padded DATA", steps: ["head", "frame:0:9:-:036f6b000000"], body: "ok"),
        Case(name: "padded DATA that is truncated", steps: ["head", "lie:700:0:9:-:00" + many, "wait:5", "close"]),
        Case(name: "RST_STREAM after the whole answer", steps: ["head", "last:ok", "reset:0"], body: "ok"),
        Case(name: "trailers", steps: ["head", "data:ok", "trailer:x-sum=1"], body: "ok"),
        Case(name: "an interim response", steps: ["head:103", "head", "last:ok"], body: "ok"),
        Case(name: "a length that is too long", steps: ["head:200:content-length=3", "last:ok"], kind: violation),
        Case(name: "a length that is too short", steps: ["head:200:content-length=1", "last:ok"], kind: violation),
        Case(name: "DATA before the head", steps: ["last:ok"], kind: unsaid),
        Case(name: "an unknown frame", steps: ["frame:77:255:0:00", "head", "frame:78:0:-:", "last:ok"], body: "ok"),
        Case(name: "a connection-specific field", steps: ["head:200:connection=close", "last:ok"], kind: violation),
        Case(name: "no status", steps: ["frame:1:4:-:", "last:ok"], kind: violation),
        Case(name: "HPACK that has an index of none", steps: ["frame:1:5:-:ff80808001"], kind: unsaid),
        Case(name: "HPACK that is cut", steps: ["frame:1:5:-:40"], kind: unsaid),
        Case(name: "SETTINGS of 5 octets", steps: ["frame:4:0:0:0001000000"], kind: unsaid),
        Case(name: "SETTINGS with a frame size of 1", steps: ["frame:4:0:0:000500000001"], kind: unsaid),
        Case(name: "a PING of 7 octets", steps: ["frame:6:0:0:00000000000000"], kind: unsaid),
      ]
      private static let many = String(repeating: "61", count: 400)
      private static let violation = HTTPError.Kind.protocolViolation
      /// If the connection breaks before a head, libcurl before 8.1 reports only that nothing has arrived.
      private static let unsaid: HTTPError.Kind? = martlet_curl_hides_broken_connections() ? .connectionLost : nil
    }

    @Test(arguments: Lane.engines)
    func `each frame sequence ends its request once, and the next request succeeds`(
      _ lane: Lane
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())

      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, what) in Case.all.enumerated() {
          let client = lane.client { [root = authority.root] in $0.tls = .customRoots(pem: root) }
          group.addTask {
            let result = await Result { try await client.get(server.target(index * 2, what.steps)) }
            switch result {
            case .success(let response):
              #expect(what.body == response.text, "\(what.name): \(response.text)")
              #expect(response.headers["x-number"] == "\(index * 2)")
            case .failure(let error as HTTPError):
              #expect(what.isEither || what.body == nil, "\(what.name): \(error)")
              #expect(what.kind == nil || what.kind == error.kind, "\(what.name): \(error)")
              #expect(what.code == nil || what.code == error.http2ErrorCode.map { Int($0) }, "\(what.name): \(error)")
              // No sequence is slow or silent enough to reach a timeout.
              #expect(error.kind != .timedOut, "\(what.name): \(error)")
            case .failure(let error): Issue.record("\(what.name): \(error)")
            }
            let next = try await client.get(
              server.target(index * 2 + 1, ["head", "last:next"]), options: .retry(.standard))
            #expect(next.text == "next" && next.headers["x-number"] == "\(index * 2 + 1)", "\(what.name)")
          }
        }
        try await group.waitForAll()
      }
      for (index, what) in Case.all.enumerated() {
        // The output of the server may not have been read yet.
        _ = await becomes { server.count(of: index * 2) > 0 }
        #expect(server.count(of: index * 2) == 1, "\(what.name)")
      }
    }

    /// The server has received the whole request, but the stream may not be closed yet.
    @Test(arguments: Lane.engines) func `a POST gets a whole response or an error`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())
      let many = String(repeating: "61", count: 400)
      let rows: [(steps: [String], body: String?)] = [
        (["head", "last:ok"], "ok"), (["head", "data:o", "wait:5", "last:k"], "ok"),
        (["head", "frame:0:9:-:036f6b000000"], "ok"), (["head", "data:ok", "trailer:x-sum=1"], "ok"),
        (["head", "last:ok", "reset:0"], "ok"), (["head", "data:abc", "reset:0"], nil),
        (["head", "data:abc", "goaway:0:0", "wait:5", "close"], nil),
        (["head", "lie:100:0:1:-:616263", "wait:5", "close"], nil),
        (["head", "lie:700:0:9:-:00\(many)", "goaway:0:0", "wait:5", "close"], nil),
        // END_STREAM is in a frame that breaks the connection.
        (["head", "data:abc", "goaway:0:0", "frame:1:13:-:ff", "close"], nil),
        (["head", "head", "data:abc", "frame:1:13:-:ff", "close"], nil),
      ]

      for (index, row) in rows.enumerated() {
        for (place, bytes) in [1, 50_000].enumerated() {
          let client = lane.client { [root = authority.root] in $0.tls = .customRoots(pem: root) }
          let target = server.target(index * 2 + place, row.steps)
          let result = await Result { try await client.post(target, body: .data(Data(count: bytes))).text }

          #expect((try? result.get()) == row.body, "\(row.steps), \(bytes): \(result)")
        }
      }
    }

    /// Streams above the last stream of a GOAWAY were not processed.
    ///
    /// The error that caused the GOAWAY may occur again.
    @Test(
      arguments: Lane.engines,
      [(0, 12), (2, 5), (1, 5), (11, 1), (12, 1), (13, 2)] as [(code: Int, sends: Int)])
    func `requests above the last stream of a GOAWAY are retried as its error code allows`(
      _ lane: Lane, _ row: (code: Int, sends: Int)
    ) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())

      for isUsed in [false, true] {
        let number = isUsed ? 2 : 1
        let client = lane.client { [root = authority.root] in
          $0.tls = .customRoots(pem: root)
          $0.retry = .standard
        }
        if isUsed { _ = try await client.get(server.target(0, ["head", "last:ok"])) }
        // Over HTTP/1.1, `close` would replace the response.
        let close = row.code == 13 ? [] : ["wait:20", "close"]
        let target = server.target(number, ["goaway:\(row.code):-100"] + close)
        let result = await Result { try await client.post(target, body: .text("x")) }

        _ = await becomes { server.count(of: number) >= row.sends }
        #expect(server.count(of: number) == row.sends, "\(result)")
        switch result {
        case .success(let response): #expect(row.code == 13 && response.httpVersion == .http1_1)
        case .failure(let error as HTTPError):
          #expect(row.code != 13 && error.wasNotProcessed, "\(error)")
          #expect(error.http2ErrorCode == (row.code == 0 ? nil : UInt32(row.code)), "\(error)")
        case .failure(let error): Issue.record("\(error)")
        }
      }
    }

    /// The server may have processed the request unless it reports REFUSED_STREAM or HTTP_1_1_REQUIRED.
    @Test(arguments: Lane.engines, [false, true])
    func `a POST whose stream is reset is sent once if it may have been processed`(_ lane: Lane, _ isUsed: Bool)
      async throws
    {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())

      for code in 0..<14 {
        let client = lane.client { [root = authority.root] in
          $0.tls = .customRoots(pem: root)
          $0.retry = .standard
        }
        if isUsed { _ = try await client.get(server.target(100 + code, ["head", "last:ok"])) }
        let result = await Result { try await client.post(server.target(code, ["reset:\(code)"]), body: .text("x")) }

        #expect(((try? result.get()) != nil) == (code == 13))
        switch code {
        case 7: #expect(server.count(of: code) > 1)
        case 13: #expect(server.count(of: code) == 2)
        default: #expect(server.count(of: code) == 1)
        }
      }
    }

    /// If a request may have been processed, its retry policy decides whether it is repeated, not the connection.
    @Test(arguments: Lane.engines)
    func `a GET whose stream is reset is retried as its policy allows`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())
      let client = lane.client { [root = authority.root] in $0.tls = .customRoots(pem: root) }
      _ = try await client.get(server.target(100, ["head", "last:ok"]))

      for code in 0..<13 where code != 7 {
        let policies: [RetryPolicy] = [.off, .standard, .backoff(attempts: 3, initialDelay: .milliseconds(1))]
        for (index, policy) in policies.enumerated() {
          let target = server.target(code * 3 + index, ["reset:\(code)"])
          let result = await Result { try await client.get(target, options: .retry(policy)) }

          #expect((try? result.get()) == nil, "\(code)")
          let count = server.count(of: code * 3 + index)
          #expect(index < 2 ? count == 1 : code == 2 ? count == 3 : (1...3).contains(count), "\(code), \(policy)")
        }
      }
    }
  }
#endif
