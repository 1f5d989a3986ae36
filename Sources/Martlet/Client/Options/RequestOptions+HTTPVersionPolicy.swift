extension RequestOptions {
  /// Which version of HTTP a request uses.
  @nonexhaustive public enum HTTPVersionPolicy: Sendable {
    /// HTTP/2 if the server offers it in the TLS handshake (RFC 7301), otherwise HTTP/1.1; the default.
    case automatic
    /// HTTP/1.0, which has no chunked request bodies.
    case http1_0
    /// HTTP/1.1 (RFC 9112), even if the server offers HTTP/2.
    case http1_1
    /// HTTP/2 (RFC 9113) over TLS, or HTTP/1.1 if the server does not offer HTTP/2.
    ///
    /// Without TLS the request fails with ``HTTPError/Kind/unsupported``; see ``http2PriorKnowledge``.
    case http2
    /// HTTP/2 without TLS, with prior knowledge (RFC 9113 §3.3); over TLS the same as ``http2``.
    ///
    /// For servers that are known to support it, such as those behind a proxy that terminates TLS. If the server does
    /// not, the request fails with an error that says so. Other requests do not share the connections of such requests;
    /// with libcurl 7.88 each has its own. Through an HTTP proxy without TLS they fail with
    /// ``HTTPError/Kind/unsupported``.
    case http2PriorKnowledge
    /// HTTP/3 (RFC 9114) if the server is reachable over QUIC, otherwise HTTP/2 or HTTP/1.1.
    ///
    /// ``HTTPResponse/httpVersion`` reports the version that was used. Each such request has its own connection. It fails
    /// with ``HTTPError/Kind/unsupported`` before anything is sent if libcurl was built without HTTP/3 or is older than
    /// 7.88, without TLS, through a proxy, over a Unix socket, and with ``HTTPClient/Configuration/tls`` settings, which
    /// have not been examined over QUIC. ``HTTPClient/Diagnostics/httpVersions`` contains `3` if libcurl supports it.
    case http3
  }
}
