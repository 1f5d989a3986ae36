import CMartletShim

/// Facts about the system's libcurl.
package enum CurlLibrary {
  /// Why libcurl cannot be used, or `nil`.
  package static let problem: String? = martlet_curl_problem().map { String(cString: $0) }

  /// The version of libcurl, such as `7.88.1`.
  package static let version: String? = martlet_curl_version_text().map { String(cString: $0) }

  /// Whether the process is exiting; libcurl is then no longer used.
  package static var isExiting: Bool { martlet_is_exiting() }

  /// Whether this thread works for an engine; blocking it would block all transfers.
  package static var isInside: Bool { martlet_library_is_inside() }

  /// Whether libcurl may send on threads that have not blocked `SIGPIPE`.
  ///
  /// Before 7.88, OpenSSL itself wrote to the socket.
  package static let worksOnAnyThread = martlet_curl_version() >= 0x075800

  /// Whether the TLS library is GnuTLS; alternatives are named in parentheses.
  package static let hasGnuTLS = martlet_curl_tls_name().map { String(cString: $0).hasPrefix("GnuTLS/") } ?? false

  /// Whether libcurl reads for paused transfers (curl #12632).
  package static let readsWhilePaused = martlet_curl_version() == 0x080500

  /// Whether libcurl reports a request before sending it; before 7.80 its log reports it afterwards.
  ///
  /// HTTP/2 is then not used, and a request that must not be sent twice gets a new connection: libcurl repeats only
  /// requests that it sent on reused connections.
  package static let tellsBeforeSending = martlet_curl_tells_before_sending()

  /// Whether libcurl writes percent-encodings in upper case.
  package static let changesEscapes = martlet_curl_version() >= 0x081400

  /// Whether a used handle must be guarded against a folded first header line.
  ///
  /// From 7.83 to 8.1.0 a handle keeps a pointer to the last field of its last response, which is freed with that
  /// response. If the first header line of the next response is folded, libcurl writes to freed memory (curl #11103).
  package static let needsGuard = (0x075300..<0x080101).contains(martlet_curl_version())

  /// Whether the log shows response bodies as received.
  ///
  /// 8.5.0 logs them without the chunked coding.
  package static let showsRawBody = martlet_curl_version() != 0x080500

  /// Whether libcurl sets no timer for the next address of a host after a refused one.
  static let forgetsNextAddress = martlet_curl_version() < 0x080400

  /// Whether libcurl connects to several addresses of one family at the same time.
  static let racesAddresses = martlet_curl_version() >= 0x081000

  /// Whether libcurl reports the address that it has tried as a connection's remote address.
  ///
  /// Before 8.7 it gets the address from the connected socket.
  static let reportsTriedAddress = martlet_curl_version() >= 0x080700

  static let hasHTTP2 = martlet_curl_has_http2()

  /// Whether HTTP/3 can be used; before 7.88 libcurl would not fall back to an older version.
  package static let hasHTTP3 = hasHTTP3(features: martlet_curl_features(), version: martlet_curl_version())

  package static func hasHTTP3(features: CInt, version: UInt32) -> Bool {
    features & 1 << 25 != 0 && version >= 0x075800  // CURL_VERSION_HTTP3
  }

  /// Whether libcurl reads a malformed chunk size such as `0x1` as 0.
  static let misreadsChunkSizes = martlet_curl_version() < 0x075800

  /// Whether the TLS connection to a proxy may have read bytes that nothing reveals.
  ///
  /// Since 8.15 OpenSSL reads ahead, and since 8.16 libcurl does not provide its object. An HTTP/1 connection through
  /// an https proxy then serves one request.
  static let hidesProxyTLS = martlet_curl_version() >= 0x080f00 || !martlet_tls_is_known()

  /// Whether each TLS connection may have read bytes that nothing reveals, as with LibreSSL, which reads ahead.
  static let hidesTLS = martlet_curl_version() >= 0x080f00 && !martlet_tls_shows_pending()

  /// Whether libcurl counts the bytes of requests that it has written.
  static let countsRequests = !(0x080700..<0x080900).contains(martlet_curl_version())

  /// Whether libcurl leaves an HTTP/2 stream open after it stops sending the request.
  ///
  /// It stops after a response with a status of 300 or more.
  package static let leavesStreamsOpen = martlet_curl_version() >= 0x080700

  /// Whether RST_STREAM waits in a buffer until libcurl sends something else on the connection.
  ///
  /// From 7.88 to 8.14.
  static let holdsResets = (0x075800..<0x080f00).contains(martlet_curl_version())

  /// Whether libcurl reports a send error, and drops what it has buffered of the response, when the end of the request
  /// closes an HTTP/2 stream.
  static let dropsUnread = martlet_curl_version() >= 0x080000

  /// Whether transfers to a server that is known to have HTTP/2 do not wait for a connection that is being opened.
  package static let opensConnectionsAtOnce = martlet_curl_version() < 0x080000

  /// Whether bytes sent over HTTP/2 may be sent twice if the socket is full.
  package static let repeatsUploads = (0x075800..<0x080100).contains(martlet_curl_version())

  /// Whether an HTTP/2 connection without TLS serves only one request.
  ///
  /// 7.88 begins HTTP/2 again with the next request (curl #10634).
  package static let reusesNoClearHTTP2 = (0x075800..<0x080000).contains(martlet_curl_version())

  /// Whether a connection without TLS is not reused before its first response if HTTP/2 is allowed.
  ///
  /// It is allowed by default, even without nghttp2. See `url_match_http_multiplex` in `url.c`.
  static let seeksClearHTTP2 = martlet_curl_version() >= 0x080D00

  /// Whether only one transfer learns that its HTTP/2 connection broke, and streams end without an error.
  package static let hidesBrokenConnections = martlet_curl_hides_broken_connections()
}
