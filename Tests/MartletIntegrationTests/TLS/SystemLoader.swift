@testable import Martlet

/// The system's loader, whatever `.urlSession` stands for.
struct SystemLoader: Transport {
  func prepared(for settings: TransportSettings) -> any Transport { URLSessionLoader(settings) }

  func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
    try await URLSessionLoader(TransportSettings()).send(request, context: context)
  }
}
