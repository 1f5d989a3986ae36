#if canImport(Darwin) || URLSession
  #if os(Linux)
    import Foundation
    import FoundationNetworking

    /// Replaces the system's loader for the session of ``CurlSessionTasks``.
    ///
    /// The session is notified only of the start and the end of a task. It gets no response with a challenge to answer,
    /// no header field to parse and no bytes to copy. All methods run on its work queue.
    final class CurlURLProtocol: URLProtocol {
      /// Whether the session has been notified of the end.
      private var isEnded = false
      /// Whether the session has cancelled the task and will end it.
      private var isStopped = false

      override class func canInit(with request: URLRequest) -> Bool { true }

      override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

      /// The client until the end.
      ///
      /// After that, a pending cancellation would be reported for a task that the session has forgotten, which crashes
      /// the process (swift-corelibs-foundation, `TaskRegistry.behaviour(for:)`).
      override var client: (any URLProtocolClient)? {
        get { isEnded ? nil : super.client }
        set { super.client = newValue }
      }

      private var exchange: CurlSessionExchange? { task?.delegate as? CurlSessionExchange }

      /// Called each time the task is resumed: at its start, and when its transfer is over.
      override func startLoading() {
        guard exchange?.isUnderWay != true, !isStopped, !isEnded else { return }
        super.client?.urlProtocolDidFinishLoading(self)
        isEnded = true
      }

      override func stopLoading() {
        // From now on the session reports the end. A second report would crash the process.
        isStopped = true
        exchange?.stop()
      }
    }
  #endif
#endif
