#if canImport(Darwin) || URLSession
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// Which properties of a session's configuration a program may change.
  @Suite(.hangLimit) struct SessionPropertyTests {
    typealias Change = @Sendable (URLSessionConfiguration) -> Void

    /// A change of each refused property, and a word of the remedy.
    private static let refused: [(property: SessionProperty, change: Change, remedy: String)] = {
      var rows: [(SessionProperty, Change, String)] = [
        (.httpCookieStorage, { $0.httpCookieStorage = .shared }, "'cookies'"),
        (.httpCookieAcceptPolicy, { $0.httpCookieAcceptPolicy = .always }, "'cookies'"),
        (.httpShouldSetCookies, { $0.httpShouldSetCookies = true }, "'cookies'"),
        (.urlCache, { $0.urlCache = URLCache(memoryCapacity: 0, diskCapacity: 0, diskPath: nil) }, "'cache'"),
        (.requestCachePolicy, { $0.requestCachePolicy = .returnCacheDataElseLoad }, "'cache'"),
        (.urlCredentialStorage, { $0.urlCredentialStorage = .shared }, "'authenticators'"),
        (.httpAdditionalHeaders, { $0.httpAdditionalHeaders = ["Authorization": "secret"] }, "'headers'"),
        (.timeoutIntervalForRequest, { $0.timeoutIntervalForRequest = 60 }, "'timeout'"),
        (.timeoutIntervalForResource, { $0.timeoutIntervalForResource = 60 }, "'timeout'"),
        (
          .httpMaximumConnectionsPerHost, { $0.httpMaximumConnectionsPerHost = 2 }, "'maximumConnectionsPerHost'"
        ),
        (.isDiscretionary, { $0.isDiscretionary = true }, "background"),
      ]
      #if canImport(FoundationNetworking)
        let more: [(SessionProperty, Change, String)] = [
          (.identifier, { $0.identifier = "a" }, "background"),
          (.connectionProxyDictionary, { $0.connectionProxyDictionary = ["HTTPEnable": 1] }, "ignores"),
          (.networkServiceType, { $0.networkServiceType = .background }, "ignores"),
          (.allowsCellularAccess, { $0.allowsCellularAccess = false }, "ignores"),
        ]
        rows += more
      #endif
      return rows
    }()

    #if canImport(FoundationNetworking)
      @Test func `the table has a row for each refused property`() {
        #expect(Self.refused.map(\.property.rawValue).sorted() == SessionProperty.allCases.map(\.rawValue).sorted())
      }
    #endif

    @Test(arguments: refused.indices)
    func `a refused property fails every request, with its name and the setting to use`(_ row: Int) async throws {
      let (property, change, remedy) = Self.refused[row]
      let client = HTTPClient(.urlSession(loader: .system, configure: change), .retry(.off))

      for _ in 0..<2 {
        let error = try await #require(throws: HTTPError.self) { try await client.get("http://127.0.0.1:9/") }

        #expect(error.kind == .invalidRequest && error.wasNotProcessed)
        #expect(error.message.contains(" \(property.rawValue), but ") && error.message.contains(remedy))
        #expect(!error.description.contains("secret"))
      }
    }

    @Test func `each property is compared, and the first refused one is reported`() {
      for property in SessionProperty.allCases where property != .connectionProxyDictionary {
        let problem = SessionProperty.problem([property], hasProxy: false)
        #expect(problem?.message.hasPrefix("the closure of .urlSession changes \(property.rawValue), but ") == true)
      }
      let both = SessionProperty.problem([.urlCache, .httpShouldSetCookies], hasProxy: false)
      #expect(both?.message.contains("urlCache") == true)
      #expect(SessionProperty.problem([], hasProxy: true) == nil)
      #expect(SessionProperty.problem([.connectionProxyDictionary], hasProxy: true) != nil)
    }

    @Test func `an unchanged configuration and other properties are accepted`() {
      let accepted: [Change] = [
        { _ in },
        { $0.protocolClasses = [] },
        { $0.httpAdditionalHeaders = [:] },
        { $0.urlCache = nil },
      ]
      for change in accepted {
        let configuration = URLSessionLoader.configuration
        change(configuration)

        #expect(SessionProperty.changed(from: URLSessionLoader.configuration, to: configuration).isEmpty)
      }
    }

    @Test func `the closure runs when a client is prepared, not for each request`() async {
      let runs = Log<Int>()
      let client = HTTPClient(
        .urlSession(loader: .system) { configuration in
          runs.add(1)
          configuration.urlCache = URLCache(memoryCapacity: 0, diskCapacity: 0, diskPath: nil)
        })

      for _ in 0..<3 { _ = try? await client.get("http://127.0.0.1:9/") }
      _ = client.derived { $0.guards = [.allowedHosts(["a.test"])] }
      #expect(runs.elements.count == 1)
      _ = client.derived { $0.maximumConnections = 7 }
      #expect(runs.elements.count == 2)
    }

    #if os(Linux)
      @Test(arguments: [URLSessionTransport.Loader.automatic, .engine])
      func `the engine of Linux refuses a closure`(_ loader: URLSessionTransport.Loader) async throws {
        let runs = Log<Int>()
        let client = HTTPClient(.urlSession(loader: loader) { _ in runs.add(1) }, .retry(.off))

        let error = try await #require(throws: HTTPError.self) { try await client.get("http://127.0.0.1:9/") }

        #expect(error.kind == .unsupported && error.message.contains(".urlSession(loader: .system)"))
        #expect(runs.elements.isEmpty)
        #expect(client.diagnostics.engineProblem == error.message)
      }
    #endif
  }
#endif
