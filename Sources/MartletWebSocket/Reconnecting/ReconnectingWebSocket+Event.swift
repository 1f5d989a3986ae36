import Martlet
import MartletBase

extension ReconnectingWebSocket {
  /// An event of a WebSocket that reconnects.
  @frozen public enum Event: Sendable {
    /// A connection is open and resumed.
    case opened(WebSocket)
    /// A message from the server.
    case message(WebSocket.Message)
    /// A connection was lost or closed by the server, or a reconnect has failed.
    case interrupted(Interruption)
  }

  /// The time from the end of a connection, or from a failed reconnect, to the next reconnect.
  ///
  /// Messages that the server sends meanwhile are lost, unless the server repeats them after `resume` has named the last
  /// received one. A message whose bytes have not all arrived is also lost.
  public struct Interruption: Sendable {
    /// The reason.
    public let cause: Cause
    /// The number of consecutive failed reconnects; 0 after the end of a connection.
    public let failures: Int
    /// The number of messages that the server may not have received.
    ///
    /// These were sent on the connection, even by `resume`, and no pong has confirmed them
    /// (``WebSocket/unconfirmedCount``). The server may nevertheless have received some or all of them, so sending them
    /// again can duplicate them. 0 after a reconnect that has opened no connection.
    public let unconfirmedCount: Int
    /// The delay before the next reconnect, or `nil` if there is none.
    public let delay: Duration?
  }

  /// The reason for an interruption.
  @nonexhaustive public enum Cause: Sendable {
    /// The server has closed the WebSocket.
    case closed(WebSocketCloseCode, reason: String)
    /// The connection was lost, the handshake was refused, or `prepare` or `resume` has thrown.
    case failed(any Error)

    /// Whether another connection might succeed and last.
    ///
    /// True for the codes 1001 (going away), 1006 (no close frame), 1011 (internal server error), 1012 (restart),
    /// 1013 (try again later) and 1014 (bad gateway), and for errors with `HTTPError.isTransient` or a 5xx status.
    public var isTransient: Bool {
      switch self {
      case .closed(let code, _):
        [.goingAway, .abnormalClosure, .internalServerError, .serviceRestart, .tryAgainLater, .badGateway]
          .contains(code)
      case .failed(let error as HTTPError):
        error.deadline == nil && (error.isTransient || error.status?.isServerError == true)
      case .failed: false
      }
    }
  }
}

extension ReconnectingWebSocket.Cause: CustomStringConvertible {
  /// The close code and the reason, or the error, on one line.
  public var description: String {
    switch self {
    case .closed(let code, let reason): WebSocketState.Closure(code: code, reason: reason).sentence
    case .failed(let error): "\(error)"
    }
  }
}
