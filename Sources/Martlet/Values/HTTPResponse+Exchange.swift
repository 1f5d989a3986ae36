public import Foundation

extension HTTPResponse {
  /// A redirect that was followed.
  public struct Redirect: Sendable, Hashable {
    /// The status that redirected.
    public var status: HTTPStatus
    /// The method before.
    public var method: HTTPMethod
    /// The URL before, without credentials.
    public var from: URL
    /// The URL after, without credentials.
    public var to: URL
  }

  /// An attempt to send a request.
  public struct Attempt: Sendable {
    /// The outcome.
    public enum Outcome: Sendable {
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
    /// The delay before the next attempt, or `nil` if this was the last one.
    public var delay: Duration?
    /// Why another attempt that the ``RetryPolicy`` asked for was not made; `nil` if it did not ask.
    public var retryRefusal: RetryRefusal?

    /// Why a request was not repeated, although its ``RetryPolicy`` asked for it.
    public enum RetryRefusal: Sendable, Hashable, CustomStringConvertible {
      /// The body can be sent only once (``HTTPBody/isReplayable``).
      case bodyNotReplayable
      /// The method is not idempotent, and the request may have reached the server.
      case notIdempotent(HTTPMethod)
      /// The delay would have outlasted ``TimeoutPolicy/total``.
      case exceedsTotalLimit(delay: Duration, limit: Duration)
      /// The retry budget of the client is used up: too large a share of its requests were repetitions.
      case budgetExhausted

      /// One line, with the cure where there is one.
      public var description: String {
        switch self {
        case .bodyNotReplayable: "the body can be sent only once; HTTPBody.spooled keeps a copy"
        case .notIdempotent(let method):
          "\(method) is not idempotent and may have reached the server; if it may be sent twice, "
            + "set an Idempotency-Key field or RequestOptions.isIdempotent"
        case .exceedsTotalLimit(let delay, let limit):
          "a delay of \(HTTPError.text(delay)) would pass the total limit of \(HTTPError.text(limit))"
        case .budgetExhausted: "the retry budget of the client is used up"
        }
      }
    }
  }

  /// The duration of each phase of a call.
  ///
  /// Measured with the client's clock, which never jumps. A phase that the transport cannot see is `nil`.
  public struct Timing: Sendable, Hashable {
    /// The time spent waiting for a connection slot.
    public var queued: Duration = .zero
    /// The time of the name lookup.
    public var nameLookup: Duration?
    /// The time to connect, the name lookup included.
    public var connect: Duration?
    /// The time of the TLS handshake.
    public var tls: Duration?
    /// The time until the whole request was sent.
    public var sent: Duration?
    /// The time from the start of the last attempt until its response head was there.
    public var firstByte: Duration?
    /// The time from the start of the call to its end: every attempt, pause and redirect.
    public var total: Duration = .zero

    /// A timing with nothing measured.
    public init() {}
  }

  /// The connection of a response.
  public struct Connection: Sendable, Hashable {
    /// The IP address connected to, without brackets: of a proxy, if there was one; `nil` for a unix socket.
    public var remoteAddress: String?
    /// The port connected to, or `nil` for a unix socket.
    public var remotePort: Int?
    /// The local IP address.
    public var localAddress: String?
    /// The local port.
    public var localPort: Int?
    /// Whether it had served an exchange before, or serves others at the same time (HTTP/2).
    public var isReused: Bool

    /// Makes one, for stubs and tests.
    ///
    /// - Parameters:
    ///   - remoteAddress: The address connected to.
    ///   - remotePort: The port connected to.
    ///   - localAddress: The own address.
    ///   - localPort: The own port.
    ///   - isReused: Whether it had served before.
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
