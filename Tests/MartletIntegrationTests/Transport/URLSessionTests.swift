import Martlet
import Testing

/// What ``URLSessionTransport`` does, one test at a time: with the system's loader of Linux one thread loads for the whole
/// process, and many tests at once would measure each other.
///
/// What is not about that loader alone is tested with both.
@Suite(.oneAtATime, .serialized, .timeLimit(.minutes(3))) enum URLSessionTests {
  static let loaders: [URLSessionTransport.Loader] = [.automatic, .system]
}
