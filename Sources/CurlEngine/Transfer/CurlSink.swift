package import MartletBase

/// Receives the progress of a transfer.
///
/// The methods are called on any thread, usually under the loop's lock. They must neither wait nor run user code.
package protocol CurlSink: AnyObject, Sendable {
  func reached(_ step: CurlStep)
  /// Reports whether the transfer waits for the reader, the body source or the bandwidth limit instead of the network.
  func setPaused(_ isPaused: Bool)
  /// Reports that bytes of the request body were passed to libcurl.
  func didSend(_ bytes: Int, of expected: Int64?)
  /// Reports that a request body of unknown length was passed on completely.
  func didSendAll()
  /// Reports that the request body progressed on the network, some time after it was passed on.
  func didMove()
  func didReceiveHead(_ status: Int, _ timing: CurlTiming)
  /// Whether anyone observes interim responses.
  var observesInterim: Bool { get }
  /// Reports an interim response, except 100.
  func didReceiveInterim(_ status: Int, _ fields: ReceivedFields)
  /// Reports bytes of the response body; 0 for an interim response.
  func didReceive(_ bytes: Int, of expected: Int64?)
  /// Registers an action for an abort of the exchange; returns a token for ``forgetAbort(_:)``.
  func onAbort(_ action: @escaping @Sendable (any Error) -> Void) -> Int
  /// Removes the action when the transfer is over.
  func forgetAbort(_ token: Int)
  func error(for failure: CurlFailure, of transfer: CurlTransfer) -> any Error
}

/// Receives the result of a tunnel request to a proxy; called as ``CurlSink`` is.
package protocol CurlProxySink: AnyObject, Sendable {
  /// Reports that there is a connection.
  func connected()
  /// Reports that the proxy requests credentials.
  func refused(_ status: Int, _ fields: ReceivedFields)
}

package protocol CurlTransferObserver: AnyObject, Sendable {
  /// Called when the loop has finished with a transfer.
  ///
  /// Bytes may still be waiting for the reader. Called on any thread, perhaps more than once.
  func transferIsOver(_ transfer: CurlTransfer)
}

/// The right to a connection, held until the transfer is over.
package protocol CurlSlot: AnyObject, Sendable {
  /// Releases the slot; calling it again does nothing.
  func release()
  /// Reports whether HTTP/2 was negotiated and other requests can share the connection.
  func recordVersion(isMultiplexed: Bool)
  /// Transfers the right to a new slot; `nil` if it was released.
  ///
  /// Releasing the old slot then does nothing.
  func handOn() -> Self?
}

package enum CurlStep {
  case connecting, sending, waiting
}

/// The times of a new connection, in microseconds from the start of the transfer.
package struct CurlTiming: Sendable {
  package var nameLookup: Int64?
  /// Includes the name lookup.
  package var connect: Int64?
  /// Excludes the earlier phases.
  package var tls: Int64?
}

/// The connection of a response.
package struct CurlConnection: Sendable {
  /// `nil` for a Unix domain socket, or if libcurl does not know them.
  package var addresses: CurlAddresses?
  /// Whether it had served another exchange, or serves several at the same time.
  package var isReused: Bool
}

/// The addresses of a connection, one object for all of its responses.
package final class CurlAddresses: Sendable {
  package let remoteAddress: String?
  package let remotePort: Int?
  package let localAddress: String?
  package let localPort: Int?

  init(remoteAddress: String?, remotePort: Int?, localAddress: String?, localPort: Int?) {
    (self.remoteAddress, self.remotePort) = (remoteAddress, remotePort)
    (self.localAddress, self.localPort) = (localAddress, localPort)
  }
}
