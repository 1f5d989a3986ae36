#if os(Linux)
  import CMartletShim

  /// What a client says about all its connections, as libcurl takes it.
  struct CurlConnectionSettings: Sendable {
    /// The path of the socket that all connections are made to.
    let unixSocket: String?
    /// Whether connections have no address.
    var hasUnixSocket: Bool { unixSocket != nil }
    /// As `CURLOPT_INTERFACE` takes it.
    let interface: String?
    /// How old a connection may get, in seconds; 0 for no limit.
    let maximumAge: Int
    /// Whether connections are kept for the next request.
    let isKept: Bool
    /// How long the loop waits for something to do before it ends, in microseconds.
    let idleLifetime: Int64
    /// The most connections with one host.
    let perHost: Int
    let total: Int
    let tls: CurlTLSSettings
    /// Why an address may not be connected to, for its 4 or 16 octets, or `nil` if it may; all may without it.
    let addressRefusal: (@Sendable ([UInt8]) -> String?)?
    let answerPace: AnswerPace
    let receiveMarks: ReceiveMarks

    /// Sets what differs from libcurl's own, on a handle that was just reset.
    ///
    /// - Returns: libcurl's code.
    func apply(to easy: UnsafeMutableRawPointer) -> CInt {
      var code = martlet_easy_set_number(easy, CInt(martlet_opt_max_age_conn), maximumAge)
      if code == 0, !isKept { code = martlet_easy_set_number(easy, CInt(martlet_opt_forbid_reuse), 1) }
      if code == 0, let unixSocket {
        code = martlet_easy_set_text(easy, CInt(martlet_opt_unix_socket_path), unixSocket)
      }
      if code == 0, let interface { code = martlet_easy_set_text(easy, CInt(martlet_opt_interface), interface) }
      return code
    }
  }
#endif
