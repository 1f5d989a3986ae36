#if os(Linux)
  /// Why a transfer has failed, in facts about connections and bytes.
  ///
  /// What they mean for a request is not for the engine to say.
  enum CurlFailure: Error {
    /// libcurl has ended it.
    case ended(CurlEnding)
    /// What the server has sent is no HTTP, or beyond a limit.
    case violation(String, hasHead: Bool)
    /// The body is incomplete, though libcurl takes it for whole.
    case cutBody(String)
    /// The connection has ended in the head of the response.
    case cutHead
    /// No address of the host may be connected to: the first one, and why.
    case refusedAddress(String)
    /// The file with the request body cannot be sent.
    case bodyFile(String)
    /// libcurl has asked for bytes of a request body that was given up.
    case uploadStopped
    /// There is nothing that could do it.
    case unavailable
  }

  /// How libcurl has ended a transfer, and what was known of it then.
  struct CurlEnding: Sendable {
    var code: CInt
    /// What libcurl says; may be empty.
    var text: String
    /// Whether the request was, or was about to be, sent.
    var hasConnected = false
    /// Whether anything of a response had come.
    var hasMoved = false
    var hasHead = false
    /// Whether the connection had served before.
    var isReused = false
    /// Whether libcurl wanted to send the request once more.
    var wasRepeated = false
    /// Whether the server has refused the request unread.
    var wasRefused = false
    /// Whether the server wants the request by HTTP/1.1.
    var wantsHTTP11 = false
    /// Whether the server has said that it did not process the request.
    var isUnprocessed = false
    /// The error code of a GOAWAY that has come on the connection (RFC 9113 §6.8); 0 for none.
    var goAwayError: UInt32 = 0
    /// How a proxy refused to connect, if it did.
    var refusal: CurlRefusal?
    /// Whether a proxy has answered to CONNECT.
    var hasProxyAnswer = false
  }

  /// How a proxy refused to connect.
  struct CurlRefusal: Sendable {
    /// The status of its answer to CONNECT.
    var status: Int?
    var isOfCredentials: Bool
  }
#endif
