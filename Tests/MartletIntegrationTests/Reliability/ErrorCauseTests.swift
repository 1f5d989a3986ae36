#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Failures on the wire and the errors that callers receive.
  @Suite(.hangLimit) struct ErrorCauseTests {
    @Test(arguments: Lane.engines, ErrorCause.all)
    func `the error describes its cause`(_ lane: Lane, _ cause: ErrorCause) async throws {
      try await expect(cause, lane)
    }

    @Test(.needs(.unknownNames), arguments: Lane.engines)
    func `the error describes an unknown host name`(_ lane: Lane) async throws { try await expect(.unknownName, lane) }

    private func expect(_ cause: ErrorCause, _ lane: Lane) async throws {
      let client = lane.client()

      let error = try #require(await #expect(throws: HTTPError.self) { try await cause.provoke(client) })

      #expect(error.kind == cause.kind || cause.kind == .tls && !HostFact.curlWithOpenSSL.holds, "\(error)")
      #expect(error.phase == cause.phase, "\(error)")
      #expect(cause.texts.contains { error.message.contains($0) }, "\(error)")
      #expect(error.mayHaveReachedServer == cause.hasReached, "\(error)")
      #expect(error.mayBeStaleConnection == cause.isStale, "\(error)")
      #expect(!error.message.contains("\n"))
      #expect(error.method != nil && error.redactedURL != nil)
      #expect(error.attempts.count <= 1)
      #expect(await becomes { client.core.entryCount <= 1 })
    }
  }
#endif
