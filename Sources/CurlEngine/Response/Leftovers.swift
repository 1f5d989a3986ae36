import CMartletShim
import MartletBase

/// Bytes after a response that libcurl read together with the response's end, and dropped.
///
/// They belong to a response that answers no request, whose rest would become the response to the next request. libcurl
/// closes such a connection only if the body had a length, and otherwise just logs the bytes (decision 0067).
extension ResponseHeadReader.Head {
  /// Whether libcurl may drop bytes after the response and keep the connection.
  func mayHideLeftovers(to method: String) -> Bool {
    framing.hasTransferCoding || (framing.length ?? 0) == 0 || !mayHaveBody(to: method)
  }
}

extension CurlHandle {
  /// Reads libcurl's log to the end of a response over HTTP/1, if only the log would show bytes after the response.
  func watchLeftovers(of head: ResponseHeadReader.Head, to method: String) {
    if !isMultiplexed, head.mayHideLeftovers(to: method) { log() }
  }

  /// Closes the connection if libcurl logs that it has dropped bytes after a response.
  func recordLeftovers(_ type: CInt, _ bytes: UnsafePointer<CChar>?, _ count: Int) {
    if !isMultiplexed, martlet_curl_notes_leftovers(type, bytes, count) { hasLeftovers() }
  }

  /// Records that bytes followed a response; the connection is then not reused.
  func hasLeftovers() {
    closeConnection()
    transfer?.round?.hasLeftovers = true
  }
}

extension CurlTransfer {
  /// Handles bytes after a chunked body, and fails the transfer for a malformed chunk size.
  func judgeChunks() {
    guard let end = chunks?.end else { return }
    if end.hasLeftovers { handle?.hasLeftovers() }
    guard end.isMalformed else { return }
    violate(ResponseHeadReader.Problem(message: "the size of a chunk is malformed, or too large"))
    handle?.closeConnection()
  }
}

/// One request of a connection-based authentication, and its 401.
///
/// libcurl ignores the body of that response, drops the bytes after it, and sends the next request on the same
/// connection. Since 8.0 it does not log them, so without TLS the received bytes are counted.
struct AuthenticationRound {
  /// The number of bytes that the socket had delivered before; negative if unknown.
  var start: Int64 = -1
  /// The local port of the connection; 0 if there is none.
  var port = 0
  var headBytes: Int64 = 0
  /// Whether libcurl has reported bytes after the response.
  var hasLeftovers = false

  /// Whether bytes are known to have followed the response.
  ///
  /// `taken` is the number of bytes that the socket has delivered by now. `length` is that of the body; `nil` if it is
  /// not known.
  func isSpoiled(taken: Int64, length: Int64?) -> Bool {
    guard !hasLeftovers, start >= 0, taken >= 0, let length else { return hasLeftovers }
    return taken - start != headBytes + length
  }
}

extension CurlTransfer {
  /// Begins a request of an authentication; returns `false` if bytes followed the response to the previous request.
  func beginRound(_ handle: CurlHandle) -> Bool {
    guard let route, route.handshake != nil else { return true }
    let isClear = !job.isSecure && route.proxy?.kind != .https
    let port = handle.localPort
    let socket = isClear ? handle.ownSocket : nil
    let taken = socket.map { martlet_socket_taken($0) } ?? -1
    defer { round = AuthenticationRound(start: taken, port: port) }
    // After a broken challenge, libcurl closes the connection and may continue on an idle one.
    guard let round, round.port == port, let head = life.undecided?.head else { return true }
    let length = head.mayHaveBody(to: job.method) ? head.framing.length : 0
    let isSpoiled = round.isSpoiled(taken: taken, length: head.framing.hasTransferCoding ? nil : length)
    guard isSpoiled || socket.map(Self.hasUnread) == true else { return true }
    // The 401 must not become the response.
    _ = life.takeUndecided()
    let message = "bytes followed the response to a step of the authentication, or one of its fields was folded"
    violate(ResponseHeadReader.Problem(message: message))
    return false
  }

  /// Whether bytes wait in a socket; its end does not count.
  private static func hasUnread(_ socket: CInt) -> Bool {
    var byte: UInt8 = 0
    return recv(socket, &byte, 1, 2 | 0x40) == 1  // MSG_PEEK, MSG_DONTWAIT
  }
}

extension CurlHandle {
  /// The local port of the transfer's connection; 0 or less if it is unknown.
  var localPort: Int { martlet_easy_number(easy, CInt(martlet_info_local_port)) }

  /// The socket of the connection that the transfer is about to use.
  ///
  /// The last socket that libcurl watched for the handle may belong to an earlier transfer.
  var ownSocket: CInt? {
    let port = localPort
    guard port > 0 else { return nil }
    return loop.watches.first { $0.value.isConnection && martlet_socket_port($0.key) == port }?.key
  }
}
