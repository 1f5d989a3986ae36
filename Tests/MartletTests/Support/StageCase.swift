import Foundation
import MartletTesting
import TestSupport

@testable import Martlet

/// A call without a client, for testing one stage.
struct StageCase {
  typealias Response = (status: HTTPStatus, headers: HTTPHeaders)

  let core: ClientCore
  let call: Call

  init(
    _ request: HTTPRequest, options: RequestOptions = RequestOptions(),
    _ configure: (inout HTTPClient.Configuration) -> Void = { _ in }
  ) throws {
    var configuration = HTTPClient.Configuration()
    configuration.clock = TestClock()
    configuration.now = { Date(timeIntervalSince1970: 1_700_000_000) }
    configuration.transport = StubTransport { _ in .text("never sent") }
    configure(&configuration)
    core = ClientCore(ClientSettings(configuration))
    call = try core.begin(request, options: options, isManaged: false)
  }

  /// Runs a stage with the call's first request.
  ///
  /// `respond` replaces the stages below and receives the request's number. Returns the response and the requests that
  /// the stage passed on.
  func run(
    _ stage: any Stage,
    _ respond: @escaping @Sendable (Hop, Int) async throws -> Response = { _, _ in (.ok, [:]) }
  ) async throws -> (response: StreamedResponse, passed: [Hop]) {
    let below = Below(respond: respond)
    let response = try await stage.run(call.first, RequestContext(call: call), Next(stages: [below]))
    return (response, below.passed.value)
  }

  private struct Below: Stage {
    let respond: @Sendable (Hop, Int) async throws -> Response
    let passed = Shared<[Hop]>([])

    func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
      let number = passed.withLock {
        $0.append(hop)
        return $0.count
      }
      let (status, headers) = try await respond(hop, number)
      return StreamedResponse(status: status, headers: headers, request: hop.request)
    }
  }
}
