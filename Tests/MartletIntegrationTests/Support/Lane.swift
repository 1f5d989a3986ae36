#if os(Linux)
  import Martlet
  import TestSupport
  import Testing

  /// A transport on Martlet's own engine, which must withstand whatever a peer sends.
  enum Lane: String, Codable, Sendable, CustomTestStringConvertible {
    case curl
    #if URLSession
      case urlSession
    #endif

    /// The transports that tests of the engine cover. To add a transport, change only this list.
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

    /// Returns a client without retries, redirects or a cache that accepts every status.
    func client(
      _ settings: ClientSetting..., change: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
    ) -> HTTPClient {
      HTTPClient {
        $0.transport = transport
        $0.retry = .off
        $0.redirects = .off
        $0.accepts = .any
        // On a slow machine, a file may become old enough to be served from memory.
        $0.cache = .off
        for setting in settings { setting.apply(&$0) }
        change(&$0)
      }
    }

    var testDescription: String { rawValue }
  }
#endif
