import CMartletShim

/// What is known of the system's libcurl.
package enum CurlLibrary {
  /// Why it cannot be used, or `nil`.
  package static let problem: String? = martlet_curl_problem().map { String(cString: $0) }

  /// Its version, such as `7.88.1`.
  package static let version: String? = martlet_curl_version_text().map { String(cString: $0) }

  /// Whether the process exits, and libcurl is left alone.
  package static var isExiting: Bool { martlet_is_exiting() }

  /// Whether this thread works for an engine now, and all its transfers would wait for what it waits for.
  package static var isInside: Bool { martlet_library_is_inside() }

  /// Whether it may send on threads that have not blocked `SIGPIPE`: before 7.88 it let OpenSSL write by itself.
  package static let worksOnAnyThread = martlet_curl_version() >= 0x075800

  /// Whether its TLS library is GnuTLS; those that it could use instead are named in parentheses.
  package static let hasGnuTLS = martlet_curl_tls_name().map { String(cString: $0).hasPrefix("GnuTLS/") } ?? false

  /// Whether it reads for transfers that are paused (curl #12632).
  package static let readsWhilePaused = martlet_curl_version() == 0x080500

  /// Whether it tells of a request before that is sent; before 7.80 it tells afterwards, in its log.
  ///
  /// HTTP/2 is not spoken then, and what must not be sent twice gets a new connection: libcurl sends once more by itself
  /// only what it sent on one that has served before.
  package static let tellsBeforeSending = martlet_curl_tells_before_sending()

  /// Whether it writes percent-encodings in upper case.
  package static let changesEscapes = martlet_curl_version() >= 0x081400

  /// Whether a used handle has to be guarded against a folded first header line.
  package static let needsGuard = martlet_curl_needs_guard()

  /// Whether its log shows the body of a response as it came: 8.5.0 logs it without the chunked coding.
  package static let showsRawBody = martlet_curl_version() != 0x080500

  /// Whether it ends no stream of HTTP/2 whose request it has stopped sending, after a response from 300 on.
  package static let leavesStreamsOpen = martlet_curl_version() >= 0x080700

  /// Whether what is sent over HTTP/2 may be sent twice if the socket is full.
  package static let repeatsUploads = martlet_curl_repeats_uploads()

  /// Whether the streams of an HTTP/2 connection that breaks end without an error, and GOAWAY is told of.
  package static let hidesBrokenConnections = martlet_curl_hides_broken_connections()
}
