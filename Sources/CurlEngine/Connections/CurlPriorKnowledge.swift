import CMartletShim

extension CurlTransfer {
  /// Whether the transfer uses HTTP/2 without TLS.
  var hasPriorKnowledge: Bool { route?.version == .priorKnowledge }

  /// libcurl's error text, with the likely cause if HTTP/2 without TLS failed.
  func explained(_ text: String, _ code: CInt, isReused: Bool) -> String {
    // HTTP2, PARTIAL_FILE, GOT_NOTHING, SEND_ERROR, RECV_ERROR
    guard hasPriorKnowledge, !isReused, [16, 18, 52, 55, 56].contains(code),
      body == nil
    else { return text }
    return "\(text.isEmpty ? CurlLibrary.endOfHTTP2 : text): the server may not speak HTTP/2 without TLS"
  }
}

extension CurlLibrary {
  /// The error text if libcurl has none.
  static let endOfHTTP2 = "the connection was closed"

  /// Whether a connection of HTTP/2 without TLS serves only one request.
  ///
  /// 7.88 begins HTTP/2 again with the next request (curl #10634).
  package static let reusesNoClearHTTP2 = (0x075800..<0x080000).contains(martlet_curl_version())
}
