public import Martlet
public import ServiceLifecycle

/// A client as a service of swift-service-lifecycle.
///
/// At a graceful shutdown, the client accepts no new requests, and the service ends when all requests have ended.
///
/// ```swift
/// let group = ServiceGroup(services: [ClientService(client), server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// ```
///
/// Services are shut down in reverse order: name the client before the services that use it.
public struct ClientService: Service {
  /// The client.
  public let client: HTTPClient
  /// How long requests may take at a shutdown before they are cancelled.
  public let patience: Duration

  /// Creates a service.
  ///
  /// - Parameters:
  ///   - client: The client.
  ///   - patience: How long requests may take at a shutdown before they are cancelled; 30 seconds by default.
  public init(_ client: HTTPClient, patience: Duration = .seconds(30)) {
    self.client = client
    self.patience = patience
  }

  public func run() async throws {
    let (shutdown, continuation) = AsyncStream.makeStream(of: Void.self)
    await withTaskCancellationOrGracefulShutdownHandler {
      for await _ in shutdown {}
    } onCancelOrGracefulShutdown: {
      continuation.finish()
    }
    // A cancelled group must not wait.
    await client.drain(timeout: Task.isCancelled ? .zero : patience)
  }
}
