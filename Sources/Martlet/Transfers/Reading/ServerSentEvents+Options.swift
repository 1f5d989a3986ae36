extension ServerSentEvents {
  /// Options for a stream of server-sent events and its request.
  public struct Options: TransferOptions, Sendable {
    /// A policy for sending requests again when their connection ends.
    @nonexhaustive public enum Reconnect: Sendable, Hashable {
      /// Sends requests with an idempotent method again (``HTTPMethod/isIdempotent``), such as `GET`.
      ///
      /// A `POST` is not sent again, not even with an `Idempotency-Key` or ``RequestOptions/isIdempotent``. Both are
      /// about retries of a request that failed, whereas a stream that has ended was successful.
      case automatic
      /// Sends every request with a replayable body again, even a `POST`, and even after an end without an error.
      case always
      /// Sends no request again: the events end with the connection.
      case never
    }

    /// The policy for sending the request again; ``Reconnect/automatic`` by default.
    ///
    /// A body that can be read only once is never sent again.
    public var reconnect = Reconnect.automatic

    /// The initial reconnection time; 3 seconds by default, as in browsers.
    ///
    /// The server's `retry` replaces it, from ``minimumDelay`` up to one day.
    public var initialDelay: Duration = .seconds(3)

    /// The shortest reconnection time that a server can set; 1 second by default.
    ///
    /// A smaller `retry` counts as this value. The pauses then grow until a connection has delivered an event and
    /// lasted as long as the pause before it. With zero, a server can demand reconnects without any pause.
    public var minimumDelay: Duration = .seconds(1)

    /// The limit up to which pauses grow; 60 seconds by default.
    ///
    /// A pause doubles for each connection that fails or ends without an event; comments do not count. The part above the
    /// server's `retry` is random.
    public var maximumDelay: Duration = .seconds(60)

    /// The maximum number of consecutive failed reconnects; 10 by default.
    ///
    /// After them, the last error is thrown.
    public var maximumFailures = 10

    /// The maximum number of bytes of an event; 1 MiB by default.
    ///
    /// A larger event throws ``HTTPError/Kind/bodyTooLarge``.
    public var maximumEventBytes = 1 << 20

    /// The identifier from an earlier stream to resume after; empty, the default, for none.
    public var lastEventID = ""

    /// The options of the request, which are directly accessible as well, as in `$0.timeout`.
    public var request = RequestOptions()

    /// The default options.
    public init() {}

    /// Creates options.
    ///
    /// - Parameter configure: Changes the defaults.
    public init(_ configure: (inout Options) -> Void) {
      self.init()
      configure(&self)
    }

    /// Whether a request is sent again.
    func repeats(_ request: HTTPRequest, _ options: RequestOptions) -> Bool {
      switch reconnect {
      case .automatic: request.method.isIdempotent && options.isIdempotent != false && request.isReplayable
      case .always: request.isReplayable
      case .never: false
      }
    }
  }
}
