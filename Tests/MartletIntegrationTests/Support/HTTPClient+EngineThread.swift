#if os(Linux)
  import Testing

  @testable import Martlet

  extension HTTPClient {
    /// Whether the thread of the client's engine runs.
    nonisolated func hasEngineThread() throws -> Bool { try #require(core.settings.transport as? CurlLoader).hasThread }
  }
#endif
