#if canImport(Darwin) || URLSession
  import Martlet
  import TestSupport
  import Testing

  /// The behavior of ``URLSessionTransport``.
  ///
  /// On Linux, a single thread of the system's loader serves the whole process, so no test may depend on its speed.
  ///
  /// Everything that is not specific to that loader is tested with both.
  @Suite(.hangLimit) enum URLSessionTests {
    static let loaders: [URLSessionTransport.Loader] = [.automatic, .system]
  }
#endif
