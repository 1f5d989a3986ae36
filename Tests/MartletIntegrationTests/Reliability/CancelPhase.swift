#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// The phase in which a request is cancelled.
  enum CancelPhase: String, Codable, CaseIterable, Sendable, CustomTestStringConvertible {
    case queued, resolving, connecting, handshaking, sending, waiting, receiving, paused
    /// Waiting, while many other requests go to another server as fast as possible.
    case loaded

    var testDescription: String { rawValue }
  }

  /// How a request is cancelled.
  enum CancelWay: String, CaseIterable, Sendable {
    case task, handle, scope
    /// Cancels a task in middleware, which awaits the exchange and reads its body.
    case next
  }

  /// Awaits the responses to one request in tasks that can be cancelled independently.
  final class CancelMiddleware: Middleware {
    private let port: Int?
    private let task = Shared<Task<StreamedResponse, any Error>?>(nil)

    init(_ request: HTTPRequest) { port = request.url?.port }

    func intercept(
      _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
    ) async throws -> StreamedResponse {
      guard request.url?.port == port else { return try await next(request) }
      let task = Task {
        var response = try await next(request)
        response.body = ResponseBody(try await response.body.collect(upTo: 1 << 30))
        return response
      }
      self.task.withLock { $0 = task }
      return try await task.value
    }

    func cancel() { task.value?.cancel() }
  }

  /// The setup that brings a request into a phase.
  struct CancelScene: Sendable {
    /// The progress that a request has reported so far.
    struct Signs: Sendable {
      var moved: Int64 = 0
      var hasRead = false
    }

    let client: HTTPClient
    let request: HTTPRequest
    /// Whether the phase has begun.
    let isReached: @Sendable (Signs) async -> Bool
    /// Whether the connection of an ended request is closed; `nil` if there never was one.
    let isClosed: (@Sendable () -> Bool)?
    /// Keeps the servers alive until the end, and stops them then.
    let end: @Sendable () async -> Void

    init(_ phase: CancelPhase, _ lane: Lane) async throws {
      switch phase {
      case .queued: self = try await Self.queued(lane)
      case .resolving:
        let client = lane.client()
        self.init(
          client: client, request: .get("http://nobody.invalid/"),
          isReached: { _ in !client.activity.current.running.isEmpty }, isClosed: nil)
      case .connecting: self = try await Self.connecting(lane)
      case .handshaking: self = try Self.handshaking(lane)
      case .sending: self = try Self.sending(lane)
      case .waiting: self = try Self.waiting(lane.client())
      case .receiving: self = try Self.receiving(lane)
      case .paused: self = try Self.paused(lane)
      case .loaded: self = try await Self.loaded(lane)
      }
    }

    private init(
      client: HTTPClient, request: HTTPRequest, isReached: @escaping @Sendable (Signs) async -> Bool,
      isClosed: (@Sendable () -> Bool)?, end: @escaping @Sendable () async -> Void = {}
    ) {
      self.client = client
      self.request = request
      self.isReached = isReached
      self.isClosed = isClosed
      self.end = end
    }

    private static func queued(_ lane: Lane) async throws -> CancelScene {
      let server = try MockServer(.hang)
      let client = lane.client { $0.maximumConnectionsPerHost = 1 }
      let first = client.start(.get(RequestTarget(server.url("/first"))))
      _ = await server.waitForRequests(1)
      return CancelScene(
        client: client, request: .get(RequestTarget(server.url)),
        isReached: { _ in client.activity.current.waiting.count == 1 },
        isClosed: { server.connectionCount == 1 }, end: { first.cancel() })
    }

    private static func connecting(_ lane: Lane) async throws -> CancelScene {
      let hole = try BlackHole()
      let client = lane.client()
      // The connections that fill the server's queue.
      let others = sockets(.isConnecting)
      return CancelScene(
        client: client, request: .get(RequestTarget(hole.url)),
        isReached: { _ in !sockets(.isConnecting).isSubset(of: others) },
        isClosed: { sockets(.isConnecting).isSubset(of: others) }, end: { hole.close() })
    }

    /// The state of a TCP socket, as Linux numbers it.
    private enum SocketState: UInt8 {
      case isConnected = 1
      case isConnecting = 2
    }

    /// Returns the inodes of the process's TCP sockets in a state: connected ones only to a port, connecting ones to any
    /// server, because the system does not tell which.
    private static func sockets(to port: Int? = nil, _ state: SocketState) -> Set<UInt64> {
      let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      var found: Set<UInt64> = []
      for descriptor in descriptors.compactMap(Int32.init) {
        // The state is the first byte of what the system tells about a connection.
        var info: UInt8 = 0
        var size = socklen_t(MemoryLayout<UInt8>.size)
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0, info == state.rawValue
        else { continue }
        guard port == nil || peerPort(descriptor) == port else { continue }
        var status = stat()
        if fstat(descriptor, &status) == 0 { found.insert(UInt64(status.st_ino)) }
      }
      return found
    }

    private static func peerPort(_ descriptor: Int32) -> Int? {
      var address = sockaddr_in()
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let status = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
      }
      guard status == 0, address.sin_family == sa_family_t(AF_INET) else { return nil }
      return Int(UInt16(bigEndian: address.sin_port))
    }

    private static func handshaking(_ lane: Lane) throws -> CancelScene {
      let server = try MockServer(.ok(), options: MockServer.Options(onConnect: { _ in .acceptAndStall }))
      return CancelScene(
        client: lane.client(), request: .get(RequestTarget("https://127.0.0.1:\(server.port)/")),
        isReached: { _ in
          guard server.openConnections == 1 else { return false }
          try? await Task.sleep(for: .milliseconds(10))
          return true
        }, isClosed: { server.openConnections == 0 })
    }

    /// The server does not read, so it does not see the end, which follows the bytes; the client's socket counts
    /// instead.
    private static func sending(_ lane: Lane) throws -> CancelScene {
      let server = try MockServer(.ok(), options: MockServer.Options(onConnect: { _ in .acceptAndStall }))
      return CancelScene(
        client: lane.client(), request: .put(RequestTarget(server.url), body: .data(Data(count: 32 << 20))),
        isReached: { signs in
          guard signs.moved > 0 else { return false }
          // Waits until all buffers on the way are full.
          try? await Task.sleep(for: .milliseconds(30))
          return sockets(to: server.port, .isConnected).count == 1
        }, isClosed: { sockets(to: server.port, .isConnected).isEmpty })
    }

    private static func waiting(
      _ client: HTTPClient, end: @escaping @Sendable () async -> Void = {}
    ) throws -> CancelScene {
      let server = try MockServer(.hang)
      return CancelScene(
        client: client, request: .get(RequestTarget(server.url)),
        isReached: { _ in
          guard !server.requests.isEmpty else { return false }
          server.forgetRequests()
          return true
        }, isClosed: { server.openConnections == 0 }, end: end)
    }

    private static func receiving(_ lane: Lane) throws -> CancelScene {
      let head = MockResponse.Step.text("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
      let server = try MockServer(.steps([head, .drip(Data(count: 1_000_000), chunk: 1, every: .milliseconds(2))]))
      return CancelScene(
        client: lane.client(), request: .get(RequestTarget(server.url)), isReached: { $0.moved > 0 },
        isClosed: { server.openConnections == 0 })
    }

    private static func paused(_ lane: Lane) throws -> CancelScene {
      let server = try MockServer(.repeating(Data(count: 1 << 20), count: 1 << 10))
      return CancelScene(
        client: lane.client(), request: .get(RequestTarget(server.url)),
        isReached: { signs in
          guard signs.hasRead else { return false }
          // Waits until all buffers on the way are full.
          try? await Task.sleep(for: .milliseconds(50))
          return true
        }, isClosed: { server.openConnections == 0 })
    }

    private static func loaded(_ lane: Lane) async throws -> CancelScene {
      let quick = try MockServer(.ok("x"))
      let client = lane.client {
        $0.maximumConnectionsPerHost = 80
        $0.maximumConnections = 160
      }
      let load = Task {
        await withTaskGroup(of: Void.self) { group in
          for _ in 0..<Stress.count(16, full: 64) {
            group.addTask {
              var count = 0
              while !Task.isCancelled {
                _ = try? await client.get(RequestTarget(quick.url))
                count += 1
                if count % 64 == 0 { quick.forgetRequests() }
              }
            }
          }
        }
      }
      _ = await quick.waitForRequests(16)
      return try waiting(client) {
        load.cancel()
        await load.value
        quick.stop()
      }
    }
  }
#endif
