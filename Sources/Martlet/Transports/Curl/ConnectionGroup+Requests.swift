#if os(Linux)
  import MartletBase
  import CurlEngine

  extension ConnectionGroup {
    func slotVersion(_ route: CurlRoute?, isExclusive: Bool) -> ConnectionLimiter.Version {
      guard route?.sharesConnections ?? true, self != .serial, self != .upgraded else { return .exclusive }
      if self == .priorKnowledge { return .multiplexed }
      return isExclusive ? .exclusive : .agreed
    }
  }

  extension CurlJob {
    /// Whether the exchange must not share an HTTP/2 connection.
    ///
    /// That is so if its response or its request body is streamed. On a shared connection, libcurl does not report the
    /// reset of a stream whose body is silent. If a host may have only one connection, all exchanges share it:
    /// otherwise a request that is sent while a response is read would wait for the end of that response.
    func isExclusive(_ request: HTTPRequest, _ context: RequestContext, perHost: Int) -> Bool {
      isSecure && perHost > 1 && (context.isStreamed || request.body?.content.mayBeSilent == true)
    }
  }

  extension HTTPBody.Content {
    /// Whether the body is produced while it is sent.
    fileprivate var mayBeSilent: Bool {
      switch self {
      case .stream, .spool: true
      case .compressed(let content, _): content.mayBeSilent
      case .pieces(let pieces): pieces.contains { $0.mayBeSilent }
      case .data, .file, .json, .invalid: false
      }
    }
  }
#endif
