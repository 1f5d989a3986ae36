/// Observes the end of transfers.
package protocol CurlTransferObserver: AnyObject, Sendable {
  /// Called when the loop has finished with a transfer.
  ///
  /// Bytes may still wait for the reader. Called on any thread, perhaps more than once.
  func transferIsOver(_ transfer: CurlTransfer)
}
