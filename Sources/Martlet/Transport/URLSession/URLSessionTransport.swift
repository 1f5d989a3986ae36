/// Sends requests with a `URLSession`.
///
/// Cookies, cache, redirects, credentials and time limits are the client's: of the session only loading is used.
///
/// This loader hands bytes over as fast as they come. A reader that streams a body and lets more than 64 MiB of it pile
/// up ends its exchange with ``HTTPError/Kind/unsupported``. A `GET` with a body is refused by `URLSession`,
/// and so is refused here before anything is sent. What else holds on Linux only is in `Docs/LinuxNotes.md`.
public struct URLSessionTransport: Transport {
  /// A transport with the system's loader.
  public init() {}

  public func prepared(for settings: TransportSettings) -> any Transport { URLSessionLoader(settings) }

  public func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
    // Sent without having been prepared for a client: a session for this one request.
    try await URLSessionLoader(TransportSettings()).send(request, context: context)
  }
}

extension Transport where Self == URLSessionTransport {
  /// `URLSession`.
  public static var urlSession: URLSessionTransport { URLSessionTransport() }
}
