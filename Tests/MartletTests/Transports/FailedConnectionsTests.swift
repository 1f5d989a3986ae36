#if os(Linux)
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  @Suite(.hangLimit) struct FailedConnectionsTests {
    /// libcurl's codes for connections, TLS, proxies and bodies, for the engine's own errors, and for a single stream.
    @Test(
      arguments: [
        (0, true, true), (7, false, false), (16, false, false), (18, false, false), (23, false, true),
        (26, false, true), (28, false, false), (35, false, false), (42, false, true), (43, false, false),
        (52, false, false), (55, false, false), (56, false, false), (61, false, false), (63, false, false),
        (65, false, true), (80, false, false), (92, false, true), (95, false, false), (97, false, false),
        (9999, false, false),
      ] as [(Int32, Bool, Bool)])
    func `a connection can be reused after a success, or over HTTP/2 after the end of one stream`(
      code: Int32, serial: Bool, multiplexed: Bool
    ) {
      for isClosed in [false, true] {
        let isReusable = { FailedConnections.isReusable(after: code, isMultiplexed: $0, isStreamClosed: isClosed) }
        #expect(isReusable(false) == serial)
        // SEND_ERROR (55) means that the server had ended the stream.
        #expect(isReusable(true) == (multiplexed || code == 55 && isClosed))
      }
    }

    /// The send fails on a reused connection, on a new one, or when libcurl was about to send the request again.
    @Test(
      arguments: [
        (55, true, false, true), (55, false, false, false), (42, true, true, true), (7, true, true, true),
      ] as [(Int32, Bool, Bool, Bool)], [true, false])
    func `a request without a written byte has not reached the server`(
      row: (code: Int32, isReused: Bool, wasRepeated: Bool, isStale: Bool), isUnsent: Bool
    ) {
      var ending = TransferCompletion(code: row.code, text: "Send failure: Broken pipe", isReused: row.isReused)
      ending.hasConnected = true
      ending.wasRepeated = row.wasRepeated
      ending.isUnsent = isUnsent

      let error = CurlErrors.map(ending, phase: .sending)

      #expect(error.kind == .connectionLost)
      #expect(error.wasNotProcessed == isUnsent)
      #expect(error.wasRefusedUnread == (isUnsent && row.isStale))
    }

    @Test(arguments: [16, 55, 56] as [Int32])
    func `an alert about the client's certificate on a new connection is a TLS error`(code: Int32) {
      var ending = TransferCompletion(
        code: code, text: "Send failure: Broken pipe: the server sent the alert certificate required", isReused: false)
      ending.hasConnected = true

      let error = CurlErrors.map(ending, phase: .sending)

      #expect(error.kind == .tls && !error.isTransient && error.phase == .connecting)
    }
  }
#endif
