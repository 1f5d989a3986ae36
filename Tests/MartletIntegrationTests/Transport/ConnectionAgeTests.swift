#if os(Linux)
  import Foundation
  import Martlet
  import MartletBase
  import MartletTesting
  import TestSupport
  import Testing

  @testable import CurlEngine

  @Suite(.needs(.reportedRequests), .hangLimit) struct ConnectionAgeTests {
    private static func limit(_ age: Duration) -> ClientSetting { ClientSetting { $0.maximumConnectionAge = age } }

    @Test(arguments: Lane.engines) func `a connection that is too old serves no new request`(_ lane: Lane) async throws
    {
      let server = try MockServer(.ok("x"))
      let (limited, unlimited) = (lane.client(Self.limit(.milliseconds(200))), lane.client())

      for client in [limited, unlimited] { _ = try await client.get(RequestTarget(server.url)) }
      try await Task.sleep(for: .milliseconds(250))
      let (first, second) = (
        try await limited.get(RequestTarget(server.url)), try await unlimited.get(RequestTarget(server.url))
      )

      #expect(first.connection?.isReused == false && second.connection?.isReused == true)
      #expect(server.connectionCount == 3)
    }

    @Test(arguments: Lane.engines) func `a young connection is reused`(_ lane: Lane) async throws {
      let server = try MockServer(.ok("x"))
      let client = lane.client(Self.limit(.seconds(600)))

      for _ in 0..<3 { _ = try await client.get(RequestTarget(server.url)) }

      #expect(server.connectionCount == 1)
    }

    @Test(.needs(.openssl), .needs(.http2), .needsHTTP2Server, arguments: Lane.engines)
    func `a busy HTTP/2 connection takes no new streams and ends with its last one`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await HTTP2Server(try await authority.identity())
      let client = lane.client(Self.limit(.seconds(3))) { $0.tls = .customRoots(pem: root) }

      async let long = client.get(server.target(1, ["head", "data:a", "until:9", "last:b"]))
      #expect(await becomes { server.count(of: 1) == 1 })
      try await Task.sleep(for: .milliseconds(3_050))
      let ports = try await withThrowingTaskGroup(of: Int?.self) { group in
        for number in 2..<6 {
          group.addTask {
            let response = try await client.get(server.target(number, ["head", "last:x"]))
            return response.httpVersion == .http2 ? response.connection?.localPort : nil
          }
        }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }
      #expect(!ports.contains(nil) && (ports.count == 1 || CurlLibrary.opensConnectionsAtOnce))
      #expect(server.connectionCount() == 1 + ports.count)
      let later = try await client.get(server.target(9, ["head", "last:x"]))
      let whole = try await long

      #expect(whole.text == "ab" && whole.connection.map { !ports.contains($0.localPort) } == true)
      #expect(later.connection.map { ports.contains($0.localPort) } == true)
      #expect(await becomes { server.closedCount >= 1 })
    }

    @Test(.needs(.openssl), .needs(.http2), .needsHTTP2Server)
    func `a busy HTTP/2 connection takes new streams while the limits allow no other`() async throws {
      try await expectOneConnection()
    }

    @Test(.needs(.openssl, .tinyproxy), .needs(.http2), .needsHTTP2Server)
    func `a busy tunnel takes new streams while the limit for its host allows no other`() async throws {
      let proxy = try await ProxyProgram.http(user: "user", password: "secret")

      try await expectOneConnection(.proxy(Proxy("http://user:secret@127.0.0.1:\(proxy.port)")))

      #expect(proxy.tunnelCount == 1)
    }

    /// Expects a second request to use the connection of the first one, although it is too old.
    private func expectOneConnection(_ setting: ClientSetting = ClientSetting { _ in }) async throws {
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await HTTP2Server(try await authority.identity())
      let trust = ClientSetting { $0.tls = .customRoots(pem: root) }
      let client = Lane.curl.client(setting, trust, Self.limit(.milliseconds(100))) {
        $0.maximumConnectionsPerHost = 1
      }
      let other = Lane.curl.client(trust)

      async let long = client.get(server.target(1, ["head", "data:a", "until:3", "last:b"]))
      #expect(await becomes { server.count(of: 1) == 1 })
      try await Task.sleep(for: .milliseconds(150))
      async let second = client.get(server.target(2, ["head", "last:x"]))
      #expect(await becomes { client.activity.current.running.count == 2 })
      try await Task.sleep(for: .seconds(1))
      _ = try await other.get(server.target(3, ["head", "last:y"]))
      let (whole, added) = (try await long, try await second)

      #expect(whole.text == "ab" && added.text == "x")
      #expect(added.connection.map { $0.isReused && $0.localPort == whole.connection?.localPort } == true)
    }

    @Test(.needs(.openssl), .needs(.http2), .needsHTTP2Server)
    func `requests open no connections if those of all keys are too old and busy`() async throws {
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await HTTP2Server(try await authority.identity())
      let client = Lane.curl.client(Self.limit(.milliseconds(300))) { $0.tls = .customRoots(pem: root) }
      let other = Lane.curl.client { $0.tls = .customRoots(pem: root) }
      let busy = ExclusiveConnections.sharedKeys.count

      try await withThrowingTaskGroup { group in
        for number in 1...busy {
          group.addTask {
            _ = try await client.get(server.target(number, ["head", "data:a", "until:99", "last:b"]))
          }
          #expect(await becomes { server.count(of: number) == 1 })
          try await Task.sleep(for: .milliseconds(350))
        }
        let count = server.connectionCount()
        for number in 0..<10 {
          group.addTask { _ = try await client.get(server.target(20 + number, ["head", "last:x"])) }
        }
        #expect(await becomes { client.activity.current.running.count == busy + 10 })
        try await Task.sleep(for: .milliseconds(300))
        #expect(count == busy && server.connectionCount() == busy)
        _ = try await other.get(server.target(99, ["head", "last:y"]))
        try await group.waitForAll()
      }
    }

    @Test(
      arguments: [
        (ConnectionCount(open: 1, idle: 0), 0, 1, 64, false), (ConnectionCount(open: 1, idle: 0), 0, 2, 64, true),
        (ConnectionCount(open: 2, idle: 1), 0, 2, 64, true), (ConnectionCount(open: 1, idle: 0), 3, 6, 4, false),
        (ConnectionCount(open: 1, idle: 0), 3, 6, 5, true), (ConnectionCount(open: 9, idle: 0), 9, 0, 0, true),
      ]) func `a new connection needs room within the limits`(
        _ own: ConnectionCount, others: Int, perHost: Int, total: Int, hasRoom: Bool
      )
    {
      let origin = Origin(scheme: "https", host: "a.test", port: 443)
      let other = Origin(scheme: "https", host: "b.test", port: 443)
      let counts = [origin: own, other: ConnectionCount(open: others, idle: 0)]

      #expect(AgedConnections.hasRoom(for: origin, in: counts, perHost: perHost, total: total) == hasRoom)
    }

    @Test(.needs(.openssl, .nginx), arguments: [false, true])
    func `loses no request while connections become too old`(isHTTP2: Bool) async throws {
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await NginxServer(try await authority.identity(), isHTTP2: isHTTP2)
      let age = Duration.milliseconds(100)
      let client = Lane.curl.client(Self.limit(age)) { $0.tls = .customRoots(pem: root) }
      let start = ContinuousClock.now
      let end = start + .seconds(1)
      let numbers = Shared<[String: Int]>([:])

      try await withThrowingTaskGroup { group in
        for _ in 0..<64 {
          group.addTask {
            while ContinuousClock.now < end {
              let response = try await client.get(RequestTarget(server.url))
              #expect(response.status == 200)
              numbers.withLock { $0[response.headers["X-Connection"] ?? "", default: 0] += 1 }
            }
          }
        }
        try await group.waitForAll()
      }

      let counts = numbers.withLock { $0 }
      let total = counts.values.reduce(0, +)
      #expect(counts.count >= 2 && total >= 64)
      // Requests share new connections instead of opening one each.
      let limit = isHTTP2 ? max(64, total / 2) : 6 * (Int((ContinuousClock.now - start) / age) + 2)
      #expect(counts.count <= limit, "\(counts.count) connections for \(total) requests")
    }

    private static func settings(_ age: Int64?) -> CurlConnectionSettings {
      CurlConnectionSettings(
        unixSocket: nil, interface: nil, maximumIdleTime: 60, maximumAge: age, shufflesAddresses: false, isKept: true,
        idleLifetime: 60_000_000, perHost: 6, hostLimit: 6, total: 64,
        tls: CurlTLSSettings(trust: .system, requiresTLS13: false, needsEnd: true, password: ""),
        addressRefusal: nil, answerPace: InlineWaitHeuristic(), receiveMarks: ReceiveLowWaterMarks())
    }

    @Test func `prior knowledge gets a new engine when its connections may be too old`() throws {
      var engines = CurlEngines(threads: 1)
      let origin = Origin(scheme: "http", host: "a.test", port: 80)
      let mailboxes = [(ConnectionGroup.priorKnowledge, 0), (.priorKnowledge, 0), (.agreed, 0), (.agreed, 0)].map {
        (group, age: Int64) in engines.open(for: group, origin, streams: 1, Self.settings(age))?.mailbox
      }

      let identities = try mailboxes.map { ObjectIdentifier(try #require($0)) }
      #expect(identities[0] != identities[1] && identities[2] == identities[3])
    }

    @Test func `a connection whose age is forgotten gets a new one`() {
      var aged = AgedConnections()
      var connections = IdleConnections()
      aged.add(connections.add(1), isMultiplexed: true, until: 0)
      #expect(aged.knows(1) && aged.isOver(1))
      for name in UInt64(2)..<1100 { aged.add(connections.add(name), isMultiplexed: true, until: .max) }

      #expect(!aged.knows(1) && aged.knows(1099) && !aged.isOver(1))
      aged.add(connections.add(1), isMultiplexed: true, until: 0)

      #expect(aged.isOver(1))
    }

    @Test func `a shared key is renewed without those of connections that are too old`() {
      var keys = ExclusiveConnections(hasMaximumAge: true)
      let origin = Origin(scheme: "https", host: "a.test", port: 443)

      let isRenewed = keys.renewSharedKey(of: origin, after: 0, except: [0, 12, 14])
      #expect(isRenewed && keys.sharedKey(of: origin) == 13)
      let isRenewedAgain = keys.renewSharedKey(of: origin, after: 13, except: [0, 12, 13, 14])
      #expect(!isRenewedAgain && keys.sharedKey(of: origin) == 13)
    }

    @Test func `a replaced engine is closed even if it never ran`() throws {
      var engines = CurlEngines(threads: 1)
      let origin = Origin(scheme: "https", host: "a.test", port: 443)
      let mailbox = try #require(engines.open(for: .agreed, origin, streams: 1, Self.settings(0))?.mailbox)
      #expect(!mailbox.isClosed)

      engines.renew(to: 1)

      #expect(mailbox.isClosed && engines.mailboxes.isEmpty)
    }

    @Test func `each shared key differs from those before it and from streamed responses' keys`() {
      var keys = ExclusiveConnections(hasMaximumAge: true)
      let origin = Origin(scheme: "https", host: "a.test", port: 443)
      let users = (0..<20).map { _ in NSObject() }

      var shared: [Int] = []
      for _ in 0..<4 {
        shared.append(keys.sharedKey(of: origin))
        let isRenewed = keys.renewSharedKey(of: origin, after: keys.sharedKey(of: origin))
        #expect(isRenewed)
      }
      let streamed = users.map { keys.take(for: $0, of: origin) }

      #expect(Set(shared).count == 4 && Set(shared).isDisjoint(with: streamed) && !shared.contains(15))
      let isRenewedAgain = keys.renewSharedKey(of: origin, after: 12)
      #expect(!isRenewedAgain)
    }
  }
#endif
