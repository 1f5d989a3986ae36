extension ActivityMonitor {
  /// What a client is doing at one moment.
  public struct Snapshot: Sendable {
    /// A request that waits, and why.
    public struct Waiting: Sendable {
      /// The request.
      public var request: RequestInfo
      /// Why it waits.
      public var reason: RequestEvent.WaitReason
    }

    /// The requests that use the network.
    public var running: [RequestInfo] = []
    /// The requests that wait for something else than the network.
    public var waiting: [Waiting] = []
    /// The names of the foreign work that was adopted and runs.
    public var adopted: [String] = []
    /// The mean rate over the last five one-second buckets, the current one included.
    public var bytesPerSecond = Bandwidth()
    /// What happened since the client was made.
    public var totals = Totals()
    /// How full the client's outboxes are, all together.
    public var outbox = Outbox.Status()
    /// The number of requests under way, running and waiting, by host.
    public var byHost: [String: Int] = [:]

    /// Whether anything uses the network now; what only waits does not.
    public var isNetworkInUse: Bool { !running.isEmpty || !adopted.isEmpty }
  }

  /// A rate in both directions, in body bytes per second.
  public struct Bandwidth: Sendable, Hashable {
    /// Received.
    public var received = 0.0
    /// Sent.
    public var sent = 0.0
  }

  /// Counts since the client was made.
  public struct Totals: Sendable, Hashable {
    /// The calls started.
    public var started = 0
    /// The calls that ended with an accepted response.
    public var succeeded = 0
    /// The calls that ended with an error.
    public var failed = 0
    /// The calls that were cancelled.
    public var cancelled = 0
    /// The body bytes received.
    public var bytesReceived: Int64 = 0
    /// The body bytes sent.
    public var bytesSent: Int64 = 0
  }

  /// What can be told of one call that is under way.
  public struct RequestInfo: Sendable, Identifiable {
    /// The number of the call.
    public let id: RequestID
    /// The call that it repeats, if any.
    public let retryOf: RequestID?
    /// The method.
    public let method: HTTPMethod
    /// The host.
    public let host: String
    /// The URL without credentials, masked as the client's ``HTTPClient/Configuration/redaction`` says.
    public let redactedURL: String
    /// The endpoint type, if it was sent as one.
    public let endpoint: (any Endpoint.Type)?
    /// The caller's tag.
    public let tag: String?
    /// The number of the current attempt at the current hop, from 1.
    public let attempt: Int
    /// How far it is.
    public let state: CallState
    /// How much has moved.
    public let progress: TransferProgress
    /// The time since its start.
    public let elapsed: Duration

    init(_ call: Call) {
      id = call.id
      retryOf = call.retryOf
      let request = call.currentRequest
      method = request.method
      host = call.host
      redactedURL = call.settings.configuration.redaction.url(of: request)
      endpoint = call.endpoint
      tag = call.tag
      // An attempt without a pause after it is the last one, whose response is being read.
      attempt = call.attempts.last.map { $0.pause == nil ? $0.number : $0.number + 1 } ?? 1
      state = call.stage
      progress = call.progress
      elapsed = call.elapsed
    }
  }
}
