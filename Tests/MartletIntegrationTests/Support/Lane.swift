#if os(Linux)
  import Martlet
  import TestSupport
  import Testing

  /// A transport on Martlet's own engine, which has to bear whatever comes.
  enum Lane: String, Codable, Sendable, CustomTestStringConvertible {
    case curl
    #if URLSession
      case urlSession
    #endif

    /// The lanes that tests of the engine run over: this is the one place to add one.
    #if URLSession
      static let engines: [Lane] = [.curl, .urlSession]
    #else
      static let engines: [Lane] = [.curl]
    #endif

    var transport: any Transport {
      switch self {
      case .curl: .curl
      #if URLSession
        case .urlSession: .urlSession
      #endif
      }
    }

    /// A client that repeats nothing, follows nothing, keeps nothing and accepts every status.
    func client(
      _ settings: ClientSetting..., change: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
    ) -> HTTPClient {
      HTTPClient {
        $0.transport = transport
        $0.retry = .off
        $0.redirects = .off
        $0.accepts = .any
        // A file that has grown old on a slow machine would be served from memory.
        $0.cache = .off
        for setting in settings { setting.apply(&$0) }
        change(&$0)
      }
    }

    var testDescription: String { rawValue }
  }
#endif
