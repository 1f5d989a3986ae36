package import MartletBase

/// Who hears how a transfer gets on, on any thread, and mostly under the lock of the loop: it must neither wait nor run
/// anybody's code.
package protocol CurlSink: AnyObject, Sendable {
  func reached(_ step: CurlStep)
  /// The reader, the source of the body or a limit of bandwidth is what is waited for, or the network again.
  func setPaused(_ isPaused: Bool)
  /// Bytes of the request body were handed over.
  func didSend(_ bytes: Int, of expected: Int64?)
  /// A request body of unknown length was handed over to its end.
  func didSendAll()
  /// The request body has moved on the network, some time after it was handed over.
  func didMove()
  func didReceiveHead(_ status: Int, _ timing: CurlTiming)
  /// Bytes of the response body have come; none stand for an interim response.
  func didReceive(_ bytes: Int, of expected: Int64?)
  /// Says whom to tell if the transfer is to be ended; returns what ``forgetAbort(_:)`` takes.
  func onAbort(_ action: @escaping @Sendable (any Error) -> Void) -> Int
  /// The transfer is over.
  func forgetAbort(_ token: Int)
  /// What a failure means for who made the request.
  func error(for failure: CurlFailure, of transfer: CurlTransfer) -> any Error
}

/// Who hears what a proxy does with a request for a tunnel; called as ``CurlSink`` is.
package protocol CurlProxySink: AnyObject, Sendable {
  /// There is a connection.
  func connected()
  /// The proxy asks for credentials.
  func refused(_ status: Int, _ fields: ReceivedFields)
}

/// The right to a connection, which a transfer has until it is over.
package protocol CurlSlot: AnyObject, Sendable {
  /// Gives it back; more than once does nothing.
  func release()
  /// Says whether HTTP/2 was agreed on, so that others can share the connection.
  func noteVersion(isMultiplexed: Bool)
  /// The same right in other hands, so that a release of this one does nothing; `nil` if it was released.
  func handOn() -> Self?
}

/// How far a transfer has come.
package enum CurlStep {
  case connecting, sending, waiting
}

/// The times of a connection that was made for a transfer, in microseconds from the start of that.
package struct CurlTiming: Sendable {
  package var nameLookup: Int64?
  /// The name lookup included.
  package var connect: Int64?
  /// Without what went before.
  package var tls: Int64?
}

/// The addresses of a connection; none for a unix socket.
package struct CurlConnection: Sendable {
  package var remoteAddress: String?
  package var remotePort: Int?
  package var localAddress: String?
  package var localPort: Int?
  /// Whether it had served before, or serves others at the same time.
  package var isReused: Bool
}
