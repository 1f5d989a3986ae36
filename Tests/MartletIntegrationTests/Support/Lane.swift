#if os(Linux)
  import Martlet
  import Testing

  /// A transport on Martlet's own engine, which has to bear whatever comes.
  enum Lane: String, Codable, Sendable, CustomTestStringConvertible {
    case curl
    case urlSession

    /// The lanes that tests of the engine run over: this is the one place to add one.
    static let engines: [Lane] = [.curl, .urlSession]

    var transport: any Transport {
      switch self {
      case .curl: .curl
      case .urlSession: .urlSession
      }
    }

    /// A client that repeats nothing, follows nothing, keeps nothing and accepts every status.
    func client(_ configure: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }) -> HTTPClient {
      HTTPClient {
        $0.transport = transport
        $0.retry = .off
        $0.redirects = .off
        $0.accepts = .any
        // A file that has grown old on a slow machine would be served from memory.
        $0.cache = .off
        configure(&$0)
      }
    }

    var testDescription: String { rawValue }
  }
#endif
