#if os(Linux)
  import MartletBase

  /// Decides which requests have `Expect: 100-continue` (RFC 9110 §10.1.1).
  ///
  /// libcurl waits for a second. A silent server would cost that second with each request, so it gets the field only
  /// once.
  final class CurlExpectations: Sendable {
    /// The maximum body size without the field, unless requested; libcurl's own number.
    static let smallBytes: Int64 = 1 << 20
    /// The minimum idle limit; below it, the wait itself could count as a silent connection.
    private static let smallestIdleLimit: Duration = .seconds(2)
    static let maximumOrigins = 256

    private let silent = Locked(RecentTable<Origin, Bool>(limit: maximumOrigins))

    var count: Int { silent.withLock { $0.count } }

    /// Remembers a server that did not respond in time, or rejects the field.
    func note(_ origin: Origin) { silent.withLock { $0[origin] = true } }

    func asks(_ origin: Origin, length: Int64?, _ context: RequestContext) -> Bool {
      guard let decision = decision(origin, length: length, context) else { return false }
      context.call.explain(.expectation(decision))
      if case .sent = decision { return true }
      return false
    }

    /// Whether to send the field, or why not; `nil` if there is no reason to.
    private func decision(_ origin: Origin, length: Int64?, _ context: RequestContext) -> Explanation.Expectation? {
      if let wish = context.call.options.expectsContinue { return wish ? .sent(.option) : .notSent(.option) }
      guard let length, length > Self.smallBytes, context.handshake == nil else { return nil }
      if let idle = context.call.timeouts.idle, idle < Self.smallestIdleLimit { return .notSent(.shortIdleLimit(idle)) }
      return silent.withLock { $0[origin] == nil }
        ? .sent(.largeBody(minimum: Self.smallBytes)) : .notSent(.silentServer)
    }
  }
#endif
