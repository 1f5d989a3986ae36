public import MartletBase

extension HTTPResponse {
  /// A redirect that was followed.
  public struct Redirect: Sendable, Hashable {
    /// The status of the redirecting response.
    public var status: HTTPStatus
    /// The method of the redirected request.
    public var method: HTTPMethod
    /// The URL of the redirected request, without credentials.
    public var from: URL
    /// The URL that it was redirected to, without credentials.
    public var to: URL
  }

  /// An attempt to send a request.
  public struct Attempt: Sendable {
    /// The outcome.
    @nonexhaustive public enum Outcome: Sendable {
      /// A response with this status.
      case status(HTTPStatus)
      /// No response: the kind and a one-line reason.
      case failure(HTTPError.Kind, String)
    }

    /// Its number, from 1.
    public var number: Int
    /// The outcome.
    public var outcome: Outcome
    /// The time from its start to its end.
    public var duration: Duration
    /// The scheme, host and port of the cluster's server, such as `https://a.test:443`; `nil` without a cluster.
    public var server: String?
    /// The delay before the next attempt, or `nil` if this was the last one.
    public var delay: Duration?
    /// Why the next attempt was not made, although the ``RetryPolicy`` requested it; otherwise `nil`.
    public var retryRefusal: RetryRefusal?

    /// A reason to refuse an attempt that the ``RetryPolicy`` requests.
    @nonexhaustive public indirect enum RetryRefusal: Sendable, Hashable, CustomStringConvertible {
      /// The body can be sent only once (``HTTPBody/isReplayable``).
      case bodyNotReplayable
      /// The method is not idempotent, and the request may have reached the server.
      case notIdempotent(HTTPMethod)
      /// The delay would have exceeded ``TimeoutPolicy/total``.
      case exceedsTotalLimit(delay: Duration, limit: Duration)
      /// The delay would have lasted until the ``Deadline``.
      case exceedsDeadline(delay: Duration, remaining: Duration)
      /// The client's retry budget is exhausted: too large a share of its requests were retries.
      case budgetExhausted

      /// A one-line description, with a remedy if there is one.
      public var description: String { wording.text }
    }
  }

  /// A response before the final one, such as 103 (RFC 9110 §15.2).
  public struct Informational: Sendable, Hashable {
    /// The status, below 200.
    public let status: HTTPStatus
    /// The header fields, such as `Link` of a 103 (RFC 8297); their description is masked.
    public let headers: HTTPHeaders

    /// Creates an informational response, for tests.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - headers: The header fields.
    public init(status: HTTPStatus, headers: HTTPHeaders) {
      self.status = status
      self.headers = headers
    }
  }

  /// The duration of each phase of a call.
  ///
  /// Measured with the client's monotonic clock. A phase that the transport cannot observe is `nil`.
  public struct Timing: Sendable, Hashable {
    /// The time spent waiting for a connection slot.
    public var queued: Duration = .zero
    /// The time of the name lookup.
    public var nameLookup: Duration?
    /// The time to connect, including the name lookup.
    public var connect: Duration?
    /// The time of the TLS handshake.
    public var tls: Duration?
    /// The time until the whole request was sent.
    public var sent: Duration?
    /// The time from the start of the last attempt to the arrival of the response head.
    public var firstByte: Duration?
    /// The time from the start of the call to its end, including all attempts, pauses and redirects.
    public var total: Duration = .zero

    /// Creates a timing without measurements.
    public init() {}
  }

  /// The connection of a response.
  public struct Connection: Sendable, Hashable {
    /// The remote IP address without brackets, or `nil` for a Unix domain socket; with a proxy, the proxy's address.
    public var remoteAddress: String?
    /// The remote port, or `nil` for a Unix domain socket.
    public var remotePort: Int?
    /// The local IP address.
    public var localAddress: String?
    /// The local port.
    public var localPort: Int?
    /// Whether the connection had served another exchange, or serves several at the same time (HTTP/2).
    public var isReused: Bool

    /// Creates a connection, for stubs and tests.
    ///
    /// - Parameters:
    ///   - remoteAddress: The remote IP address.
    ///   - remotePort: The remote port.
    ///   - localAddress: The local IP address.
    ///   - localPort: The local port.
    ///   - isReused: Whether the connection had served another exchange.
    public init(
      remoteAddress: String? = nil, remotePort: Int? = nil, localAddress: String? = nil, localPort: Int? = nil,
      isReused: Bool = false
    ) {
      self.remoteAddress = remoteAddress
      self.remotePort = remotePort
      self.localAddress = localAddress
      self.localPort = localPort
      self.isReused = isReused
    }
  }
}
