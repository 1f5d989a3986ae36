#if os(Linux)
  import CMartletShim
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Responses that are complete before their requests are sent, from a server that reads only the head.
  @Suite(.hangLimit) struct EarlyAnswerTests {
    /// How a response ends.
    enum Framing: CaseIterable {
      case length
      case chunked
      /// By the end of the connection, which the server closes in its direction.
      case close

      func answer(_ status: Int) -> String {
        let head = "HTTP/1.1 \(status) Status\r\nX-Early: yes\r\n"
        if status == 204 { return head + "\r\n" }
        return switch self {
        case .length: head + "Content-Length: 12\r\n\r\nanswer early"
        case .chunked:
          head + "Transfer-Encoding: chunked\r\n\r\n7\r\nanswer \r\n5;a=b\r\nearly\r\n0\r\nX-Last: yes\r\n\r\n"
        case .close: head + "Connection: close\r\n\r\nanswer early"
        }
      }
    }

    enum Upload: CaseIterable {
      /// One chunk, followed by silence.
      case silent
      /// The same after a pause, during which the response can end.
      case late
      case large
      /// An endless body with pauses.
      case pausing

      /// Returns a body, and whether its source has been released.
      func body() -> (body: HTTPBody, isGone: @Sendable () -> Bool) {
        switch self {
        case .silent: return UploadPieces.endless()
        case .late: return UploadPieces.endless(after: .milliseconds(60))
        // More than the system buffers for a server that does not read.
        case .large: return (.data(Data(count: 16 << 20)), { true })
        case .pausing:
          return (.stream(UploadPieces(Data(count: 1000), count: .max, pause: .milliseconds(1))), { true })
        }
      }
    }

    private static let settings: ClientSetting = [.timeout(.unlimited), .expectsContinue(false)]

    /// Returns an HTTP/2 server and a client without timeouts.
    private static func pair(_ lane: Lane) async throws -> (HTTP2Server, HTTPClient) {
      let authority = try await CertificateAuthority()
      let client = lane.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        $0.timeout = .unlimited
        $0.redirects = .off
      }
      return (try await HTTP2Server(authority.identity()), client)
    }

    /// Splits a response in the middle of its head, of its body and of its end.
    private static func pieces(_ answer: String) -> [String] {
      let head = answer.range(of: "\r\n\r\n")?.upperBound ?? answer.endIndex
      let body = answer[head...]
      return [
        String(answer[..<head].prefix(20)), String(answer[..<head].dropFirst(20)), String(body.prefix(5)),
        String(body.dropFirst(5).dropLast(3)), String(body.suffix(3)),
      ].filter { !$0.isEmpty }
    }

    @Test(arguments: Lane.engines, Upload.allCases)
    func `an early response is delivered and ends the upload`(_ lane: Lane, _ upload: Upload) async throws {
      let client = lane.client(Self.settings)
      for status in [200, 204, 413] {
        for framing in status == 204 ? [.length] : Framing.allCases {
          for pause in [nil, 0, 5] as [Int?] {
            let server = try SteppedServer()
            let (body, isGone) = upload.body()
            let answer = framing.answer(status)
            async let answered = client.post(server.target, body: body)

            try await server.request()
            // A source that has not been started stays with its owner.
            if upload == .silent { try await server.waitForBytes("begin\r\n") }
            for piece in pause == nil ? [answer] : Self.pieces(answer) {
              try await server.send(piece)
              if let pause { try await Task.sleep(for: .milliseconds(pause)) }
            }
            if framing == .close { server.finish() }

            let name = Comment(rawValue: "\(status), \(framing), \(pause.map(String.init) ?? "at once")")
            let response = try await answered
            #expect(response.status.rawValue == status, name)
            #expect(response.text == (status == 204 ? "" : "answer early"), name)
            // The connection is not reused, and the source is released.
            try await server.waitForEnd()
            #expect(await becomes { isGone() }, name)
          }
        }
      }
    }

    @Test(arguments: Lane.engines, Upload.allCases)
    func `a truncated early response is an error`(_ lane: Lane, _ upload: Upload) async throws {
      let client = lane.client(Self.settings)
      for framing in [Framing.length, .chunked] {
        let answer = framing.answer(200)
        for cut in [1, 3, 11, answer.utf8.count - 20, answer.utf8.count] {
          let server = try SteppedServer()
          async let answered = client.post(server.target, body: upload.body().body)

          try await server.request()
          try await server.send(String(answer.dropLast(cut)))
          try await Task.sleep(for: .milliseconds(5))
          server.finish()

          do {
            let response = try await answered
            Issue.record("\(framing), without \(cut): \(response.text)")
          } catch let error as HTTPError { #expect(error.kind == .connectionLost, "\(framing), without \(cut)") }
          try await server.waitForEnd()
        }
      }
    }

    @Test(arguments: Lane.engines, [Upload.silent, .large])
    func `an early response is delivered even if the server then resets the connection`(_ lane: Lane, _ upload: Upload)
      async throws
    {
      let client = lane.client(Self.settings)
      for number in 0..<Stress.count(12, full: upload == .silent ? 300 : 100) {
        let server = try SteppedServer()
        async let answered = client.post(server.target, body: upload.body().body)

        try await server.request()
        // The response would be lost if the connection were reset just before libcurl writes. Here, libcurl has nothing
        // to write or cannot write.
        if upload == .silent {
          try await server.waitForBytes("begin\r\n")
        } else {
          try await server.waitForFullBuffers()
        }
        let answer = (number % 2 == 0 ? Framing.chunked : .length).answer(200)
        for piece in number % 3 == 0 ? [answer] : Self.pieces(answer) {
          try await server.send(piece)
          if number % 3 == 2 { try await Task.sleep(for: .milliseconds(5)) }
        }
        server.reset()

        do { #expect(try await answered.text == "answer early") } catch { Issue.record("\(number): \(error)") }
      }
    }

    @Test(arguments: Lane.engines)
    func `an incomplete early response does not end the upload`(_ lane: Lane) async throws {
      let server = try SteppedServer()
      let (pieces, source) = AsyncStream.makeStream(of: Data.self)
      source.yield(Data("first".utf8))
      async let answered = lane.client(Self.settings).post(server.target, body: .stream(pieces))

      try await server.request()
      try await server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n")
      try await server.waitForBytes("5\r\nfirst\r\n")
      source.yield(Data("second".utf8))
      try await server.waitForBytes("6\r\nsecond\r\n")
      try await server.send("3\r\nend\r\n0\r\n\r\n")

      #expect(try await answered.text == "beginend")
      try await server.waitForEnd()
    }

    /// The last bytes arrive while libcurl is paused, and libcurl then reads to the end of the body.
    @Test(arguments: Lane.engines, Upload.allCases)
    func `an early response is delivered to a slow reader`(_ lane: Lane, _ upload: Upload) async throws {
      for framing in Framing.allCases {
        for size in [266_000, 270_000, 300_000] {
          let server = try SteppedServer()
          let head = "HTTP/1.1 200 OK\r\n"
          let isSent = Gate()
          let request = HTTPRequest.post(server.target, body: upload.body().body)
          async let count = lane.client(Self.settings).stream(request) { response in
            await isSent.pass()
            try await Task.sleep(for: .milliseconds(20))
            var count = 0
            for try await piece in response.body { count += piece.count }
            return count
          }

          try await server.request()
          switch framing {
          case .length: try await server.send(head + "Content-Length: \(size)\r\n\r\n")
          case .chunked:
            try await server.send(head + "Transfer-Encoding: chunked\r\n\r\n\(String(size, radix: 16))\r\n")
          case .close: try await server.send(head + "\r\n")
          }
          // More than the reader's buffer holds; the rest then arrives together with the end.
          try await server.send(Data(count: 265_000))
          try await Task.sleep(for: .milliseconds(20))
          let end = framing == .chunked ? "\r\n0\r\n\r\n" : ""
          try await server.send(Data(count: size - 265_000) + Data(end.utf8))
          if framing == .close { server.finish() }
          isSent.open()

          #expect(try await count == size)
          try await server.waitForEnd()
        }
      }
    }

    /// libcurl repeats the request without `Expect` only if it can reuse the connection.
    @Test(arguments: Lane.engines)
    func `a 417 response ends an upload that has sent no body bytes`(_ lane: Lane) async throws {
      for close in ["", "Connection: close\r\n"] {
        let server = try SteppedServer()
        let client = lane.client { $0.timeout = .unlimited }
        let (pieces, source) = AsyncStream.makeStream(of: Data.self)
        defer { source.finish() }
        async let status = client.post(
          server.target, headers: ["Expect": "100-continue"], body: .stream(pieces), options: .accepts(.any)
        ).status

        try await server.request()
        try await server.send("HTTP/1.1 100 Continue\r\n\r\n")
        try await Task.sleep(for: .milliseconds(20))
        try await server.send("HTTP/1.1 417 No\r\n\(close)Content-Length: 5\r\n\r\n")
        try await Task.sleep(for: .milliseconds(20))
        try await server.send("early")

        #expect(try await status == .expectationFailed)
      }
    }

    @Test(.needs(.http2), arguments: Lane.engines) func `the connection is reused if the request was sent completely`(
      _ lane: Lane
    )
      async throws
    {
      let server = try MockServer(answering: { _ in .ok("whole") })
      let client = lane.client(Self.settings)

      for size in [1, 100_000, 1] {
        let body = HTTPBody.stream(UploadPieces(Data(count: size), count: 3))
        #expect(try await client.post(RequestTarget(server.url), body: body).text == "whole")
        #expect(try await client.post(RequestTarget(server.url), body: .data(Data(count: size))).text == "whole")
      }

      #expect(server.connectionCount == 1)
    }

    /// Over HTTP/2, only the length shows the end early: libcurl notices the end of the stream after it has sent
    /// everything.
    @Test(
      .needsHTTP2Server, arguments: Lane.engines,
      [
        ["head:200:content-length=5", "data:early"], ["head:200:content-length=5", "wait:5", "last:early"],
        ["end:204"], ["head:413:content-length=5", "wait:5", "data:early"], ["head:413", "wait:5", "last:early"],
        ["head:413", "last:early"], ["head:303", "last:early"],
        // libcurl continues to send if the connection is going to be closed.
        ["goaway:0:0", "head:413", "wait:5", "last:early"], ["goaway:0:0", "head:413", "last:early"],
        ["goaway:0:0", "head:413:content-length=5", "wait:5", "last:early"],
      ])
    func `an early HTTP/2 response ends its stream and keeps the connection`(_ lane: Lane, _ steps: [String])
      async throws
    {
      let (server, client) = try await Self.pair(lane)
      // Without a length, libcurl 7.88 notices the end only if the server's window does not prevent it from sending.
      let isSeenAtOnce = steps.contains { $0.contains("length") || $0 == "end:204" }
      for upload in isSeenAtOnce ? Upload.allCases : [.silent, .late] {
        let body = upload.body().body

        let response = try await client.post(server.target(1, ["early"] + steps), body: body)
        // A request of the kind that may use the same connection.
        let isStream = upload != .large
        let piece = isStream ? HTTPBody.stream(UploadPieces(Data("x".utf8), count: 1)) : nil
        let next = try await client.send(
          HTTPRequest(isStream ? .post : .get, server.target(2, ["head", "last:next"]), body: piece))

        #expect(response.text == (response.status == 204 ? "" : "early"))
        #expect(next.text == "next" && next.connection?.isReused == (steps[0] != "goaway:0:0"))
      }
    }

    /// Returns the body that libcurl may deliver before the reset: only if its stream has ended, and not with 7.88.
    private static func delivered(_ steps: [String]) -> String? {
      let hasEnd = steps.contains { $0.hasPrefix("last:") || $0.hasPrefix("trailer:") }
      guard martlet_curl_version() >= 0x080100, steps.first == "head", hasEnd else { return nil }
      return steps.map { step in
        ["data:", "last:"].first { step.hasPrefix($0) }.map { String(step.dropFirst($0.count)) } ?? ""
      }.joined()
    }

    /// libcurl 7.88 loses the last bytes that arrive with RST_STREAM, so it is unknown whether the body is complete.
    @Test(
      .needsHTTP2Server, arguments: Lane.engines,
      [
        ["head", "last:early", "reset:0"], ["head", "data:ea", "wait:20", "data:rly", "last:", "reset:0"],
        ["head", "data:early", "wait:5", "trailer:a=b", "wait:20", "reset:0"],
        ["head", "data:abc", "wait:5", "reset:8"], ["head", "wait:5", "reset:0"], ["wait:5", "reset:0"],
        ["wait:5", "reset:8"], ["reset:0"],
        ["head:200:content-length=10", "data:early", "wait:5", "reset:0"], ["head:200:content-length=10", "reset:0"],
        ["head:200:content-length=5", "data:ear", "wait:20", "data:ly", "reset:8"],
        // nghttp2 resets these streams, because the length is wrong.
        ["head:200:content-length=10", "last:early"], ["head:200:content-length=5", "data:ear", "data:lyer"],
      ])
    func `an early response is incomplete if its HTTP/2 stream is reset`(
      _ lane: Lane, _ steps: [String]
    ) async throws {
      let (server, client) = try await Self.pair(lane)
      for (number, upload) in Upload.allCases.enumerated() {
        let target = server.target(number, ["early"] + steps)

        let result = await Result { try await client.post(target, body: upload.body().body) }

        if let response = try? result.get() { #expect(response.text == Self.delivered(steps), "\(upload)") }
      }
    }

    /// libcurl 8.14 reports a send error if it finds that the stream has already ended.
    @Test(.needsHTTP2Server, arguments: Lane.engines, [200, 303, 413])
    func `an HTTP/2 response is delivered if the request ends before or after it`(_ lane: Lane, status: Int)
      async throws
    {
      let (server, client) = try await Self.pair(lane)
      for (number, pause) in [0, 20, 200].enumerated() {
        for (index, length) in [nil, 3000 as Int64?].enumerated() {
          let pieces = UploadPieces(Data(count: 1000), count: 3, pause: .milliseconds(pause))
          let target = server.target(number * 2 + index, ["early", "head:\(status)", "wait:20", "last:early"])

          let response = try await client.post(target, body: .stream(pieces, length: length))

          #expect(response.status.rawValue == status && response.text == "early", "\(pause), \(length ?? -1)")
        }
      }
    }

    /// The response arrives with the end of its stream in one turn, and fills libcurl's buffer many times.
    @Test(.needsHTTP2Server, arguments: Lane.engines, ["head:413", "head:413:content-length=300000"])
    func `a large HTTP/2 response is delivered if the request ends before or after it`(_ lane: Lane, head: String)
      async throws
    {
      let (server, client) = try await Self.pair(lane)
      for (number, pause) in [0, 20, 200].enumerated() {
        let pieces = UploadPieces(Data(count: 1000), count: 3, pause: .milliseconds(pause))
        let target = server.target(number, ["early", head, "30*fill:10000", "last:"])

        let response = try await client.post(target, body: .stream(pieces))

        #expect(response.status == .contentTooLarge && response.body.count == 300_000, "\(pause)")
      }
    }

    /// If the stream ends while libcurl is paused, the end is noticed when the reader resumes.
    @Test(.needsHTTP2Server, arguments: Lane.engines)
    func `an early HTTP/2 response reaches a reader that pauses until the request has ended`(_ lane: Lane) async throws
    {
      let (server, client) = try await Self.pair(lane)
      for (number, size) in [10, 260_000, 600_000].enumerated() {
        let pieces = UploadPieces(Data(count: 1000), count: 3, pause: .milliseconds(30))
        let steps = ["early", "head", "\(size / 10)*fill:10", "wait:20", "last:"]
        let request = HTTPRequest.post(server.target(number, steps), body: .stream(pieces))

        let count = try await client.stream(request) { response in
          try await Task.sleep(for: .milliseconds(300))
          var count = 0
          for try await piece in response.body { count += piece.count }
          return count
        }

        #expect(count == size)
      }
    }

    /// The end of the request waits for the reader, which never resumes.
    @Test(.needsHTTP2Server, arguments: Lane.engines, [false, true])
    func `a reader that stops reading an early HTTP/2 response ends the exchange`(_ lane: Lane, isCancelled: Bool)
      async throws
    {
      let (server, client) = try await Self.pair(lane)
      let pieces = UploadPieces(Data(count: 1000), count: 3, pause: .milliseconds(30))
      let target = server.target(1, ["early", "head", "60000*fill:10", "wait:20", "last:"])
      let reading = Task {
        try await client.stream(.post(target, body: .stream(pieces))) { response in
          var iterator = response.body.makeAsyncIterator()
          _ = try await iterator.next()
          try await Task.sleep(for: .milliseconds(300))
        }
      }
      if isCancelled {
        try await Task.sleep(for: .milliseconds(200))
        reading.cancel()
      }

      let result = await reading.result

      #expect(((try? result.get()) == nil) == isCancelled, "\(result)")
      #expect(try await client.get(server.target(2, ["head", "last:next"])).text == "next")
      #expect(await becomes { client.core.entryCount == 0 })
    }

    /// On a connection that other requests use, libcurl would not report the reset.
    @Test(.needsHTTP2Server, arguments: Lane.engines)
    func `an early response is incomplete if its stream is reset while other streams run`(_ lane: Lane) async throws {
      let (server, client) = try await Self.pair(lane)
      let other = client.start(.get(server.target(1, ["head", "data:other"])))
      #expect(await becomes { server.count(of: 1) == 1 })

      let answers = [["head", "data:abc", "wait:5", "reset:0"], ["wait:5", "reset:8"], ["reset:0"]]
      for (number, steps) in answers.enumerated() {
        for upload in [Upload.silent, .late] {
          let target = server.target(number + 2, ["early"] + steps)
          let result = await Result { try await client.post(target, body: upload.body().body) }

          if let response = try? result.get() { #expect(response.text == Self.delivered(steps), "\(steps), \(upload)") }
        }
      }
      other.cancel()
    }

    /// During a silent upload, libcurl does not report that the connection has failed.
    @Test(.needsHTTP2Server, arguments: Lane.engines)
    func `an early response is incomplete if its HTTP/2 connection fails`(_ lane: Lane) async throws {
      let (server, client) = try await Self.pair(lane)
      for (number, fault) in HTTP2CutBodyTests.Fault.all.enumerated() {
        let target = server.target(number, ["early", "head", "data:abc", "wait:20"] + fault.steps)

        for upload in [Upload.silent, .late] {
          let result = await Result { try await client.post(target, body: upload.body().body) }

          if let response = try? result.get() { Issue.record("\(fault.name): \(response.text)") }
        }
      }
    }
  }
#endif
