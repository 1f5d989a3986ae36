/// A transport on `URLSession`.
///
/// Cookies, cache, redirects, credentials and time limits are the client's: of the session only loading is used.
///
/// On Apple platforms the system loads. On Linux the session is given a loader of Martlet's own, on the system's
/// libcurl: the one that Foundation has there can be crashed by a server, and pushes bytes at a reader that is too
/// slow for them. What ``CurlTransport`` does holds for it too. Without a usable libcurl the system loads there as
/// well, which is said once on standard error, unless ``Loader/engine`` is asked for. `Docs/LinuxNotes.md` has what
/// that means, and ``HTTPClient/diagnostics`` says what loads.
///
/// The system's loader hands bytes over as fast as they come. A reader that streams a body and lets more than 64 MiB of
/// it pile up ends its exchange with ``HTTPError/Kind/unsupported``. A `GET` with a body is refused by that loader, and
/// so is refused here before anything is sent.
public struct URLSessionTransport: Transport {
  /// The loader of the session.
  public enum Loader: Sendable, Hashable {
    /// The loader that suits the platform: Martlet's own on Linux, elsewhere the system's.
    ///
    /// Where Linux has no libcurl that the engine can use, the system's, which is said once on standard error, and by
    /// ``HTTPClient/diagnostics``.
    case automatic
    /// Martlet's own, or none: where it cannot be used, each request throws ``HTTPError/Kind/unsupported``. On Linux
    /// only.
    case engine
    /// The system's loader, also on Linux.
    case system
  }

  private let loader: Loader

  /// A transport with a loader, the one that suits the platform by default.
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
    // Sent without having been prepared for a client: a session for this one request.
    try await prepared(for: TransportSettings()).send(request, context: context)
  }
}

extension Transport where Self == URLSessionTransport {
  /// `URLSession`, with the loader that suits the platform.
  public static var urlSession: URLSessionTransport { URLSessionTransport() }

  /// `URLSession` with a certain loader.
  ///
  /// - Parameter loader: `.system` asks for the system's loader on Linux too, `.engine` for Martlet's and no other one.
  /// - Returns: The transport.
  public static func urlSession(loader: URLSessionTransport.Loader) -> URLSessionTransport {
    URLSessionTransport(loader: loader)
  }
}
