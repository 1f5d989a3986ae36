/// Sends requests with a `URLSession`.
public struct URLSessionTransport: Transport {
  /// A transport with the system's loader.
  public init() {}

  public func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
    throw HTTPError(.unsupported, "not yet")
  }
}

extension Transport where Self == URLSessionTransport {
  /// `URLSession`.
  public static var urlSession: URLSessionTransport { URLSessionTransport() }
}
