/// How often the request of one transfer was sent, and whether libcurl wanted to send it once more by itself.
struct CurlSends {
  private(set) var count = 0
  /// Whether the server has refused the request unread (RFC 9113 §8.7), so that it can be repeated whatever it asks for.
  private(set) var wasRefused = false
  /// Whether the server wants the request by HTTP/1.1 (HTTP_1_1_REQUIRED, RFC 9113 §7), and is taken not to have
  /// processed it.
  private(set) var wantsHTTP11 = false

  /// Whether a connection may be made: only for sending the first time.
  var mayConnect: Bool { count == 0 }

  /// The request is about to be sent, perhaps as the next step of a handshake.
  mutating func begin() { count += 1 }

  /// Whether libcurl has wanted to send the request once more.
  func wasRepeated(_ result: CurlTransfer.Result) -> Bool {
    // ABORTED_BY_CALLBACK, by the second beginning or by the making of a socket; COULDNT_CONNECT, by the latter;
    // SEND_FAIL_REWIND.
    count > 1 || count == 1 && [42, 7, 65].contains(result.code)
  }

  /// libcurl has said that the server refused the stream, and that it wants to send once more for that.
  ///
  /// It also repeats whatever had no answer on a connection that has served anybody else, and does not say why.
  mutating func noteRefusal() { if count == 1 { wasRefused = true } }

  /// libcurl has said that it wants to send once more, by HTTP/1.1.
  mutating func noteDowngrade() { if count == 1 { wantsHTTP11 = true } }
}
