import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Two clients that share a cache and a jar and differ in one setting, for every pair of settings (decision 0035).
@Suite(.hangLimit) struct NetworkPartitionTests {
  typealias Setting = NetworkSetting

  /// The kind of cache that two clients share.
  enum Meeting: String, CaseIterable {
    case memory, disk, store

    /// Returns the caches of two clients: a single cache in memory, otherwise one per process.
    func caches(_ folder: URL) -> (ResponseCache, ResponseCache) {
      switch self {
      case .memory:
        let cache = ResponseCache.memory()
        return (cache, cache)
      case .disk: return (.disk(folder), .disk(folder))
      case .store:
        let store = CacheStoreTests.Dictionary()
        return (.store(store), .store(store))
      }
    }
  }

  /// The settings to compare with; only two under a sanitizer, which finds no more with the others.
  private static func others(of first: Setting) -> [Setting] { isSanitized ? [first, .nothing] : Setting.allCases }

  private static let date = Date(timeIntervalSince1970: 1_700_000_000)

  /// Responds with the number of the request; the response is fresh for a minute.
  private static func counting() -> StubTransport {
    let count = Shared(0)
    return StubTransport { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      return .text("body \(number)", headers: ["Cache-Control": "max-age=60"])
    }
  }

  @Test(arguments: Setting.allCases, Meeting.allCases)
  func `a stored response is served only under the settings it was fetched with`(
    first: Setting, meeting: Meeting
  ) async throws {
    // Other caches use the same keys, so only the in-memory cache is tested with every pair.
    let others = meeting == .memory || first == .nothing ? Self.others(of: first) : [first, .nothing]
    for second in others {
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      let transport = Self.counting()
      let caches = meeting.caches(folder.url)
      let one = HTTPClient.stubbed(transport, .cache(caches.0)).derived(first.configure)
      let two = HTTPClient.stubbed(transport, .cache(caches.1)).derived(second.configure)

      let brought = try await one.send(first.request, options: first.options)
      let served = try await two.send(second.request, options: second.options)
      let again = try await one.send(first.request, options: first.options)

      let isSame = first == second && first != .resolver && (meeting == .memory || !first.endsWithProcess)
      #expect(served.source == (isSame ? .cache : .network), "\(first), \(second)")
      #expect(served.text == (isSame ? "body 1" : "body 2"), "\(first), \(second)")
      #expect(brought.text == "body 1" && again.source == .cache && again.text == "body 1", "\(first), \(second)")
    }
  }

  @Test(arguments: Setting.allCases)
  func `a cookie is sent only by clients that would have trusted its server`(first: Setting) async throws {
    for second in Self.others(of: first) {
      let transport = StubTransport { _ in .status(.ok, headers: ["Set-Cookie": "a=1"]) }
      let base = HTTPClient.stubbed(transport, .cache(.off))

      _ = try await base.derived(first.configure).send(first.request, options: first.options)
      _ = try await base.derived(second.configure).send(second.request, options: second.options)

      let isShared = first == second || !first.isAuthority && !second.isAuthority
      #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, isShared ? "a=1" : nil], "\(first), \(second)")
    }
  }

  @Test(arguments: Setting.allCases.filter { !$0.isCredential })
  func `a Digest nonce is reused only by clients that would have trusted its server`(first: Setting) async throws {
    for second in Self.others(of: first) where !second.isCredential {
      let transport = StubTransport { request in
        guard request.headers.contains("Authorization") else {
          return .status(.unauthorized, headers: ["WWW-Authenticate": "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""])
        }
        return .text("x")
      }
      let base = HTTPClient.stubbed(transport, .cache(.off)).derived {
        $0.authenticators[.origin("https://a.test")] = .digest(user: "ada", password: "1")
      }

      _ = try await base.derived(first.configure).send(first.request, options: first.options)
      _ = try await base.derived(second.configure).send(second.request, options: second.options)

      let isShared = first == second || !first.isAuthority && !second.isAuthority
      #expect(transport.requests.count == (isShared ? 3 : 4), "\(first), \(second)")
    }
  }

  @Test(arguments: Setting.allCases.filter { $0 != .nothing })
  func `requests with different settings are not coalesced`(setting: Setting) async throws {
    let gate = Gate()
    let transport = StubTransport { request in
      await gate.pass()
      return .text("\(request.headers)", headers: ["Cache-Control": "max-age=60"])
    }
    let base = HTTPClient.stubbed(transport, .cache(.memory()))

    let usual = Task { try await base.send(Setting.nothing.request) }
    await gate.waitForArrivals(1)
    let other = Task { try await base.derived(setting.configure).send(setting.request, options: setting.options) }
    await gate.waitForArrivals(2)
    gate.open()

    #expect(try await usual.value.source == .network)
    #expect(try await other.value.source == .network)
  }

  // MARK: Digests

  @Test func `default settings have the empty partition in every process`() {
    let partition = NetworkPartition(TransportSettings())

    #expect(partition.name.isEmpty && partition.authority.isEmpty && partition.certificate == nil)
    #expect(partition.checksServers && partition.isLasting)
  }

  @Test func `a proxy does not change the authority, and a resolver partition does not last`() {
    var settings = TransportSettings()
    settings.proxy = .proxy("http://proxy.test")
    let fixed = NetworkPartition(settings)
    settings.proxy = .resolver { _ in nil }
    let resolver = NetworkPartition(settings)

    #expect(fixed.authority.isEmpty && !fixed.name.isEmpty && fixed.isLasting)
    #expect(fixed == NetworkPartition(fixedProxy("http://proxy.test")))
    // The digest does not include the password.
    #expect(
      NetworkPartition(fixedProxy("http://a:1@proxy.test")) == NetworkPartition(fixedProxy("http://a:2@proxy.test")))
    #expect(resolver.authority.isEmpty && !resolver.isLasting)
    #expect(resolver == NetworkPartition(settings))
    settings.proxy = .resolver { _ in nil }
    #expect(resolver != NetworkPartition(settings))
  }

  private func fixedProxy(_ url: String) -> TransportSettings {
    var settings = TransportSettings()
    settings.proxy = .proxy(Proxy(url))
    return settings
  }

  @Test func `the order of pins and address exceptions does not matter`() {
    func partition(_ pins: [String], _ exceptions: [String]) -> NetworkPartition {
      var settings = TransportSettings()
      settings.tls.pins = pins
      settings.addresses = AddressPolicy(except: exceptions)
      return NetworkPartition(settings)
    }
    let pins = [Setting.pin(1), Setting.pin(2)]

    #expect(
      partition(pins, ["127.0.0.1", "10.0.0.0/8"]) == partition(pins.reversed(), ["10.0.0.0/8", "127.0.0.1"]))
    #expect(partition(pins, ["127.0.0.1"]) != partition(pins, ["127.0.0.2"]))
  }

  @Test func `the environment's proxy has a partition without its password`() throws {
    let none = try ProxyEnvironment(["no_proxy": "*"])
    let some = try ProxyEnvironment(["http_proxy": "http://a:secret@proxy.test:1", "no_proxy": "b.test"])
    let other = try ProxyEnvironment(["http_proxy": "http://a:secret@proxy.test:1", "no_proxy": "c.test"])

    #expect(none.partition == nil)
    #expect(some.partition != nil && some.partition != other.partition)
    #expect(some.partition?.contains("secret") == false)
  }
}
