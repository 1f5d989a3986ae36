extension ServerSentEvents {
  /// Options for a stream of server-sent events, and for its request.
  @dynamicMemberLookup
  public struct Options: Sendable {
    /// Which requests are sent again when their connection ends.
    public enum Reconnect: Sendable, Hashable {
      /// Those that may be sent twice: idempotent ones (``HTTPRequest/isIdempotent``), such as `GET`.
      case automatic
      /// All whose body can be sent again, also a `POST`.
      case always
      /// None: the events end with the connection.
      case never
    }

    /// Which requests are sent again when their connection ends; ``Reconnect/automatic`` by default.
    ///
    /// A body that can be read only once is never sent again.
    public var reconnect = Reconnect.automatic

    /// The pause before a reconnect as long as the server says nothing of it; 3 seconds by default, as in browsers.
    ///
    /// The server's `retry` replaces it, from ``minimumDelay`` up to a day.
    public var initialDelay: Duration = .seconds(3)

    /// The shortest pause that a server can ask for; 1 second by default.
    ///
    /// A `retry` below it counts as this long, and the pauses grow until a connection has lasted as long as the pause
    /// before it and brought an event. With zero a server may have requests without any pause.
    public var minimumDelay: Duration = .seconds(1)

    /// Up to where the pause grows while no connection lasts; 60 seconds by default.
    ///
    /// It doubles for each connection that fails, or that ends sooner than the pause before it and without a line.
    /// What is above the server's `retry` is random.
    public var maximumDelay: Duration = .seconds(60)

    /// How many reconnects may fail one after the other; 10 by default.
    ///
    /// The error of the last one is thrown then.
    public var maximumFailures = 10

    /// The most bytes of an event; 1 MiB by default.
    ///
    /// A larger one throws ``HTTPError/Kind/bodyTooLarge``.
    public var maximumEventBytes = 1 << 20

    /// The identifier to go on after, from an earlier stream; empty, the default, for none.
    public var lastEventID = ""

    /// The options of the request; its fields can be written here as well, as in `$0.timeout`.
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

    /// A field of ``request``.
    public subscript<Value>(dynamicMember field: WritableKeyPath<RequestOptions, Value>) -> Value {
      get { request[keyPath: field] }
      set { request[keyPath: field] = newValue }
    }

    /// Whether a request is sent again.
    func repeats(_ request: HTTPRequest, _ options: RequestOptions) -> Bool {
      switch reconnect {
      case .automatic: (options.isIdempotent ?? request.isIdempotent) && request.isReplayable
      case .always: request.isReplayable
      case .never: false
      }
    }
  }
}
