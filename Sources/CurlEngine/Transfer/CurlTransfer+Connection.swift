import MartletBase
import CMartletShim

extension CurlTransfer {
  var hasPriorKnowledge: Bool { route?.version == .priorKnowledge }

  /// The request target, if libcurl would change it; a proxy that forwards the request gets the whole URL.
  var target: String? {
    guard job.target != nil, !job.isSecure, let route, let proxy = route.proxy, proxy.kind != .socks5,
      !route.needsTunnel
    else { return job.target }
    return job.url
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
    let message = "more than \(OverheadMeter.maximumRatio) bytes arrived for each byte of the body, in tiny chunks"
    cancel(sink.error(for: .violation(message, hasHead: true), of: self))
  }

  /// libcurl's error text, with the likely cause if HTTP/2 without TLS failed.
  func explained(_ text: String, _ code: CInt, isReused: Bool) -> String {
    // HTTP2, PARTIAL_FILE, GOT_NOTHING, SEND_ERROR, RECV_ERROR
    guard hasPriorKnowledge, !isReused, [16, 18, 52, 55, 56].contains(code), body == nil else { return text }
    return "the server may not speak HTTP/2 without TLS: \(text.isEmpty ? "the connection was closed" : text)"
  }

  /// libcurl's limit for the connection phase, in milliseconds.
  ///
  /// It is slightly longer than the exchange's own limit, which then takes effect first. By default libcurl allows 5
  /// minutes, and tries a host's next address after a fraction of that limit.
  var connectTimeout: Int {
    guard let limit = job.connectLimit else { return 1 << 30 }
    return Int(clamping: min(limit.clampedComponents.seconds, 1 << 20)) * 1000 + 1000
  }
}

extension CurlHandle {
  /// Makes libcurl end a transfer that only opens a connection, and keep the connection for others.
  ///
  /// Call it when libcurl is about to send. It then reads `CURLOPT_CONNECT_ONLY` (`multi.c`, `MSTATE_DO`), and ends the
  /// transfer as successful. A connection that was made with this option would serve no other transfer (`url.c`).
  func stopBeforeSending(_ transfer: CurlTransfer) {
    transfer.life.connected(isAlone: !isMultiplexed)
    recordConnection()
    _ = martlet_easy_set_number(easy, CInt(martlet_opt_connect_only), 1)
  }

  /// Keeps libcurl from closing the connection when it removes the handle.
  func keepConnection() { _ = martlet_easy_set_number(easy, CInt(martlet_opt_connect_only), 0) }
}
