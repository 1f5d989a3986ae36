#if canImport(Darwin) || URLSession
  #if canImport(FoundationNetworking)
    public import FoundationNetworking
  #else
    public import Foundation
  #endif

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
  /// On Apple platforms, a task is suspended while more than 1 MiB of its body is unread, and resumed when 256 KiB or
  /// less are unread. Foundation's loader on Linux cannot pause, so it delivers bytes as fast as they arrive. If more
  /// than 64 MiB accumulate because a streaming reader is slow, the exchange ends with ``HTTPError/Kind/unsupported``.
  ///
  /// The system's loaders reject a `GET` with a body, so such a request fails before anything is sent. They report the
  /// connection, the HTTP version and the times on Apple platforms only, and only at the end of a body.
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

    typealias Configure = @Sendable (URLSessionConfiguration) -> Void

    private let loader: Loader
    private let configure: Configure?

    /// Creates a transport with a loader, by default the platform's.
    public init(loader: Loader = .automatic) { (self.loader, configure) = (loader, nil) }

    /// Creates a transport whose session a closure configures; see ``Transport/urlSession(loader:configure:)``.
    ///
    /// - Parameters:
    ///   - loader: The loader, by default the platform's; on Linux it must be `.system`.
    ///   - configure: Changes the session's configuration.
    public init(loader: Loader = .automatic, configure: @escaping @Sendable (URLSessionConfiguration) -> Void) {
      (self.loader, self.configure) = (loader, configure)
    }

    public func prepared(for settings: TransportSettings) -> any Transport {
      #if os(Linux)
        if configure != nil, loader != .system { return UnusableTransport(Self.noConfiguration) }
        switch loader {
        case .automatic: return CurlSessionLoader(settings)
        case .engine: return CurlSessionLoader(settings, requiresEngine: true)
        case .system: break
        }
      #else
        if loader == .engine { return CurlTransport() }
      #endif
      return URLSessionLoader(settings, configure: configure)
    }

    #if os(Linux)
      private static let noConfiguration =
        "Martlet's engine has no URLSessionConfiguration; on Linux, use the client's own settings, or "
        + ".urlSession(loader: .system) { configuration in … }"
    #endif

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

    /// `URLSession` with a configuration that a closure changes, for the system's loader.
    ///
    /// Use it for properties of the session that the client lacks, such as `waitsForConnectivity`,
    /// `multipathServiceType`, `networkServiceType` or `protocolClasses`:
    ///
    /// ```swift
    /// let client = HTTPClient {
    ///   $0.transport = .urlSession { configuration in
    ///     configuration.waitsForConnectivity = true
    ///     configuration.networkServiceType = .responsiveData
    ///   }
    /// }
    /// ```
    ///
    /// The closure runs when a client is created, and when its connection settings change. If it changes a property
    /// that the client's promises depend on, every request throws ``HTTPError/Kind/invalidRequest`` before anything is
    /// sent. These are the properties for cookies, caching, credentials, header fields, time limits, connection limits,
    /// the minimum TLS version, expensive and constrained networks, and background sessions. The error names the
    /// property and the client's own setting. `connectionProxyDictionary` requires a client without a proxy.
    ///
    /// On Linux, the closure requires `loader: .system`. With the other loaders every request throws
    /// ``HTTPError/Kind/unsupported``, because Martlet's engine has no `URLSessionConfiguration`. There, properties that
    /// Foundation ignores are errors too, including `connectionProxyDictionary`.
    ///
    /// The client's stored state does not depend on the closure: give clients whose sessions reach different servers
    /// their own caches.
    ///
    /// - Parameters:
    ///   - loader: The loader, by default the platform's; on Linux it must be `.system`.
    ///   - configure: Changes the session's configuration.
    /// - Returns: The transport.
    public static func urlSession(
      loader: URLSessionTransport.Loader = .automatic,
      configure: @escaping @Sendable (URLSessionConfiguration) -> Void
    ) -> URLSessionTransport {
      URLSessionTransport(loader: loader, configure: configure)
    }
  }

  #if os(Linux)
    /// A transport that refuses every request, with its reason.
    private struct UnusableTransport: DiagnosableTransport {
      let reason: String

      init(_ reason: String) { self.reason = reason }

      var diagnostics: HTTPClient.Diagnostics {
        var diagnostics = HTTPClient.Diagnostics(loader: .engine)
        diagnostics.engineProblem = reason
        return diagnostics
      }

      func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
        throw HTTPError(.unsupported, reason, request: request)
      }
    }
  #endif
#endif
