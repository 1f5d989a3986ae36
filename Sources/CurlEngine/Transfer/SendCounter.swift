/// Counts how often a request was sent, and records libcurl's own repetitions.
struct SendCounter {
  private(set) var count = 0
  /// Whether the server refused the request without processing it (RFC 9113 §8.7).
  ///
  /// Such a request can be repeated regardless of its method.
  private(set) var wasRefused = false
  /// Whether the server requires HTTP/1.1 (HTTP_1_1_REQUIRED, RFC 9113 §7).
  ///
  /// It then counts as not having processed the request.
  private(set) var wantsHTTP11 = false
  /// Whether the server has sent HTTP/1 on an HTTP/2 connection.
  private(set) var gotHTTP1 = false

  /// Whether a connection may be made; only the first time the request is sent.
  var mayConnect: Bool { count == 0 }

  /// Records that the request is about to be sent.
  ///
  /// It may be the next step of connection-based authentication.
  mutating func begin() { count += 1 }

  func wasRepeated(_ code: CInt) -> Bool {
    // ABORTED_BY_CALLBACK: when the second sending began or a socket was created. COULDNT_CONNECT: when a socket was
    // created. SEND_FAIL_REWIND.
    count > 1 || count == 1 && [42, 7, 65].contains(code)
  }

  /// Records that libcurl is about to send again because the server refused the stream.
  ///
  /// libcurl also repeats any request without a response on a reused connection, but does not report why.
  mutating func recordRefusal() { if count == 1 { wasRefused = true } }

  mutating func recordHTTP1() { gotHTTP1 = true }

  /// Records that libcurl is about to send the request again, over HTTP/1.1.
  mutating func recordDowngrade() { if count == 1 { wantsHTTP11 = true } }
}
