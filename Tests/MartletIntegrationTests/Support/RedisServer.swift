import Foundation
import MartletTesting
import RedisStore
import TestSupport
import Testing

extension TestProgram {
  static let redis = TestProgram("redis-server")
}

/// redis-server as one process without persistence, which is killed with its last reference.
struct RedisServer {
  let port: Int
  /// The test's own connection.
  let connection: RedisConnection
  private let process: ToolProcess
  private let folder: TemporaryFolder

  /// Starts Redis on a free port.
  ///
  /// - Throws: A test failure if Redis does not start.
  init() async throws {
    folder = try TemporaryFolder()
    var output = ""
    // Another process may take a port between its choice and its use.
    for _ in 0..<3 {
      let port = try MockServer.refusedPort()
      let process = try TestProgram.redis.start([
        "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder.url.path,
      ])
      for _ in 0..<1000 where process.isRunning {
        let connection = RedisConnection(host: "127.0.0.1", port: port, patience: .seconds(50))
        if await (try? connection.command("PING")) == .text("PONG"), process.isRunning {
          (self.port, self.connection, self.process) = (port, connection, process)
          return
        }
        try await Task.sleep(for: .milliseconds(10))
      }
      output = process.outputSoFar
    }
    throw NotStarted(output: output)
  }

  struct NotStarted: Error {
    let output: String
  }

  /// A store with its own connection, as on another machine.
  var store: RedisStore { RedisStore(port: port, patience: .seconds(50)) }

  /// The names of all stored keys.
  var keys: [String] {
    get async throws {
      guard case .list(let keys) = try await connection.command("KEYS", "*") else { throw RedisError.malformed }
      return keys.map { if case .data(let key) = $0 { String(decoding: key, as: UTF8.self) } else { "\($0)" } }
    }
  }

  /// Kills Redis and waits for its end.
  func stop() async throws {
    process.send(SIGKILL)
    _ = try await process.end()
  }

  /// Stops Redis, which still accepts connections but does not respond.
  func hang() { process.send(SIGSTOP) }
}
