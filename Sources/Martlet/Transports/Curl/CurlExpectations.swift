#if os(Linux)
  import MartletBase

  /// Which requests ask for leave to send their bodies (RFC 9110 §10.1.1), and which servers are not worth asking.
  ///
  /// libcurl waits for a second. A server that says nothing costs that second with each request: it is asked once.
  final class CurlExpectations: Sendable {
    /// Up to how many bytes are sent without asking, unless that is wanted; libcurl's own number.
    static let smallBytes: Int64 = 1 << 20
    /// Less than this, and the wait itself could be taken for a silent connection.
    private static let smallestIdleLimit: Duration = .seconds(2)
    /// How many servers are remembered.
    static let maximumOrigins = 256

    private let silent = Locked(RecentTable<Origin, Bool>(limit: maximumOrigins))

    /// How many servers are remembered now.
    var count: Int { silent.withLock { $0.count } }

    /// Remembers a server that gave no leave in time, or does not want to be asked.
    func note(_ origin: Origin) { silent.withLock { $0[origin] = true } }

    func asks(_ origin: Origin, length: Int64?, _ context: RequestContext) -> Bool {
      if let wish = context.call.options.expectsContinue { return wish }
      guard let length, length > Self.smallBytes, context.handshake == nil else { return false }
      if let idle = context.call.timeouts.idle, idle < Self.smallestIdleLimit { return false }
      return silent.withLock { $0[origin] == nil }
    }
  }
#endif
