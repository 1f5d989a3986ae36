package import MartletBase

/// One request as the engine takes it: where it goes, what is sent, and within what limits.
package struct CurlJob: Sendable {
  package let origin: Origin
  /// The URL without userinfo and fragment.
  package let url: String
  /// The request target, if libcurl would write another one than that of the URL.
  package var target: String?
  package let method: String
  /// The header fields as libcurl takes them: `Name: value`, `Name;` for an empty value, `Name:` against one of its own.
  package let lines: HeaderLines
  /// The length of the body, if it is known; 0 for none.
  package let length: Int64?
  /// Whether the server is asked for leave to send the body.
  package var expectsContinue = false
  /// Whether it is asked so other than by the caller's own field.
  package var asksLeave = false
  /// Whether it may be sent twice (RFC 9110 §9.2.2).
  package var isIdempotent = true
  package var needsNewConnection = false
  /// Whether the content codings of the response are undone.
  package var isDecoded = true
  /// How long the connection may take.
  package var connectLimit: Duration?
  /// How long the server may be silent while it is sent a body.
  package var silenceLimit: Duration?

  package init(
    origin: Origin, url: String, target: String? = nil, method: String, lines: HeaderLines, length: Int64?,
    expectsContinue: Bool = false, asksLeave: Bool = false, isIdempotent: Bool = true, needsNewConnection: Bool = false,
    isDecoded: Bool = true, connectLimit: Duration? = nil, silenceLimit: Duration? = nil
  ) {
    self.origin = origin
    self.url = url
    self.target = target
    self.method = method
    self.lines = lines
    self.length = length
    self.expectsContinue = expectsContinue
    self.asksLeave = asksLeave
    self.isIdempotent = isIdempotent
    self.needsNewConnection = needsNewConnection
    self.isDecoded = isDecoded
    self.connectLimit = connectLimit
    self.silenceLimit = silenceLimit
  }

  /// Whether there is a body that is not empty, as far as known.
  package var hasBody: Bool { length != 0 }

  /// Whether a handle that has done such a request needs to know only the URL and the fields.
  package var isPlain: Bool { !hasBody && method == "GET" && !lines.closesConnection }

  package var isSecure: Bool { origin.scheme == "https" }
}

/// Header fields as libcurl takes them; the same object means the same lines.
package final class HeaderLines: Sendable {
  package let lines: [String]
  /// Whether the connection is not to be used again.
  package let closesConnection: Bool
  /// Whether there is something in them that is for a proxy only.
  package let hasProxyCredentials: Bool

  package init(_ lines: [String], closesConnection: Bool = false, hasProxyCredentials: Bool = false) {
    self.lines = lines
    self.closesConnection = closesConnection
    self.hasProxyCredentials = hasProxyCredentials
  }
}
