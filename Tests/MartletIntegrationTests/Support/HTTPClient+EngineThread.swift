#if os(Linux)
  import Testing

  @testable import Martlet

  extension HTTPClient {
    /// Whether the client's engine thread is running.
    nonisolated func hasEngineThread() throws -> Bool { try #require(core.settings.transport as? CurlLoader).hasThread }
  }
#endif
