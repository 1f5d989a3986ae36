package import MartletBase

/// One request in the engine's form: its destination, content and limits.
package struct CurlJob: Sendable {
  package let origin: Origin
  package let isSecure: Bool
  /// The URL without userinfo or fragment.
  package let url: String
  /// The path and query, if libcurl would change those of the URL.
  package let target: String?
  package let method: String
  /// The header fields in the form that libcurl accepts.
  ///
  /// `Name: value`, `Name;` for an empty value, `Name:` to suppress a field that libcurl would add.
  package let lines: HeaderLines
  /// The length of the body; 0 for none, `nil` if it is unknown.
  package let length: Int64?
  package let expectsContinue: Bool
  /// Whether it has that field although the caller did not set it.
  package let addsExpect: Bool
  /// Whether the request may be sent twice (RFC 9110 §9.2.2).
  package let isIdempotent: Bool
  package var needsNewConnection: Bool
  package let isDecoded: Bool
  /// Whether the response is read as it arrives.
  package let isStreamed: Bool
  package let connectLimit: Duration?
  /// The longest silence of the server while a body is sent.
  package let silenceLimit: Duration?
  /// Whether the request asks for another protocol, whose bytes follow a 101 in both directions (RFC 9110 §7.8).
  package let isUpgrade: Bool
  /// Whether only a connection is opened, and nothing is sent.
  package var isPreconnect = false

  package init(
    origin: Origin, url: String, target: String?, method: String, lines: HeaderLines, length: Int64?,
    expectsContinue: Bool, addsExpect: Bool, isIdempotent: Bool, needsNewConnection: Bool, isDecoded: Bool,
    isStreamed: Bool, connectLimit: Duration?, silenceLimit: Duration?, isUpgrade: Bool = false
  ) {
    self.origin = origin
    isSecure = origin.scheme == "https"
    self.url = url
    self.target = target
    self.method = method
    self.lines = lines
    self.length = length
    self.expectsContinue = expectsContinue
    self.addsExpect = addsExpect
    self.isIdempotent = isIdempotent
    self.needsNewConnection = needsNewConnection
    self.isDecoded = isDecoded
    self.isStreamed = isStreamed
    self.connectLimit = connectLimit
    self.silenceLimit = silenceLimit
    self.isUpgrade = isUpgrade
  }

  /// Whether the body may be non-empty; an upgraded connection is a body in both directions.
  package var hasBody: Bool { length != 0 }

  /// Whether a handle of such a request needs only a new URL and new fields for another one.
  package var isPlain: Bool { !hasBody && method == "GET" && !lines.closesConnection }
}

/// Header fields in the form that libcurl accepts; an identical object means identical lines.
package final class HeaderLines: Sendable {
  package let lines: [String]
  /// Whether the lines are ``WireText``, because a value is not UTF-8.
  let isCoded: Bool
  /// Whether the connection must not be reused.
  package let closesConnection: Bool
  package let hasProxyCredentials: Bool

  package init(
    _ lines: [String], isCoded: Bool = false, closesConnection: Bool = false, hasProxyCredentials: Bool = false
  ) {
    self.lines = lines
    self.isCoded = isCoded
    self.closesConnection = closesConnection
    self.hasProxyCredentials = hasProxyCredentials
  }
}
