#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// What a server of HTTP/2 may send, in whatever order: each request has one end, and the next one its own answer.
  @Suite(.needsHTTP2Server, .hangLimit) struct HTTP2FrameTests {
    struct Case: CustomTestStringConvertible {
      let name: String
      let steps: [String]
      /// The body, if there is a right answer; without one there must be an error.
      var body: String?
      /// What kind of error it is, if that is sure.
      var kind: HTTPError.Kind?
      /// Whether libcurl's error and a right answer are both possible.
      var isEither = false

      var testDescription: String { name }

      static let all: [Case] = resets + goaways + floods + others

      private static let resets = (0..<14).flatMap { code in
        [
          Case(name: "RST_STREAM \(code) before the head", steps: ["reset:\(code)"], kind: kind(code)),
          // NO_ERROR after the head cannot be told from END_STREAM before libcurl 8.0.1.
          Case(
            name: "RST_STREAM \(code) after the head", steps: ["head", "data:abc", "wait:5", "reset:\(code)"],
            body: code == 0 && !FrameSequence.requiresEndOfStream ? "abc" : nil, kind: code == 13 ? nil : kind(code),
            isEither: code == 0),
        ]
      }

      /// What a reset means.
      private static func kind(_ code: Int) -> HTTPError.Kind {
        switch code {
        case 1, 3, 5, 6, 9: .protocolViolation
        case 12: .tls
        case 13: .unsupported
        default: .connectionLost
        }
      }

      private static let goaways = [
        Case(name: "GOAWAY, then the answer", steps: ["goaway:0:0", "head", "last:ok"], body: "ok"),
        Case(name: "GOAWAY in the answer", steps: ["head", "data:o", "wait:5", "goaway:0:0", "last:k"], body: "ok"),
        Case(name: "GOAWAY after the answer", steps: ["head", "last:ok", "goaway:0:0", "close"], body: "ok"),
        Case(name: "GOAWAY twice", steps: ["goaway:0:8", "head", "wait:5", "goaway:0:0", "last:ok"], body: "ok"),
        Case(name: "GOAWAY and the end", steps: ["goaway:0:0", "close"]),
        Case(name: "GOAWAY and the end in the body", steps: ["head", "data:abc", "goaway:0:0", "wait:5", "close"]),
      ]

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
        Case(name: "trailers", steps: ["head", "data:ok", "trailer:x-sum=1"], body: "ok"),
        Case(name: "an interim response", steps: ["head:103", "head", "last:ok"], body: "ok"),
        Case(name: "a length that is too long", steps: ["head:200:content-length=3", "last:ok"]),
        Case(name: "a length that is too short", steps: ["head:200:content-length=1", "last:ok"]),
        Case(name: "DATA before the head", steps: ["last:ok"]),
        Case(name: "an unknown frame", steps: ["frame:77:255:0:00", "head", "frame:78:0:-:", "last:ok"], body: "ok"),
        Case(name: "a connection-specific field", steps: ["head:200:connection=close", "last:ok"]),
        Case(name: "no status", steps: ["frame:1:4:-:", "last:ok"]),
      ]
    }

    @Test(arguments: Lane.engines) func `end a request once, and the next one is right`(_ lane: Lane) async throws {
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
              // Nothing here is so slow, or so silent, that a limit of time may be what ends it.
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
        // What the server has written may not have been read yet.
        _ = await becomes { server.count(of: index * 2) > 0 }
        #expect(server.count(of: index * 2) == 1, "\(what.name)")
      }
    }

    /// The server may have processed it, unless it says by REFUSED_STREAM or HTTP_1_1_REQUIRED that it has not.
    @Test(arguments: Lane.engines, [false, true])
    func `a POST that is reset is sent once, if it may have been processed`(_ lane: Lane, _ isUsed: Bool) async throws {
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
        // libcurl says so on a connection's first stream only; on a used one it may as well have lost the answer.
        case 7: #expect(isUsed ? server.count(of: code) == 1 : server.count(of: code) > 1)
        case 13: #expect(server.count(of: code) == 2)
        default: #expect(server.count(of: code) == 1)
        }
      }
    }
  }
#endif
