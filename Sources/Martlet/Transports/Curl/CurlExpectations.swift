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
    func record(_ origin: Origin) { silent.withLock { $0[origin] = true } }

    func asks(_ origin: Origin, length: Int64?, _ context: RequestContext) -> Bool {
      let call = context.call
      let section = "RFC 9110 §10.1.1"
      func refuses(because reason: Explanation.Reason) -> Bool {
        call.explain(.init("expectation.notSent", "the body does not wait for 100 Continue", because: reason))
        return false
      }
      if let option = call.options.expectsContinue {
        guard option else {
          return refuses(because: Explanation.Reason("option", "the option expectsContinue disables it"))
        }
        let text = "the body waits for 100 Continue, as the option expectsContinue requires"
        call.explain(.init("expectation.sent.option", text, section))
        return true
      }
      guard let length, length > Self.smallBytes, context.handshake == nil else { return false }
      if let idle = call.timeouts.idle, idle < Self.smallestIdleLimit {
        let text = "the idle limit of \(idle.shown) could expire in the meantime"
        return refuses(because: Explanation.Reason("shortIdleLimit", text, section))
      }
      guard silent.withLock({ $0[origin] == nil }) else {
        let text = "the server has ignored or refused Expect: 100-continue before"
        return refuses(because: Explanation.Reason("expectationIgnored", text, section))
      }
      call.explain(
        .init(
          "expectation.sent.largeBody",
          "the body waits for 100 Continue, because it is larger than \(Self.smallBytes) bytes", section))
      return true
    }
  }
#endif
