/// The cause of a failed transfer, in facts about connections and bytes.
///
/// The engine does not decide what they mean for a request.
package enum CurlFailure: Error {
  case ended(TransferCompletion)
  /// The server's response is not HTTP, or exceeds a limit.
  case violation(String, hasHead: Bool)
  /// The body is incomplete, although libcurl reports it as complete.
  case cutBody(String)
  case cutHead
  /// No address of the host is allowed: the first address, and the reason.
  case refusedAddress(String)
  case bodyFile(String)
  /// libcurl has requested bytes of a stopped upload.
  case uploadStopped
  /// No loop or handle is available: the system lacks a resource, or the process is exiting.
  case unavailable
}

/// The result of a transfer that only opens a connection, in the place of a response.
package struct ConnectionIsOpen: Error {
  /// Whether several exchanges share the connection, because it uses HTTP/2.
  package let isShared: Bool
}

/// How libcurl ended a transfer, and the facts known at that time.
package struct TransferCompletion: Sendable {
  package var code: CInt
  /// libcurl's error text; may be empty.
  package var text: String
  /// Whether the request was sent, or was about to be.
  package var hasConnected = false
  /// Whether any bytes of a response arrived.
  package var hasMoved = false
  package var hasHead = false
  /// Whether the connection served other requests before, or does at the same time.
  package var isReused = false
  /// Whether libcurl was about to send the request again.
  package var wasRepeated = false
  /// Whether the server refused the request without processing it.
  package var wasRefused = false
  package var wantsHTTP11 = false
  /// Whether the server has agreed on HTTP/2, and has sent HTTP/1.
  package var gotHTTP1 = false
  /// Whether the server said that it did not process the request.
  package var isUnprocessed = false
  /// Whether not one byte of the request was written to its connection.
  package var isUnsent = false
  /// The error code of a GOAWAY on the connection (RFC 9113 §6.8); 0 for none.
  package var goAwayError: UInt32 = 0
  package var refusal: CurlRefusal?
  /// Whether a proxy responded to CONNECT.
  package var hasProxyAnswer = false
  /// Whether an HTTP/2 stream ended before the server's END_STREAM.
  var isCutOff = false
}

/// How a proxy refused to connect.
package struct CurlRefusal: Sendable {
  package var status: Int?
  package var isOfCredentials: Bool
  /// Whether the proxy received credentials, or could have.
  package var hadCredentials = true
  /// Whether the proxy chose no method of authentication (RFC 1928 §3).
  package var isOfMethods = false
}
