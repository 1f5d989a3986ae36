/// A transport that uses the system's libcurl, on Linux.
///
/// The first request looks for libcurl 7.76 or later: the one that the program was linked with, otherwise the one in
/// the process, otherwise `libcurl.so.4` or `libcurl-gnutls.so.4`. Without it, and on other systems, each request
/// throws ``HTTPError/Kind/unsupported`` with the reason.
///
/// Each client has one thread for all its connections, or as many as ``HTTPClient/Configuration/engineThreads`` allows.
/// It starts with a request, and ends when nothing has been in flight for ``TransportSettings/idleConnectionLifetime``,
/// or when the client and the last response body are released. A reader that is slower than the network slows the
/// network down. Header fields keep their order, repetition and spelling. Bodies in `gzip`, `deflate`, `br` and `zstd`
/// are decoded if the system has the libraries; a truncated one is an error (``RequestOptions/Decompression``).
///
/// A proxy is used only if ``HTTPClient/Configuration/proxy`` names one; libcurl reads nothing from the environment.
/// With OpenSSL, no TLS secrets are written to the file of `SSLKEYLOGFILE`, which is created but stays empty.
///
/// The header sections of one response, including interim responses and trailers, may have 256 KiB and 1,000 fields in
/// total; more cause ``HTTPError/Kind/protocolViolation``. An interim response counts as one more field. While interim
/// responses arrive, 16 KiB and 100 fields a second do not count, so they may continue for hours.
public struct CurlTransport: Transport {
  /// A transport with the system's libcurl.
  public init() {}

  public func prepared(for settings: TransportSettings) -> any Transport {
    #if os(Linux)
      return CurlLoader(settings)
    #else
      return self
    #endif
  }

  public func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
    #if os(Linux)
      // Used without a client: an engine for this one request.
      return try await CurlLoader(TransportSettings()).send(request, context: context)
    #else
      throw HTTPError(.unsupported, "libcurl is used on Linux only; use .urlSession", request: request)
    #endif
  }
}

#if !os(Linux)
  extension CurlTransport: DiagnosableTransport {
    package var diagnostics: HTTPClient.Diagnostics {
      HTTPClient.Diagnostics(loader: .engine, engineProblem: "libcurl is used on Linux only")
    }
  }
#endif

extension Transport where Self == CurlTransport {
  /// The system's libcurl, on Linux.
  public static var curl: CurlTransport { CurlTransport() }
}

extension HTTPClient.Configuration {
  static var standardTransport: any Transport {
    #if canImport(Darwin) || URLSession
      .urlSession
    #else
      .curl
    #endif
  }
}
