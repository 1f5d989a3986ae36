extension RequestOptions {
  /// Whether response bodies are decoded (RFC 9110 §8.4).
  @nonexhaustive public enum Decompression: Hashable, Sendable {
    /// Requests content codings and decodes them; the default.
    ///
    /// `Accept-Encoding` lists the supported codings, unless the request has its own field. `Content-Encoding` and
    /// `Content-Length` of a decoded response are removed, because they describe the encoded body. An unknown coding
    /// leaves the body and the fields unchanged, as do the statuses 204, 206 and 304 and the method `HEAD`.
    ///
    /// On Linux with libcurl, `gzip`, `deflate`, `br` and `zstd` are supported, the last two if the system has their
    /// libraries. An encoded body fails with ``HTTPError/Kind/protocolViolation`` if it is truncated or corrupt, has
    /// more than five codings, or, once more than 1 MiB has been decoded, is more than 200 times its encoded size. gzip
    /// can reach 1032:1 with highly repetitive bodies: use ``off`` for such a body if you trust it.
    case automatic

    /// Delivers the body as received, with `Content-Encoding` and `Content-Length`.
    ///
    /// No `Accept-Encoding` is added to the request; the server may then choose any coding, or one that the caller's
    /// own field lists. The system's `URLSession` loader always decodes: it throws ``HTTPError/Kind/unsupported``
    /// before anything is sent.
    case off
  }
}
