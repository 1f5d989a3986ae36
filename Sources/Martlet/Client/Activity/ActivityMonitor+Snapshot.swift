extension ActivityMonitor {
  /// A snapshot of a client's activity.
  public struct Snapshot: Sendable {
    /// A waiting request and the reason.
    public struct Waiting: Sendable {
      /// The request.
      public var request: RequestInfo
      /// The reason for waiting.
      public var reason: RequestEvent.WaitReason
    }

    /// The requests that use the network.
    public var running: [RequestInfo] = []
    /// The requests that wait for something other than the network.
    public var waiting: [Waiting] = []
    /// The names of tracked work that is running.
    public var trackedWork: [String] = []
    /// The mean rate over the last five one-second buckets.
    ///
    /// The current bucket is included.
    public var bytesPerSecond = TransferProgress.Bandwidth()
    /// The totals since the client was created.
    public var totals = Totals()
    /// The status values of attached ``ClientWork``, in no particular order.
    public var work: [any Sendable] = []
    /// The load limits, by name.
    public var loads: [LoadState] = []
    /// The use of the data budget, or `nil` without one.
    public var data: DataState?
    /// The connections and waiting requests by server; with the Linux engine only.
    ///
    /// While the engine is busy, the numbers of connections are as of the previous snapshot.
    public var connections: [ConnectionPool] = []
    /// The number of running and waiting requests, by host.
    public var byHost: [String: Int] = [:]

    /// Whether anything uses the network; waiting requests do not.
    public var isNetworkInUse: Bool { !running.isEmpty || !trackedWork.isEmpty }
  }

  /// Counters since the client was created.
  public struct Totals: Sendable, Hashable {
    /// The number of started calls.
    public var started = 0
    /// The number of calls that ended with an accepted response.
    public var succeeded = 0
    /// The number of calls that ended with an error.
    public var failed = 0
    /// The number of cancelled calls.
    public var cancelled = 0
    /// The number of received body bytes.
    public var bytesReceived: Int64 = 0
    /// The number of sent body bytes.
    public var bytesSent: Int64 = 0
    /// The number of requests that were sent a second time (``HedgingPolicy``).
    public var hedges = 0
    /// The number of second requests whose response was used.
    public var hedgesWon = 0
    /// The number of body bytes in the losing exchanges of hedges.
    public var wastedBytes: Int64 = 0
  }

  /// A call in progress.
  public struct RequestInfo: Sendable, Identifiable {
    /// The number of the call.
    public let id: RequestID
    /// The call that this call repeats, or `nil`.
    public let retryOf: RequestID?
    /// The method.
    public let method: HTTPMethod
    /// The host.
    public let host: String
    /// The URL without credentials, masked by the client's ``HTTPClient/Configuration/redaction``.
    public let redactedURL: String
    /// The endpoint type, or `nil` if the request is not an endpoint's.
    public let endpoint: (any Endpoint.Type)?
    /// The caller's tag.
    public let tag: String?
    /// The number of the current attempt at the current hop, from 1.
    public let attempt: Int
    /// The state of the call.
    public let state: RequestEvent.State
    /// The protocol to which the connection has changed, such as `websocket`, or `nil`.
    public let upgradedProtocol: String?
    /// The bytes transferred so far.
    public let progress: TransferProgress
    /// The time since the call started.
    public let elapsed: Duration

    init(_ call: Call) {
      id = call.id
      retryOf = call.retryOf
      let request = call.currentRequest
      method = request.method
      host = call.first.url.host
      redactedURL = call.settings.configuration.redaction.url(of: request)
      endpoint = call.endpoint
      tag = call.tag
      // An attempt without a following delay is the last one; its response is being read.
      attempt = call.attempts.last.map { $0.delay == nil ? $0.number : $0.number + 1 } ?? 1
      state = call.stage
      upgradedProtocol = call.upgradedProtocol
      progress = call.progress
      elapsed = call.elapsed
    }
  }
}
