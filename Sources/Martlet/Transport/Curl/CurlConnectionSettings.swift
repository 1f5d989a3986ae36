#if os(Linux)
  import CMartletShim

  /// What a client says about all its connections, as libcurl takes it.
  struct CurlConnectionSettings: Sendable {
    private let unixSocket: String?
    /// Whether connections have no address.
    var hasUnixSocket: Bool { unixSocket != nil }
    private let interface: String?
    private let maximumAge: Int
    /// Whether connections are kept for the next request.
    let isKept: Bool
    /// How long the loop waits for something to do before it ends, in microseconds.
    let idleLifetime: Int64
    /// The most connections with one host.
    let perHost: Int
    let total: Int
    let tls: TLSSettings
    /// Which addresses may be connected to; all if `nil`.
    let addresses: AddressPolicy?
    let answerPace: AnswerPace
    let receiveMarks: ReceiveMarks

    init(_ settings: TransportSettings) {
      unixSocket = settings.unixSocket
      interface = settings.localInterface.map { name in
        guard let address = IPAddress(name) else { return "if!\(name)" }
        return "host!\(address.bytes.count == 16 && name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name)"
      }
      let (seconds, attoseconds) = settings.idleConnectionLifetime.components
      let whole = min(max(0, seconds), 1 << 30)
      isKept = settings.idleConnectionLifetime > .zero
      // 0 stands for no limit.
      maximumAge = Int(whole) + (attoseconds > 0 ? 1 : 0)
      idleLifetime = whole * 1_000_000 + attoseconds / 1_000_000_000_000
      // libcurl counts what goes through a proxy as one host; how many go to each is for the limiter to say.
      perHost = settings.proxy.isNone ? settings.maximumConnectionsPerHost : settings.maximumConnections
      tls = settings.tls
      addresses = settings.addresses
      answerPace = settings.answerPace
      receiveMarks = settings.receiveMarks
      total = settings.maximumConnections
    }

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
