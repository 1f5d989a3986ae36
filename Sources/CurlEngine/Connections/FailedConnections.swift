import CMartletShim
import MartletBase

/// Finds the connections that libcurl must not reuse after a failed transfer.
enum FailedConnections {
  /// Whether a connection may serve other transfers after one that libcurl has ended with a code (RFC 9112 §9.6).
  ///
  /// libcurl keeps a connection on which it could not begin to send. Over HTTP/2, the code of a stream or of the
  /// engine's own refusal says nothing about the connection. The code for sending on a stream that the server has
  /// ended is the same as for a broken connection.
  static func isReusable(after code: CInt, isMultiplexed: Bool, isStreamClosed: Bool) -> Bool {
    if code == 0 { return true }
    // WRITE_ERROR, READ_ERROR, ABORTED_BY_CALLBACK, SEND_FAIL_REWIND, HTTP2_STREAM; SEND_ERROR
    return isMultiplexed && ([23, 26, 42, 65, 92].contains(code) || code == 55 && isStreamClosed)
  }
}

extension CurlLoop {
  /// Abandons the connection of a failed transfer, if libcurl keeps it.
  ///
  /// Call it before libcurl works again, which may use the connection for another transfer at once.
  func discardConnection(of handle: CurlHandle, after code: CInt) {
    let isReusable = FailedConnections.isReusable(
      after: code, isMultiplexed: handle.isMultiplexed, isStreamClosed: handle.isStreamClosed)
    guard !isReusable, let name = handle.connectionName, let socket = handle.keptSocket else { return }
    // Since 8.14, libcurl may report the socket of the handle's previous transfer. Another transfer may use it.
    guard handle.localPort > 0, martlet_socket_port(socket) == handle.localPort,
      !handles.values.contains(where: { $0 !== handle && $0.connectionName == name })
    else { return }
    if code == 55 { handle.readAlert(from: socket) }  // SEND_ERROR
    // Since 8.14, libcurl may choose an HTTP/2 connection whose socket has ended.
    if handle.isMultiplexed { broken[name] = () }
    abandon(socket)
  }

  func isReadable(_ socket: CInt) -> Bool { withUnsafePointer(to: socket) { martlet_is_any_readable($0, 1) } }
}

extension CurlHandle {
  /// Whether it is certain that libcurl has written nothing of the request.
  ///
  /// libcurl does not count what it writes after it had to wait for room, nor the TLS records of a write that failed.
  var hasWrittenNothing: Bool {
    CurlLibrary.countsRequests && !hasAwaitedRoom && !isMultiplexed && !isEncrypted
      && martlet_easy_number(easy, CInt(martlet_info_request_size)) == 0
  }

  /// Whether the request is sent over TLS.
  var isEncrypted: Bool { transfer.map { $0.job.isSecure || $0.route?.proxy?.kind == .https } ?? true }

  /// Whether libcurl chose an HTTP/1 connection whose last transfer has ended without a response.
  ///
  /// One call of libcurl can end a transfer and start the next one, before the end is reported to the loop.
  func hasFailed(_ connection: IdleConnections.Connection?, before transfer: CurlTransfer) -> Bool {
    guard !isMultiplexed, let last = connection?.user, last !== transfer else { return false }
    return !last.life.isOpen
  }
}
