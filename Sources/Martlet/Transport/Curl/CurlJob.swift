#if os(Linux)
  /// One request as the engine takes it: where it goes, what is sent, and within what limits.
  struct CurlJob: Sendable {
    let origin: Origin
    /// The URL without userinfo and fragment.
    let url: String
    /// The request target, if libcurl would write another one than that of the URL.
    var target: String?
    let method: String
    /// The header fields as libcurl takes them: `Name: value`, `Name;` for an empty value, `Name:` against one of its own.
    let lines: HeaderLines
    /// The length of the body, if it is known; 0 for none.
    let length: Int64?
    /// Whether the server is asked for leave to send the body.
    var expectsContinue = false
    /// Whether it is asked so other than by the caller's own field.
    var asksLeave = false
    /// Whether it may be sent twice (RFC 9110 §9.2.2).
    var isIdempotent = true
    /// Whether no connection will do that is there already.
    var needsNewConnection = false
    /// Whether the content codings of the response are undone.
    var isDecoded = true
    /// How long the connection may take.
    var connectLimit: Duration?
    /// How long a body may be silent.
    var silenceLimit: Duration?

    /// Whether there is a body that is not empty, as far as known.
    var hasBody: Bool { length != 0 }

    /// Whether a handle that has done such a request needs to know only the URL and the fields.
    var isPlain: Bool { !hasBody && method == "GET" && !lines.closesConnection }

    var isSecure: Bool { origin.scheme == "https" }
  }

  /// Header fields as libcurl takes them; the same object means the same lines.
  final class HeaderLines: Sendable {
    let lines: [String]
    /// Whether the connection is not to be used again.
    let closesConnection: Bool
    /// Whether there is something in them that is for a proxy only.
    let hasProxyCredentials: Bool

    init(_ lines: [String], closesConnection: Bool = false, hasProxyCredentials: Bool = false) {
      self.lines = lines
      self.closesConnection = closesConnection
      self.hasProxyCredentials = hasProxyCredentials
    }
  }
#endif
