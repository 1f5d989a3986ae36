#if os(Linux)
  extension CurlTransfer {
    /// How libcurl says that a transfer has ended.
    struct Result {
      var code: CInt
      var text: String
      var isReused: Bool
      var refusal: CurlErrors.Refusal?
      /// Whether the server has said that it did not process the request (GOAWAY, RFC 9113 §6.8).
      var isUnprocessed = false
    }

    /// Whether the request's body can be sent from its beginning once more.
    func canRewind(_ handle: CurlHandle) -> Bool {
      if upload?.isAtStart ?? true { return true }
      sends.wantsMore(handle)
      return false
    }

    /// libcurl's limit of the connection phase in milliseconds, a little after ours, so that ours is the one that counts.
    ///
    /// libcurl has 5 minutes otherwise, and tries the next address of a host after a part of its limit.
    var connectTimeout: Int {
      guard let limit = context.call.timeouts.connect else { return 1 << 30 }
      return Int(clamping: min(limit.components.seconds, 1 << 20)) * 1000 + 1000
    }
  }
#endif
