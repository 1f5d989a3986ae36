import CMartletShim

/// A GOAWAY that precedes the end of an HTTP/2 connection (RFC 9113 §6.8).
struct GoAway {
  /// The last stream that the server processes.
  var lastStream: UInt32
  var error: UInt32
}

extension CurlTransfer {
  /// The result of a transfer according to libcurl.
  struct Result {
    var code: CInt
    var text: String
    var isReused: Bool
    /// Whether the HTTP/2 connection broke, so that the end of the stream is unknown.
    var isCutOff = false
    var refusal: CurlRefusal?
    /// Whether the server said that it did not process the request (GOAWAY, RFC 9113 §6.8).
    var isUnprocessed = false
    /// The error code of the server's GOAWAY; 0 for none.
    var goAwayError: UInt32 = 0

    /// Notes a GOAWAY on the connection.
    mutating func note(_ goAway: GoAway, of stream: UInt32?) {
      if let stream { isUnprocessed = stream > goAway.lastStream }
      goAwayError = goAway.error
    }
  }

  /// Whether no existing connection is suitable.
  var needsNewConnection: Bool {
    job.needsNewConnection || isMisplaced || !CurlLibrary.tellsBeforeSending && !job.isIdempotent
  }

  /// Whether the request body can be sent from its beginning again.
  var canRewind: Bool { upload?.isAtStart ?? true }

  /// Checks the chunked coding for overhead.
  ///
  /// Call it after each turn with events on the socket of the transfer.
  func checkOverhead(_ socket: CInt) {
    guard overhead?.isExceeded(body: life.received, on: socket) == true else { return }
    let message = "more than \(OverheadMeter.maximumRatio) bytes came for each byte of the body: chunks of nothing"
    cancel(sink.error(for: .violation(message, hasHead: true), of: self))
  }

  /// libcurl's limit for the connection phase, in milliseconds.
  ///
  /// It is slightly longer than the exchange's own limit, which then takes effect first. By default libcurl has 5
  /// minutes, and tries the next address of a host after a part of its limit.
  var connectTimeout: Int {
    guard let limit = job.connectLimit else { return 1 << 30 }
    return Int(clamping: min(limit.components.seconds, 1 << 20)) * 1000 + 1000
  }
}
