#if os(Linux)
  import Foundation
  import FoundationNetworking

  /// What the session of ``CurlSessionTasks`` calls instead of the system's loader.
  ///
  /// The session hears of the start and the end of a task, and of nothing between them: no response whose challenge it
  /// would answer, no header field it would parse, no byte it would copy. All methods run on its work queue.
  final class CurlURLProtocol: URLProtocol {
    /// Whether the session knows the end already.
    private var isEnded = false
    /// Whether the session has cancelled the task, and will end it by itself.
    private var isStopped = false

    override class func canInit(with request: URLRequest) -> Bool { true }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Nothing after the end: a cancellation that was under way then would be reported to it for a task that the session
    /// has forgotten, which ends the process (swift-corelibs-foundation, `TaskRegistry.behaviour(for:)`).
    override var client: (any URLProtocolClient)? {
      get { isEnded ? nil : super.client }
      set { super.client = newValue }
    }

    private var exchange: CurlSessionExchange? { task?.delegate as? CurlSessionExchange }

    /// Called each time the task is resumed: for its start, and when its transfer is over.
    override func startLoading() {
      guard exchange?.isUnderWay != true, !isStopped, !isEnded else { return }
      super.client?.urlProtocolDidFinishLoading(self)
      isEnded = true
    }

    override func stopLoading() {
      // From here on the end is the session's to report, and twice would end the process.
      isStopped = true
      exchange?.stop()
    }
  }
#endif
