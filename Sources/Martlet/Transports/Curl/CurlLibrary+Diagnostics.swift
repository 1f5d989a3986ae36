#if os(Linux)
  import CurlEngine
  import CMartletShim

  extension CurlLibrary {
    /// Throws if the process is exiting; then no other loader is tried.
    static func check() throws { if isExiting { throw refusal } }

    /// The error of a transfer that cannot begin.
    static var refusal: HTTPError {
      isExiting
        ? HTTPError(.clientClosed, "the process is exiting", phase: .queued)
        : HTTPError(.cannotConnect, "no memory or no file descriptors are left for a transfer", phase: .queued)
    }

    /// Why libcurl does not support a connection-based scheme, or `nil`.
    static func handshakeProblem(
      _ scheme: AuthenticationScheme, features: CInt = martlet_curl_features()
    ) -> String? {
      // CURL_VERSION_NTLM, CURL_VERSION_SPNEGO
      let isKnown = features & (scheme == .ntlm ? 1 << 4 : 1 << 8) != 0
      return isKnown ? nil : "the system's libcurl \(version ?? "") was built without \(scheme)"
    }

    /// Diagnostics about libcurl; `problem` is why it cannot be used.
    static func diagnostics(_ loader: HTTPClient.Diagnostics.Loader, problem: String?) -> HTTPClient.Diagnostics {
      var facts = HTTPClient.Diagnostics(loader: loader, engineProblem: problem)
      facts.descriptorLimit = Int(martlet_descriptor_limit())
      facts.contentCodings = ContentCoding.usable.map(\.name)
      guard problem == nil else { return facts }
      facts.libcurl = version
      facts.libcurlPath = martlet_curl_path().map { String(cString: $0) }
      facts.tlsLibrary = martlet_curl_tls_name().map { String(cString: $0) }
      facts.httpVersions = ["1.0", "1.1"] + (martlet_curl_has_http2() ? ["2"] : []) + (hasHTTP3 ? ["3"] : [])
      facts.handshakes = [.ntlm, .negotiate].filter { handshakeProblem($0) == nil }
      facts.roots = (martlet_curl_ca_file() ?? martlet_curl_ca_folder()).map { String(cString: $0) }
      facts.warnings = warnings
      return facts
    }

    private static var warnings: [String] {
      let number = martlet_curl_version()
      let known: [(isKnown: Bool, text: String)] = [
        (
          !martlet_curl_has_http2() && martlet_curl_is_built_with_http2(),
          "HTTP/2 needs 7.88, but not 8.5.0, and shared OpenSSL and nghttp2: truncated bodies could look complete"
        ),
        (!worksOnAnyThread, "before 7.88, requests are sent by the engine's thread only, which takes a little longer"),
        (number < 0x075700, "before 7.87, the root certificates are read for each new TLS connection"),
        (needsGuard, "7.83 to 8.1.0 may write to freed memory after a folded first field: such a response is refused"),
        (number < 0x080300, "before 8.3, a truncated chunked body may look complete: the engine checks for its end"),
        (
          hidesBrokenConnections,
          "7.88 to 8.0 hides broken HTTP/2 connections: a response without its end is refused"
        ),
        (repeatsUploads, "7.88 to 8.0 may send bytes over HTTP/2 twice: it receives 16 KiB at a time"),
        (reusesNoClearHTTP2, "7.88 cannot reuse an HTTP/2 connection without TLS: each serves one request"),
        (readsWhilePaused, "8.5.0 keeps reading paused responses; the engine ignores their sockets until they resume"),
        (
          martlet_curl_no_ca_path() != nil,
          "since 8.21, the root certificates are read for each new TLS connection"
        ),
        (
          (0x080600..<0x080e00).contains(number),
          "8.6 to 8.13 may not notice that an HTTP/2 connection broke while the server keeps it open: set a time limit"
        ),
        (number == 0x080500, "8.5.0 sends only part of a request head larger than 128 KiB"),
        (
          !tellsBeforeSending, "before 7.80, a request that must not be sent twice gets a new connection"
        ),
        (!martlet_curl_is_built_with_http2(), "it was built without HTTP/2"),
      ]
      return known.filter(\.isKnown).map(\.text)
    }
  }
#endif
