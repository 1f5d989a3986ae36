#if os(Linux)
  import MartletBase
  import CurlEngine

  extension CurlSharing {
    /// Whose slots an exchange takes.
    func slotVersion(_ route: CurlRoute?, isExclusive: Bool) -> ConnectionLimiter.Version {
      guard route?.sharesConnections ?? true, self != .serial else { return .exclusive }
      if self == .priorKnowledge { return .multiplexed }
      return isExclusive ? .exclusive : .agreed
    }
  }

  extension CurlRequest {
    /// Whether its exchange is to share no connection of HTTP/2: its response is read as it comes, or its body is sent as
    /// it comes.
    ///
    /// Of a connection that others use libcurl does not tell that a stream was reset whose body is silent.
    /// Where a host may have one connection only, all share it: a request that is sent while a response is read would wait
    /// for the end of that.
    func isExclusive(_ context: RequestContext, perHost: Int) -> Bool {
      (context.isStreamed || request.body?.content.mayBeSilent == true) && origin.scheme == "https" && perHost > 1
    }
  }

  extension HTTPBody.Content {
    /// Whether it is made while it is sent.
    fileprivate var mayBeSilent: Bool {
      switch self {
      case .stream, .spool: true
      case .gzip(let content): content.mayBeSilent
      case .pieces(let pieces): pieces.contains { $0.mayBeSilent }
      case .data, .file, .json, .invalid: false
      }
    }
  }
#endif
