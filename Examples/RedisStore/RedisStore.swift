public import Foundation
public import Martlet

/// A cache in Redis that all machines of a service share.
///
/// Redis removes responses after the lifetime, or earlier if it is configured to when its memory is full.
///
/// ```swift
/// let client = HTTPClient { $0.cache = .store(RedisStore(host: "cache.internal")) }
/// ```
public struct RedisStore: ResponseCache.Store {
  private let redis: RedisConnection
  private let seconds: Int64

  /// Creates a store for a server; it connects when it is first used.
  ///
  /// - Parameters:
  ///   - host: Its name or address.
  ///   - port: Its port.
  ///   - lifetime: How long a response is kept unless it is stored again; whole seconds, 7 days by default.
  ///   - patience: The time limit for a command; a second by default.
  public init(
    host: String = "127.0.0.1", port: Int = 6379, lifetime: Duration = .seconds(7 * 24 * 3600),
    patience: Duration = .seconds(1)
  ) {
    redis = RedisConnection(host: host, port: port, patience: patience)
    seconds = max(1, lifetime.components.seconds)
  }

  public func data(for key: String) async throws -> Data? {
    guard case .data(let data) = try await redis.command("GET", "martlet:\(key)") else { return nil }
    return data
  }

  public func store(_ data: Data, for key: String) async throws {
    try await redis.command("SET", "martlet:\(key)", .data(data), "EX", "\(seconds)")
  }

  public func remove(_ key: String) async throws { try await redis.command("DEL", "martlet:\(key)") }

  public func removeAll() async throws {
    var cursor = Data("0".utf8)
    repeat {
      // Removes only the cache's keys, page by page, because the database may have other users.
      let page = try await redis.command("SCAN", .data(cursor), "MATCH", "martlet:*", "COUNT", "1000")
      guard case .list(let parts) = page, parts.count == 2, case .data(let next) = parts[0],
        case .list(let names) = parts[1]
      else { throw RedisError.malformed }
      let keys = names.compactMap { if case .data(let name) = $0 { RedisConnection.Word.data(name) } else { nil } }
      if !keys.isEmpty { try await redis.command(["DEL"] + keys) }
      cursor = next
    } while cursor != Data("0".utf8)
  }
}
