@testable import Martlet

/// A transport that a closure makes from the client's settings.
struct PreparedTransport: Transport {
  private let prepare: @Sendable (TransportSettings) -> any Transport

  init(_ prepare: @escaping @Sendable (TransportSettings) -> any Transport) { self.prepare = prepare }

  func prepared(for settings: TransportSettings) -> any Transport { prepare(settings) }

  func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
    try await prepare(TransportSettings()).send(request, context: context)
  }
}

#if canImport(Darwin) || URLSession
  extension Transport where Self == PreparedTransport {
    /// The system's loader, whatever `.urlSession` selects.
    static var systemLoader: PreparedTransport { PreparedTransport { URLSessionLoader($0) } }
  }
#endif
