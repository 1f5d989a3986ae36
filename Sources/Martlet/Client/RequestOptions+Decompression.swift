extension RequestOptions {
  /// Whether response bodies are decoded (RFC 9110 §8.4).
  public enum Decompression: Hashable, Sendable {
    /// Requests content codings and decodes them; the default.
    ///
    /// `Accept-Encoding` names what can be decoded, unless the request has such a field of its own. `Content-Encoding`
    /// and `Content-Length` of a decoded response are removed: they describe other bytes. A coding that is not known
    /// leaves the body and the fields as they came, and so do the statuses 204, 206 and 304 and the method `HEAD`.
    ///
    /// On Linux with libcurl `gzip`, `deflate`, `br` and `zstd` are known, the last two where the system has their
    /// libraries. A coded body that is cut or corrupt, that has more than five codings, or that becomes more than 200
    /// times as large once more than 1 MiB of it was decoded, is an error of kind
    /// ``HTTPError/Kind/protocolViolation``. gzip can reach 1032:1 with bodies that only repeat themselves: use
    /// ``off`` for one that is to be trusted.
    case automatic

    /// Delivers the body as received, with `Content-Encoding` and `Content-Length`.
    ///
    /// No `Accept-Encoding` is added to the request; a server may then choose any coding, or one that a field of the
    /// caller's names. The system's `URLSession` loader always decodes: it throws ``HTTPError/Kind/unsupported`` before
    /// anything is sent.
    case off
  }
}
