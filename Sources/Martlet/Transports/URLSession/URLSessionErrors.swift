#if canImport(Darwin) || URLSession
  import Foundation

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// Maps the errors of a session.
  ///
  /// On Linux most of them have the code -1, and only libcurl's text distinguishes them.
  enum URLSessionErrors {
    private static let codes: [URLError.Code: HTTPError.Kind] = [
      .cannotConnectToHost: .cannotConnect, .cannotFindHost: .cannotConnect, .dnsLookupFailed: .cannotConnect,
      .notConnectedToInternet: .cannotConnect, .internationalRoamingOff: .cannotConnect,
      .dataNotAllowed: .cannotConnect,
      .callIsActive: .cannotConnect, .networkConnectionLost: .connectionLost, .cancelled: .connectionLost,
      .timedOut: .timedOut, .secureConnectionFailed: .tls, .serverCertificateHasBadDate: .tls,
      .serverCertificateUntrusted: .tls, .serverCertificateHasUnknownRoot: .tls, .serverCertificateNotYetValid: .tls,
      .clientCertificateRejected: .tls, .clientCertificateRequired: .tls, .badURL: .unsupported,
      .dataLengthExceedsMaximum: .unsupported,
      // On Apple's platforms: App Transport Security does not allow http; a body would have to be read again.
      .appTransportSecurityRequiresSecureConnection: .unsupported, .requestBodyStreamExhausted: .connectionLost,
    ]

    /// Parts of libcurl's texts; the first match decides.
    private static let texts: [(String, HTTPError.Kind)] = [
      ("Empty reply", .connectionLost), ("CONNECT tunnel", .cannotConnect), ("proxy CONNECT", .cannotConnect),
      ("Failed to connect", .cannotConnect), ("Couldn't connect", .cannotConnect),
      ("Could not resolve", .cannotConnect),
      ("Couldn't resolve", .cannotConnect), ("Connection refused", .cannotConnect), ("unreachable", .cannotConnect),
      ("resolve host", .cannotConnect),
      // libcurl reports a rejected client certificate as a read error.
      (" alert ", .tls), ("certificate", .tls),
      ("SSL_read", .connectionLost), ("SSL_write", .connectionLost), ("SSL", .tls), ("TLS", .tls), ("handshake", .tls),
      ("transfer closed", .connectionLost), ("Recv failure", .connectionLost), ("Send failure", .connectionLost),
      ("reset by peer", .connectionLost), ("Broken pipe", .connectionLost), ("connection closed", .connectionLost),
      ("closed connection", .connectionLost), ("not closed cleanly", .connectionLost), ("rewind", .connectionLost),
      ("REFUSED_STREAM", .connectionLost), ("bytes missing", .connectionLost), ("bytes remaining", .connectionLost),
      ("aborted by callback", .connectionLost), ("Connection died", .connectionLost),
      ("timed out", .timedOut), ("Timeout was reached", .timedOut),
    ]

    /// The error for a failed task.
    ///
    /// `phase` is the last known phase. `hasHead` says whether the head of the response was delivered, `hasMoved`
    /// whether any bytes of a response arrived, and `upload` is the problem of the request body.
    static func map(
      _ error: any Error, phase: HTTPError.Phase, hasHead: Bool, hasMoved: Bool, upload: UploadSource.Problem?
    ) -> HTTPError {
      switch upload {
      case .file(let message): return made(.fileFailed, message, .sending, error, isStale: false, isSent: true)
      case .repetition where !hasHead:
        let message = "the server closed the connection before a response began; the request must not be sent twice"
        return made(.connectionLost, message, .waiting, error, isStale: true, isSent: true)
      case .repetition, nil: break
      }
      // A network that goes away later is reported with the code of one that was never there.
      let isSent = hasHead || hasMoved || [.sending, .waiting, .receiving].contains(phase)
      guard let error = error as? URLError else {
        let message = InvalidInput.printable(String(describing: error), limit: 300)
        let kind = kind(of: error as NSError)
        return made(
          kind, message, hasHead ? .receiving : phase, error, isStale: kind == .connectionLost && !hasMoved,
          isSent: isSent)
      }
      let text = error.userInfo[NSLocalizedDescriptionKey] as? String ?? ""
      let kind = kind(error.code, text)
      let message = text.isEmpty ? "URLError \(error.code.rawValue)" : InvalidInput.printable(text, limit: 300)
      let shown: HTTPError.Phase =
        switch kind {
        case .cannotConnect where !isSent, .tls where !isSent: .connecting
        case _ where hasHead: .receiving
        // There was a connection, although the loader does not report when it was made.
        case .connectionLost where phase == .connecting: .waiting
        default: phase
        }
      return made(kind, message, shown, error, isStale: kind == .connectionLost && !hasMoved, isSent: isSent)
    }

    /// The kind of an error of the connection, which WebSocket tasks report as it is.
    static func kind(of error: NSError) -> HTTPError.Kind {
      if error.domain == "kCFErrorDomainCFNetwork" { return proxyKind(error.code) ?? .protocolViolation }
      guard error.domain == NSPOSIXErrorDomain else { return .protocolViolation }
      switch POSIXErrorCode(rawValue: Int32(truncatingIfNeeded: error.code)) {
      case .EMSGSIZE: return .bodyTooLarge
      case .ETIMEDOUT: return .timedOut
      case .ENOTCONN, .ECONNRESET, .ECONNABORTED, .EPIPE, .ECANCELED, .ENETDOWN, .ENETUNREACH, .ENETRESET:
        return .connectionLost
      default: return .protocolViolation
      }
    }

    /// The kind of CFNetwork's error codes about proxies, on Apple's platforms.
    private static func proxyKind(_ code: Int) -> HTTPError.Kind? {
      switch code {
      // kCFSOCKS5ErrorBadCredentials, kCFErrorHTTPBadProxyCredentials
      case 122, 307: .authenticationFailed
      // Other errors of SOCKS proxies; kCFErrorHTTPProxyConnectionFailure to the last one about proxies.
      case 100...124, 306...311: .cannotConnect
      default: nil
      }
    }

    static func kind(_ code: URLError.Code, _ text: String) -> HTTPError.Kind {
      if code == .unsupportedURL, text.contains("WebSockets not supported") { return .unsupported }
      if code == .unknown || code == .badServerResponse {
        if let known = texts.first(where: { text.contains($0.0) }) { return known.1 }
      }
      // Also `unsupportedURL`: the request's scheme was checked, so it is about the server: HTTP/0.9, or not HTTP.
      return codes[code] ?? .protocolViolation
    }

    private static func made(
      _ kind: HTTPError.Kind, _ message: String, _ phase: HTTPError.Phase, _ error: any Error, isStale: Bool,
      isSent: Bool
    ) -> HTTPError {
      let isEarly: [HTTPError.Kind] = [.cannotConnect, .tls, .unsupported, .authenticationFailed]
      let reached = isSent || !isEarly.contains(kind)
      return HTTPError(kind, message, phase, reached: reached, isStale: isStale, underlying: error)
    }
  }
#endif
