#if canImport(Darwin) || URLSession
  import Martlet
  import TestSupport
  import Testing

  /// What ``URLSessionTransport`` does.
  ///
  /// With the system's loader of Linux one thread loads for the whole process: no test may
  /// depend on how soon it comes to something.
  ///
  /// What is not about that loader alone is tested with both.
  @Suite(.hangLimit) enum URLSessionTests {
    static let loaders: [URLSessionTransport.Loader] = [.automatic, .system]
  }
#endif
