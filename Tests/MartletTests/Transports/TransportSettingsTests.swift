import Foundation
import MartletTesting
import TestSupport
import Testing
#if os(Linux)
  import CurlEngine
#endif

@testable import Martlet

@Suite struct TransportSettingsTests {
  /// A change of each property; a test compares the names with those of the properties.
  static let changes: [(name: String, change: @Sendable (inout TransportSettings) -> Void)] = [
    ("maximumConnectionsPerHost", { $0.maximumConnectionsPerHost = 7 }),
    ("maximumRequestsPerHost", { $0.maximumRequestsPerHost = 7 }),
    ("maximumConnections", { $0.maximumConnections = 7 }),
    ("allowsExpensiveNetworks", { $0.allowsExpensiveNetworks = false }),
    ("allowsConstrainedNetworks", { $0.allowsConstrainedNetworks = false }),
    ("engineThreads", { $0.engineThreads = 2 }), ("tls", { $0.tls.minimumVersion = .v1_3 }),
    ("proxy", { $0.proxy = .proxy("http://proxy.test", except: ["a.test"]) }),
    ("resolve", { $0.resolve = ["a.test": ["127.0.0.1"]] }), ("unixSocket", { $0.unixSocket = "/s" }),
    ("localInterface", { $0.localInterface = "lo" }),
    ("idleConnectionLifetime", { $0.idleConnectionLifetime = .seconds(1) }),
    ("maximumConnectionAge", { $0.maximumConnectionAge = .seconds(1) }),
    ("shufflesAddresses", { $0.shufflesAddresses = true }),
    ("addresses", { $0.addresses = AddressPolicy(except: []) }),
  ]

  /// Properties that only tests set.
  private static let testOnly: Set = ["answerPace", "receiveMarks", "fileInterval"]

  @Test func `compares each property`() {
    let names = Mirror(reflecting: TransportSettings()).children.compactMap(\.label)
    #expect(Set(names).subtracting(Self.testOnly) == Set(Self.changes.map(\.name)))

    for (name, change) in Self.changes {
      var settings = TransportSettings()
      change(&settings)
      let copy = settings
      #expect(settings.isSame(as: copy), "\(name)")
      #expect(!settings.isSame(as: TransportSettings()), "\(name)")
    }
  }

  @Test func `the maximum age of connections must be positive`() async {
    let extremes = [Int64.min, -1, 0, 1, .max].flatMap { [Duration.seconds($0), .nanoseconds($0)] }
    for age in extremes {
      var settings = TransportSettings()
      settings.maximumConnectionAge = age
      #expect((settings.problem == nil) == (age > .zero), "\(age)")
      #if os(Linux)
        let limit = CurlConnectionSettings(settings).maximumAge ?? 0
        #expect(limit >= 1 && limit <= 1 << 50)
      #endif
    }
    let client = HTTPClient(StubTransport(script: [.text("x")])) { $0.maximumConnectionAge = .zero }
    let error = await #expect(throws: HTTPError.self) { try await client.get("https://a.test/") }
    #expect(error?.kind == .invalidRequest && error?.message.contains("maximumConnectionAge is 0") == true)
  }

  @Test func `a resolver equals only itself`() {
    var (first, second) = (TransportSettings(), TransportSettings())
    first.proxy = .resolver { _ in nil }
    second.proxy = .resolver { _ in nil }

    #expect(!first.isSame(as: second))
    second.proxy = first.proxy
    #expect(first.isSame(as: second))
  }

  @Test func `only a client with other settings prepares the transport again`() async {
    let transport = CountingTransport()
    let client = HTTPClient {
      $0.transport = transport
      $0.proxy = .resolver { _ in nil }
    }

    _ = client.derived { $0.dataBudget = .perDay(1 << 30) }
    _ = client.derived { $0.maximumConnections = $0.maximumConnections }
    _ = client.derived { $0.proxy = $0.proxy }
    _ = client.derived {
      $0.maximumConnections = 7
      $0.maximumConnections = 64
    }
    await client.update { $0.guards = [.httpsOnly] }
    #expect(transport.count.value == 1)
    _ = client.derived { $0.maximumConnections = 7 }
    #expect(transport.count.value == 2)
  }

  private struct CountingTransport: Transport {
    final class Count: Sendable {
      private let number = Log<Int>()
      var value: Int { number.elements.count }
      func add() { number.add(1) }
    }

    let count = Count()

    func prepared(for settings: TransportSettings) -> any Transport {
      count.add()
      return self
    }

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      throw CancellationError()
    }
  }
}
