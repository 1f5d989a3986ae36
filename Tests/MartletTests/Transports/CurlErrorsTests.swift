#if os(Linux)
  import CMartletShim
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  /// How libcurl's codes and texts are mapped to errors.
  @Suite(.hangLimit) struct CurlErrorsTests {
    struct Row: CustomTestStringConvertible {
      var code: Int32
      var text: String
      var kind: HTTPError.Kind
      var http2Code: UInt32?
      var isStale = false

      var testDescription: String { "\(code) \(text)" }
    }

    private static func ending(_ code: Int32 = 16, _ text: String = "", isReused: Bool = true) -> TransferCompletion {
      TransferCompletion(code: code, text: text, hasConnected: true, isReused: isReused)
    }

    private static func map(_ ending: TransferCompletion) -> HTTPError {
      CurlErrors.map(ending, phase: .waiting)
    }

    private static func reset(_ name: String, _ code: UInt32, _ kind: HTTPError.Kind) -> Row {
      Row(
        code: 92, text: "HTTP/2 stream 3 was not closed cleanly: \(name) (err \(code))", kind: kind, http2Code: code)
    }

    /// RFC 9113 §7.
    @Test(arguments: [
      reset("NO_ERROR", 0, .connectionLost), reset("PROTOCOL_ERROR", 1, .protocolViolation),
      reset("INTERNAL_ERROR", 2, .connectionLost), reset("FLOW_CONTROL_ERROR", 3, .protocolViolation),
      reset("SETTINGS_TIMEOUT", 4, .connectionLost), reset("STREAM_CLOSED", 5, .protocolViolation),
      reset("FRAME_SIZE_ERROR", 6, .protocolViolation), reset("REFUSED_STREAM", 7, .connectionLost),
      reset("CANCEL", 8, .connectionLost), reset("COMPRESSION_ERROR", 9, .protocolViolation),
      reset("CONNECT_ERROR", 10, .connectionLost), reset("ENHANCE_YOUR_CALM", 11, .connectionLost),
      reset("INADEQUATE_SECURITY", 12, .tls), reset("HTTP_1_1_REQUIRED", 13, .unsupported),
      reset("unknown", 4_294_967_295, .connectionLost),
      Row(code: 92, text: "HTTP/2 stream 3 was reset", kind: .connectionLost),
      // libcurl 8.21 and 8.14.
      Row(
        code: 92, text: "HTTP/2 stream 1 reset by server (error 0x1 PROTOCOL_ERROR)", kind: .protocolViolation,
        http2Code: 1),
      Row(
        code: 92, text: "HTTP/2 stream 1 reset by curl (error 0xd HTTP_1_1_REQUIRED)", kind: .unsupported, http2Code: 13
      ),
      Row(code: 92, text: "HTTP/2 stream 1 reset by server (error 0x)", kind: .connectionLost),
      Row(
        code: 92, text: "[HTTP2] [1] received invalid frame: FRAME[HEADERS], error -532: Violation",
        kind: .protocolViolation),
      Row(
        code: 92, text: "Invalid HTTP header field was received: frame type: 1, stream: 1, name: [connection]",
        kind: .protocolViolation),
      Row(code: 16, text: "nghttp2 recv error -902: The user callback", kind: .connectionLost, isStale: true),
      Row(code: 16, text: "nghttp2 recv error -904: Flooding was detected", kind: .protocolViolation),
      Row(code: 16, text: "Send failure: Broken pipe", kind: .connectionLost, isStale: true),
      Row(code: 92, text: "… (err 99999999999999999999)", kind: .connectionLost),
      Row(code: 56, text: "Recv failure: Connection reset by peer", kind: .connectionLost, isStale: true),
      Row(code: 16, text: "", kind: .connectionLost, isStale: true),
    ])
    func `maps a stream reset to an error kind and an HTTP/2 error code`(_ row: Row) {
      let error = Self.map(Self.ending(row.code, row.text))

      #expect(error.kind == row.kind)
      #expect(error.http2ErrorCode == row.http2Code)
      // After a stream reset, the connection is still alive, so there is no reason for an automatic retry.
      #expect(error.mayBeStaleConnection == row.isStale)
      #expect(!error.wasNotProcessed)
    }

    /// Log lines of libcurl 7.88, 8.2 and 8.14.
    @Test(
      arguments: [
        ("recveived GOAWAY, error=0, last_stream=7", 2, 0), ("recveived GOAWAY, error=11, last_stream=0", 2, 11),
        ("received GOAWAY, error=-1, last_stream=2147483647", 2, .max),
        ("received GOAWAY, error=4294967294, last_stream=1", 2, .max - 1),
        ("received GOAWAY, error=-2147483648, last_stream=1", 2, 1 << 31),
        ("received GOAWAY, error=, last_stream=1", 0, 0),
        ("h2h3 [user-agent: GOAWAY, error=0, last_stream=0]", 0, 0), ("[HTTP/2] [31] [:method: POST]", 0, 0),
        ("[HTTP/2] [31] [user-agent: received GOAWAY, error=0, last_stream=0]", 0, 0),
        ("received GOAWAY", 0, 0), ("Downgrades to HTTP/1.1\n", 6, 0),
        ("[HTTP/2] [31] [user-agent: Downgrades to HTTP/1.1]", 0, 0),
      ] as [(String, Int32, UInt32)])
    func `reads stream events from libcurl's log and ignores logged request fields`(
      line: String, kind: Int32, number: UInt32
    ) {
      guard martlet_curl_version() >= 0x075800 else { return }
      var bytes = line.utf8CString
      var found: UInt32 = 0
      let result = bytes.withUnsafeMutableBufferPointer {
        martlet_curl_read_note(0, $0.baseAddress, $0.count - 1, false, &found)
      }

      #expect(result == kind)
      #expect(found == number)
    }

    @Test(arguments: [true, false]) func `a request above the last stream of GOAWAY was not processed`(isReused: Bool) {
      var ending = Self.ending(isReused: isReused)
      ending.isUnprocessed = true

      let error = Self.map(ending)

      #expect(error.kind == .connectionLost)
      #expect(error.wasNotProcessed && error.wasRefusedUnread)
    }

    /// How a GOAWAY affects a request above its last stream ID and a request that may have been processed.
    @Test(
      arguments: [
        (0, .connectionLost, true), (1, .protocolViolation, true), (2, .connectionLost, true),
        (7, .connectionLost, true), (9, .protocolViolation, true), (11, .connectionLost, false), (12, .tls, false),
        (13, .unsupported, false), (14, .connectionLost, true), (.max, .connectionLost, true),
      ] as [(UInt32, HTTPError.Kind, Bool)],
      [(16, ""), (56, "Connection reset by peer"), (42, "")] as [(Int32, String)])
    func `maps a GOAWAY error code to an error kind and retry properties`(
      row: (code: UInt32, kind: HTTPError.Kind, mayBeStale: Bool), end: (code: Int32, text: String)
    ) {
      var ending = Self.ending(end.code, end.text)
      ending.goAwayError = row.code
      ending.wasRepeated = end.code == 42
      let lost = Self.map(ending)
      ending.isUnprocessed = true
      let refused = Self.map(ending)

      for error in [lost, refused] {
        #expect(error.kind == row.kind)
        #expect(error.http2ErrorCode == (row.code == 0 ? nil : row.code))
        #expect(error.mayBeStaleConnection == row.mayBeStale)
      }
      #expect(!lost.wasNotProcessed && refused.wasNotProcessed)
      #expect(refused.wasRefusedUnread == row.mayBeStale && refused.wantsHTTP11 == (row.code == 13))
      #expect(lost.message.hasSuffix("GOAWAY with ENHANCE_YOUR_CALM") == (row.code == 11))
    }

    @Test(
      arguments: [(28, "Operation timed out", .timedOut), (92, "(err 2)", .connectionLost), (60, "", .tls)]
        as [(Int32, String, HTTPError.Kind)])
    func `a GOAWAY error code does not replace another cause`(code: Int32, text: String, kind: HTTPError.Kind) {
      var ending = Self.ending(code, text)
      ending.goAwayError = 1

      let error = Self.map(ending)

      #expect(error.kind == kind && error.http2ErrorCode == (code == 92 ? 2 : nil))
    }

    /// libcurl's own texts for these errors are "Out of memory" and "bad function argument".
    @Test(
      arguments: [
        (27, "", "a response header line exceeds 100 KiB"),
        (100, "", "a response header line exceeds 100 KiB"),
        (43, "", "a response header line has no name"),
        (56, "Out of memory in chunked-encoding", "a response trailer exceeds 4 KiB"),
        (100, "Out of memory in chunked-encoding", "a response trailer exceeds 4 KiB"),
      ] as [(Int32, String, String)])
    func `an error names what is wrong with the response`(code: Int32, text: String, message: String) {
      let error = Self.map(Self.ending(code, text))
      let before = CurlErrors.map(TransferCompletion(code: code, text: text), phase: .connecting)

      #expect(error.kind == .protocolViolation && error.message == message)
      #expect(before.message != message)
    }

    @Test func `libcurl's connect timeout is reported as the call's connect limit`() {
      let error = CurlErrors.map(
        TransferCompletion(code: 28, text: "Failed to connect after 1001 ms"), phase: .connecting,
        connectLimit: .milliseconds(100))

      #expect(error.kind == .timedOut && error.phase == .connecting && !error.mayHaveReachedServer)
      #expect(error.message == "the connect limit of 100.0 ms was exceeded")
    }

    @Test(arguments: [
      (1, "the proxy failed"), (2, "the proxy's rules forbid the connection"), (3, "the network is unreachable"),
      (4, "the host is unreachable"), (5, "the host refused the connection"), (6, "the TTL expired"),
      (7, "the proxy does not support CONNECT"), (8, "the proxy does not support the type of address"), (9, nil),
    ])
    func `the error explains the reply of a SOCKS proxy`(reply: Int, meaning: String?) {
      let text = "Can't complete SOCKS5 connection to a.example. (\(reply))"

      let error = CurlErrors.map(TransferCompletion(code: 97, text: text), phase: .connecting)

      #expect(error.kind == .cannotConnect)
      #expect(error.message == text + (meaning.map { ": \($0)" } ?? ""))
    }

    @Test(arguments: [
      (false, true, "requires credentials; set the proxy's user and password"),
      (true, true, "does not support authentication by user name and password"),
      (true, false, "did not accept the credentials"),
    ])
    func `the error of a SOCKS proxy explains why it refused authentication`(
      hasCredentials: Bool, isOfMethods: Bool, reason: String
    ) {
      var ending = TransferCompletion(code: 97, text: "")
      ending.refusal = CurlRefusal(
        status: nil, isOfCredentials: true, hadCredentials: hasCredentials, isOfMethods: isOfMethods)

      let error = CurlErrors.map(ending, phase: .connecting, proxy: "socks5://p.test:1080")

      #expect(error.kind == .authenticationFailed)
      #expect(error.message == "the proxy socks5://p.test:1080 \(reason)")
    }

    @Test(arguments: [16, 18, 52, 55, 56] as [CInt])
    func `HTTP/1 on an HTTP/2 connection is a protocol violation, whatever libcurl reports`(_ code: CInt) {
      var ending = Self.ending(code, isReused: false)
      ending.gotHTTP1 = true

      let error = Self.map(ending)

      #expect(error.kind == .protocolViolation && !error.isTransient && !error.mayBeStaleConnection)
      #expect(error.message.contains("sent HTTP/1.1: set httpVersion to .http1_1"))
    }

    @Test func `a request refused with HTTP_1_1_REQUIRED is reported as unsupported`() {
      var ending = Self.ending(42, isReused: false)
      ending.wasRepeated = true
      ending.wasRefused = true
      ending.wantsHTTP11 = true

      let error = Self.map(ending)

      #expect(error.kind == .unsupported && error.http2ErrorCode == 13)
      #expect(error.wantsHTTP11 && !error.wasRefusedUnread)
    }
  }
#endif
