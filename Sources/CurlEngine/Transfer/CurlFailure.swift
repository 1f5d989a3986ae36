/// Why a transfer has failed, in facts about connections and bytes.
///
/// What they mean for a request is not for the engine to say.
package enum CurlFailure: Error {
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
package struct CurlEnding: Sendable {
  package var code: CInt
  /// What libcurl says; may be empty.
  package var text: String
  /// Whether the request was, or was about to be, sent.
  package var hasConnected = false
  /// Whether anything of a response had come.
  package var hasMoved = false
  package var hasHead = false
  /// Whether the connection had served before.
  package var isReused = false
  /// Whether libcurl wanted to send the request once more.
  package var wasRepeated = false
  /// Whether the server has refused the request unread.
  package var wasRefused = false
  /// Whether the server wants the request by HTTP/1.1.
  package var wantsHTTP11 = false
  /// Whether the server has said that it did not process the request.
  package var isUnprocessed = false
  /// The error code of a GOAWAY that has come on the connection (RFC 9113 §6.8); 0 for none.
  package var goAwayError: UInt32 = 0
  package var refusal: CurlRefusal?
  /// Whether a proxy has answered to CONNECT.
  package var hasProxyAnswer = false
}

/// How a proxy refused to connect.
package struct CurlRefusal: Sendable {
  /// The status of its answer to CONNECT.
  package var status: Int?
  package var isOfCredentials: Bool
}
