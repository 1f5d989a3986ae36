#if canImport(Darwin) || URLSession
  /// A transport that uses `URLSession`.
  ///
  /// The client handles cookies, caching, redirects, credentials and time limits; the session only loads.
  ///
  /// Apple platforms use the system's loader. On Linux, the session gets Martlet's own loader, which uses the system's
  /// libcurl: a server can crash Foundation's loader there, and that loader delivers bytes faster than a slow reader
  /// consumes them. The documentation of ``CurlTransport`` also applies to Martlet's loader. Without a usable libcurl,
  /// Linux also uses the system's loader, and reports that once on standard error, unless ``Loader/engine`` is chosen.
  /// `Docs/URLSessionOnLinux.md` describes the consequences, and ``HTTPClient/diagnostics`` names the loader in use.
  ///
  /// The system's loader delivers bytes as fast as they arrive. A reader that streams a body and lets more than 64 MiB of
  /// it accumulate ends its exchange with ``HTTPError/Kind/unsupported``. That loader rejects a `GET` with a body, so
  /// such a request fails before anything is sent.
  public struct URLSessionTransport: Transport {
    /// The loader of the session.
    @nonexhaustive public enum Loader: Sendable, Hashable {
      /// The default loader of the platform: Martlet's own on Linux, elsewhere the system's.
      ///
      /// On Linux without a usable libcurl it is the system's, which is reported once on standard error, and by
      /// ``HTTPClient/diagnostics``.
      case automatic
      /// Martlet's own loader only, on Linux.
      ///
      /// Where it cannot be used, each request throws ``HTTPError/Kind/unsupported``.
      case engine
      /// The system's loader, even on Linux.
      case system
    }

    private let loader: Loader

    /// Creates a transport with a loader, by default the platform's.
    public init(loader: Loader = .automatic) { self.loader = loader }

    public func prepared(for settings: TransportSettings) -> any Transport {
      #if os(Linux)
        switch loader {
        case .automatic: return CurlSessionLoader(settings)
        case .engine: return CurlSessionLoader(settings, requiresEngine: true)
        case .system: break
        }
      #else
        if loader == .engine { return CurlTransport() }
      #endif
      return URLSessionLoader(settings)
    }

    public func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      // Used without a client: a session for this one request.
      try await prepared(for: TransportSettings()).send(request, context: context)
    }
  }

  extension Transport where Self == URLSessionTransport {
    /// `URLSession`, with the default loader of the platform.
    public static var urlSession: URLSessionTransport { URLSessionTransport() }

    /// `URLSession` with a specific loader.
    ///
    /// - Parameter loader: The loader; `.system` is the system's loader even on Linux, and `.engine` is only Martlet's.
    /// - Returns: The transport.
    public static func urlSession(loader: URLSessionTransport.Loader) -> URLSessionTransport {
      URLSessionTransport(loader: loader)
    }
  }
#endif
