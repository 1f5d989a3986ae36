/// One state of a client's configuration, ready for use; a call keeps the one that it began with.
final class ClientSettings: Sendable {
  let configuration: HTTPClient.Configuration
  let transport: any Transport
  let defaultHeaders: HTTPHeaders

  init(_ configuration: HTTPClient.Configuration, reusing previous: ClientSettings? = nil) {
    self.configuration = configuration
    if let previous, previous.configuration.transportIdentity == configuration.transportIdentity {
      transport = previous.transport
    } else {
      transport = configuration.transport.prepared(for: configuration.transportSettings)
    }
    var headers: HTTPHeaders = ["Accept": "*/*", "User-Agent": configuration.userAgent]
    headers.replace(with: configuration.headers)
    defaultHeaders = headers
  }

  /// Whether every part on the way of a request watches the call for its end, so that no task is needed to end it.
  var isAbortAware: Bool { configuration.middleware.isEmpty && configuration.attemptMiddleware.isEmpty }
}
