import Foundation
import Martlet

/// Martlet, with either transport.
struct MartletPeer: Peer {
  private let client: HTTPClient

  /// Creates a client that stores nothing, like the others, or one with a cache.
  init(_ transport: any Transport, connections: Int, threads: Int = 1, cache: ResponseCache? = nil) {
    client = HTTPClient {
      $0.transport = transport
      $0.cache = cache ?? ResponseCache.off
      if cache != nil { $0.options.cacheFor = .seconds(3_600) }
      $0.engineThreads = threads
      $0.maximumConnections = connections
      $0.maximumConnectionsPerHost = connections
    }
  }

  func close() async throws { try await client.cache.removeAll() }

  func get(_ url: String, length: Int) async throws {
    let response = try await client.get(RequestTarget(url))
    try check(status: response.status.rawValue, length: response.body.count, expected: length)
  }

  func download(_ url: String, pause: Duration?) async throws {
    let length = try await client.stream(.get(RequestTarget(url))) { response in
      var length = 0
      var pauses = PauseCounter()
      for try await piece in response.body {
        length += piece.count
        if let pause { for _ in 0..<pauses.count(piece.count) { try await Task.sleep(for: pause) } }
      }
      return length
    }
    try check(status: 200, length: length, expected: Servers.bodyLength)
  }

  func collect(_ url: String) async throws {
    let response = try await client.get(RequestTarget(url), options: .maximumBodyBytes(Servers.bodyLength))
    try check(status: response.status.rawValue, length: response.body.count, expected: Servers.bodyLength)
  }

  func upload(_ file: String, to url: String) async throws {
    let response = try await client.post(RequestTarget(url), body: .file(URL(fileURLWithPath: file)))
    try check(status: response.status.rawValue, count: response.body)
  }
}
