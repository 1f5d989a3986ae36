public import Foundation
public import Martlet

/// A cache in Redis, which all machines of a service share.
///
/// Redis forgets by itself what is older than the lifetime, or sooner if it is set up to when its memory is full.
///
/// ```swift
/// let client = HTTPClient { $0.cache = .store(RedisStore(host: "cache.internal")) }
/// ```
public struct RedisStore: ResponseCache.Store {
  private let redis: RedisConnection
  private let seconds: Int64

  /// Takes a server; a connection to it is made when it is used first.
  ///
  /// - Parameters:
  ///   - host: Its name or address.
  ///   - port: Its port.
  ///   - lifetime: How long a response is kept that is not stored again; whole seconds, 7 days by default.
  ///   - patience: How long a command may take; a second by default.
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
      // Page by page, and only what is the cache's: the database may have other users.
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
