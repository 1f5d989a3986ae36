#if os(Linux)
  /// How often the request of one transfer was sent, and whether libcurl wanted to send it once more by itself.
  struct CurlSends {
    private(set) var count = 0
    /// Whether the server has refused the request unread (RFC 9113 §8.7), so that it can be repeated whatever it asks for.
    private(set) var wasRefused = false
    /// What libcurl said of the end of the first sending, when it wanted to send once more.
    private(set) var endOfFirst = ""

    /// The request is about to be sent on the connection of a handle, perhaps as the next step of a handshake.
    mutating func begin(_ handle: CurlHandle?, isNextStep: Bool) {
      if count > 0 && !isNextStep { noteRepetition(handle) }
      count += 1
    }

    /// Whether a connection may be made: only for sending the first time.
    mutating func mayConnect(_ handle: CurlHandle) -> Bool {
      wantsMore(handle)
      return count == 0
    }

    /// libcurl begins what leads to sending the request, perhaps once more.
    mutating func wantsMore(_ handle: CurlHandle) { if count > 0 { noteRepetition(handle) } }

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

    private mutating func noteRepetition(_ handle: CurlHandle?) {
      if count == 1, endOfFirst.isEmpty { endOfFirst = handle?.error ?? "" }
    }
  }
#endif
