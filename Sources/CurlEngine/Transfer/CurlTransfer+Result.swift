import CMartletShim

/// What a server has said before it ends a connection of HTTP/2 (RFC 9113 §6.8).
struct GoAway {
  /// The last stream that it processes.
  var lastStream: UInt32
  var error: UInt32
}

extension CurlTransfer {
  /// How libcurl says that a transfer has ended.
  struct Result {
    var code: CInt
    var text: String
    var isReused: Bool
    /// Whether its HTTP/2 connection broke, so that nobody knows whether its stream has ended.
    var isCutOff = false
    var refusal: CurlRefusal?
    /// Whether the server has said that it did not process the request (GOAWAY, RFC 9113 §6.8).
    var isUnprocessed = false
    /// The error code with which the server has ended the connection; 0 for none.
    var goAwayError: UInt32 = 0

    /// GOAWAY has come on the connection.
    mutating func note(_ goAway: GoAway, of stream: UInt32?) {
      if let stream { isUnprocessed = stream > goAway.lastStream }
      goAwayError = goAway.error
    }
  }

  /// Whether no connection that is there will do.
  var needsNewConnection: Bool {
    job.needsNewConnection || isMisplaced || !CurlLibrary.tellsBeforeSending && !job.isIdempotent
  }

  /// Whether the request's body can be sent from its beginning once more.
  var canRewind: Bool { upload?.isAtStart ?? true }

  /// To be called after each turn in which something came on the socket of the transfer.
  func checkOverhead(_ socket: CInt) {
    guard overhead?.isExceeded(body: life.received, on: socket) == true else { return }
    let message = "more than \(OverheadMeter.maximumRatio) bytes came for each byte of the body: chunks of nothing"
    cancel(sink.error(for: .violation(message, hasHead: true), of: self))
  }

  /// libcurl's limit of the connection phase in milliseconds, a little after ours, so that ours is the one that counts.
  ///
  /// libcurl has 5 minutes otherwise, and tries the next address of a host after a part of its limit.
  var connectTimeout: Int {
    guard let limit = job.connectLimit else { return 1 << 30 }
    return Int(clamping: min(limit.components.seconds, 1 << 20)) * 1000 + 1000
  }
}
