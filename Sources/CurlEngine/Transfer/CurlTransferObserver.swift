/// Who follows a transfer to its end.
package protocol CurlTransferObserver: AnyObject, Sendable {
  /// The loop is done with it; bytes may still wait for the reader. Called on any thread, perhaps more than once.
  func transferIsOver(_ transfer: CurlTransfer)
}
