import MartletBase

extension HTTPError {
  /// The error of an exchange, according to the known facts about the request and its connection.
  init(
    _ kind: Kind, _ message: String, _ phase: Phase, reached: Bool, isStale: Bool = false,
    underlying: (any Error)? = nil
  ) {
    self.init(kind, message, phase: phase, underlying: underlying)
    mayHaveReachedServer = reached
    mayBeStaleConnection = isStale
  }
}

#if os(Linux)
  import CurlEngine
  import CMartletShim

  /// Maps libcurl's codes to errors.
  enum CurlErrors {
    /// The error for an ending; `proxy` is the name of the proxy.
    static func map(
      _ ending: TransferCompletion, phase: HTTPError.Phase, connectLimit: Duration? = nil, proxy: String? = nil,
      unixSocket: String? = nil
    ) -> HTTPError {
      let (code, text) = (ending.code, ending.text)
      var error = error(ending, phase, connectLimit, proxy)
      // libcurl names the host of the URL, to which it has not connected.
      if let unixSocket, code == 7 { error.message = unixSocketFailure(unixSocket) }
      error.http2ErrorCode = ending.wantsHTTP11 ? HTTPError.http11Required : code == 92 ? http2Code(text) : nil
      if code != 92, ending.goAwayError != 0, error.kind == .connectionLost {
        end(&error, by: ending.goAwayError)
      }
      // ENHANCE_YOUR_CALM, INADEQUATE_SECURITY, HTTP_1_1_REQUIRED: the server does not want another such connection.
      if let code = error.http2ErrorCode, (11...13).contains(code) { error.mayBeStaleConnection = false }
      return error
    }

    private static func error(
      _ ending: TransferCompletion, _ phase: HTTPError.Phase, _ connectLimit: Duration?, _ proxy: String?
    ) -> HTTPError {
      let (code, text) = (ending.code, ending.text)
      if ending.wantsHTTP11 {
        let message = "the server requires HTTP/1.1 for this request: set httpVersion to .http1_1"
        let phase: HTTPError.Phase = ending.hasHead ? .receiving : .waiting
        return HTTPError(.unsupported, message, phase, reached: ending.hasMoved)
      }
      if ending.gotHTTP1 {
        let message = "the server agreed on HTTP/2 by ALPN, but sent HTTP/1.1: set httpVersion to .http1_1"
        return HTTPError(.protocolViolation, message, .waiting, reached: true)
      }
      if ending.wasRepeated && ending.wasRefused || ending.isUnprocessed {
        let message = "the server refused the request unread, and accepts no more on this connection"
        return HTTPError(.connectionLost, message, .waiting, reached: false, isStale: true)
      }
      if ending.wasRepeated {
        // Whatever the second attempt led to, the first one may have arrived.
        return HTTPError(
          .connectionLost, "the connection was closed before a response began", .waiting, reached: !ending.isUnsent,
          isStale: true)
      }
      if let refusal = ending.refusal, !ending.hasConnected {
        let reason = refusal.status.map { "responded to CONNECT with \($0)" } ?? refusalText(refusal)
        let kind: HTTPError.Kind = refusal.isOfCredentials ? .authenticationFailed : .cannotConnect
        return HTTPError(kind, "the proxy \(proxy ?? "") \(reason)", .connecting, reached: false)
      }
      // WRITE_ERROR comes from our own refusal. WEIRD_SERVER_REPLY, OUT_OF_MEMORY and BAD_FUNCTION_ARGUMENT mean lines
      // that libcurl cannot parse.
      if ending.hasProxyAnswer, !ending.hasConnected, [8, 23, 27, 43].contains(code) {
        let message = "the proxy's response to CONNECT is malformed or too large"
        return HTTPError(.cannotConnect, message, .connecting, reached: false)
      }
      // Under load, libcurl's slightly longer limit may expire before ours is checked.
      if code == 28, !ending.hasConnected, let connectLimit {
        return HTTPError(.timedOut, HTTPError.passedLimit("connect", connectLimit), .connecting, reached: false)
      }
      let isNew = !ending.isReused && !ending.hasMoved
      let kind = kind(code, text, hasConnected: ending.hasConnected, isNew: isNew)
      let said =
        cause(ending)
        ?? InvalidInput.printable(text.isEmpty ? String(cString: martlet_easy_error(code)) : text, limit: 300)
      let message = said + (hint(code, text).map { ": \($0)" } ?? "")
      // With TLS 1.3 a server rejects the client certificate after the client has begun to send.
      let isConnected = ending.hasConnected && !(kind == .tls && isNew)
      let phase: HTTPError.Phase =
        if !isConnected { .connecting } else if ending.hasHead { .receiving } else { phase }
      // A reset stream says nothing about its connection.
      return HTTPError(
        kind, message, phase, reached: isConnected && !(ending.isUnsent && kind == .connectionLost),
        isStale: kind == .connectionLost && ending.isReused && !ending.hasMoved && code != 92)
    }

    /// The HTTP/2 error code (RFC 9113 §7) of a stream reset.
    ///
    /// `(err 8)`, since libcurl 8.19 `(error 0x8 CANCEL)`.
    private static func http2Code(_ text: String) -> UInt32? {
      if let start = text.firstRange(of: "(error 0x")?.upperBound {
        return UInt32(text[start...].prefix { $0 != " " && $0 != ")" }, radix: 16)
      }
      guard let start = text.firstRange(of: "(err ")?.upperBound else { return nil }
      return UInt32(text[start...].prefix { $0 != ")" })
    }

    /// Whether libcurl ended an HTTP/2 stream because of malformed input.
    private static func isMalformed(_ text: String) -> Bool {
      text.contains("received invalid frame") || text.contains("Invalid HTTP header field")
    }

    /// Whether an HTTP/2 connection ended because of malformed input, not because it was lost.
    ///
    /// With -902 (NGHTTP2_ERR_CALLBACK_FAILURE) another stream caused it.
    private static func isViolation(_ text: String) -> Bool { text.contains("nghttp2") && !text.contains("-902") }

    /// Adds the error with which the server ended the connection.
    ///
    /// libcurl's own error does not contain it.
    private static func end(_ error: inout HTTPError, by code: UInt32) {
      error.http2ErrorCode = code
      error.kind = kind(ofReset: code)
      let name = code < UInt32(http2Names.count) ? http2Names[Int(code)] : "the error code \(code)"
      error.message += ": GOAWAY with \(name)"
    }

    private static let http2Names = [
      "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
      "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
      "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The kind for a reset stream or an ended connection.
    ///
    /// The kind says whether the same request might succeed later.
    private static func kind(ofReset code: UInt32?) -> HTTPError.Kind {
      switch code {
      // PROTOCOL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED, FRAME_SIZE_ERROR, COMPRESSION_ERROR, by either side.
      case 1, 3, 5, 6, 9: .protocolViolation
      case 12: .tls  // INADEQUATE_SECURITY
      case 13: .unsupported  // HTTP_1_1_REQUIRED
      default: .connectionLost
      }
    }

    /// How a SOCKS proxy rejected credentials, or a request without them.
    private static func refusalText(_ refusal: CurlRefusal) -> String {
      if !refusal.hadCredentials { return "requires credentials; set the proxy's user and password" }
      return refusal.isOfMethods
        ? "does not support authentication by user name and password" : "did not accept the credentials"
    }

    private static func unixSocketFailure(_ path: String) -> String {
      let shown = InvalidInput.printable(path, limit: 300)
      return "the Unix socket '\(shown)' \(unixSocketReason(path))"
    }

    private static func unixSocketReason(_ path: String) -> String {
      if let facts = DiskCalls.targetFacts(path), !facts.isSocket { return "is not a socket" }
      // A connection needs the permission to write, and to search the folders.
      if faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 {
        return "refused the connection: no program listens on it, or its queue is full"
      }
      let failure = DiskCalls.Failure(code: errno)
      return failure.isAbsence ? "does not exist" : "cannot be reached: \(failure.text)"
    }

    /// The replies of a SOCKS proxy that could not connect (RFC 1928 §6), by their numbers.
    private static let replies = [
      1: "the proxy failed", 2: "the proxy's rules forbid the connection", 3: "the network is unreachable",
      4: "the host is unreachable", 5: "the host refused the connection", 6: "the TTL expired",
      7: "the proxy does not support CONNECT", 8: "the proxy does not support the type of address",
    ]

    /// The meaning of `Can't complete SOCKS5 connection to a.example. (4)`.
    private static func reply(_ text: String) -> String? {
      guard text.contains("complete SOCKS5 connection"), text.hasSuffix(")"), let start = text.lastIndex(of: "(") else {
        return nil
      }
      return Int(text[text.index(after: start)...].dropLast()).flatMap { replies[$0] }
    }

    /// The fault of a response, if libcurl's own text blames something else.
    private static func cause(_ ending: TransferCompletion) -> String? {
      guard ending.hasConnected else { return nil }
      if ending.text.hasPrefix("Out of memory in chunked") { return "a response trailer exceeds 4 KiB" }
      return switch ending.code {
      // OUT_OF_MEMORY, and TOO_LARGE since 8.6
      case 27, 100: "a response header line exceeds 100 KiB"
      case 43: "a response header line has no name"
      default: nil
      }
    }

    /// The likely cause of a terse text of libcurl or OpenSSL.
    private static func hint(_ code: CInt, _ text: String) -> String? {
      if let reply = reply(text) { return reply }
      if code == 35, text.contains("wrong version number") || text.contains("unexpected TLS packet") {
        return "the port does not speak TLS; its URL may have to begin with http://"
      }
      guard code == 1, text.contains("HTTP/0.9") else { return nil }
      return "the response has no HTTP status line; the port may require https:// or speak another protocol"
    }

    /// Whether the server rejects this client.
    private static func isRefusal(_ text: String) -> Bool {
      guard let alert = text.firstRange(of: " alert ") else { return false }
      let reason = text[alert.upperBound...]
      return ["certificate", "unknown ca", "access denied", "decrypt error", "handshake failure"]
        .contains { reason.contains($0) }
    }

    private static func kind(_ code: CInt, _ text: String, hasConnected: Bool, isNew: Bool) -> HTTPError.Kind {
      switch code {
      case 3: .invalidRequest  // URL_MALFORMAT
      // FAILED_INIT, NOT_BUILT_IN, UPLOAD_FAILED (chunks for HTTP/1.0), FUNCTION_NOT_FOUND, UNKNOWN_OPTION
      case 2, 4, 25, 41, 48: .unsupported
      // OUT_OF_MEMORY and BAD_FUNCTION_ARGUMENT. After connecting they mean lines that are too long or have no name.
      case 43 where !hasConnected && text.contains("private key"): .tls
      case 27 where !hasConnected, 43 where !hasConnected: .unsupported
      // COULDNT_RESOLVE_PROXY, COULDNT_RESOLVE_HOST, COULDNT_CONNECT, INTERFACE_FAILED, PROXY, NO_CONNECTION_AVAILABLE
      case 5, 6, 7, 45, 97, 89: .cannotConnect
      case 28: .timedOut  // OPERATION_TIMEDOUT
      // SSL_CONNECT_ERROR, PEER_FAILED_VERIFICATION, and other certificate errors
      case 35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 82, 83, 90, 91, 98: .tls
      // HTTP2: the connection has ended, usually with GOAWAY and no text.
      case 16 where isNew && isRefusal(text): .tls
      case 16 where !isViolation(text): hasConnected ? .connectionLost : .cannotConnect
      case 92: isMalformed(text) ? .protocolViolation : kind(ofReset: http2Code(text))  // HTTP2_STREAM
      // PARTIAL_FILE, GOT_NOTHING, SEND_ERROR, RECV_ERROR, SEND_FAIL_REWIND, SSL_SHUTDOWN_FAILED, HTTP3
      case 18, 52, 55, 56, 65, 80, 95:
        // libcurl reports malformed chunks and a rejected client certificate as read errors.
        if code == 56 && text.contains("chunk") {
          .protocolViolation
        } else if hasConnected ? isNew && isRefusal(text) : text.contains(" alert ") {
          .tls
        } else {
          // The failure came before the request, from a proxy or during the TLS handshake.
          hasConnected ? .connectionLost : .cannotConnect
        }
      // UNSUPPORTED_PROTOCOL (HTTP/0.9 or an unknown version), WEIRD_SERVER_REPLY, HTTP2, WRITE_ERROR, OUT_OF_MEMORY,
      // BAD_FUNCTION_ARGUMENT, BAD_CONTENT_ENCODING, FILESIZE_EXCEEDED, TOO_LARGE, and new codes
      default: .protocolViolation
      }
    }
  }
#endif
