public import MartletBase

extension ResponseCache {
  /// A storage backend for cached responses, such as a shared database.
  ///
  /// A store does not interpret its data: it maps keys to bytes. The cache decides what to store and use, and detects
  /// damaged data. Several clients, processes or machines may use one store at the same time; the last write wins. A
  /// store may remove data at any time, and must do so if it has a limit.
  ///
  /// ```swift
  /// struct Shelf: ResponseCache.Store {
  ///   func data(for key: String) async throws -> Data? { try await database.get(key) }
  ///   func store(_ data: Data, for key: String) async throws { try await database.set(key, data) }
  ///   func remove(_ key: String) async throws { try await database.delete(key) }
  ///   func removeAll() async throws { try await database.clear() }
  /// }
  /// let client = HTTPClient { $0.cache = .store(Shelf()) }
  /// ```
  ///
  /// A request waits at most 2 seconds for each call, and proceeds without the cache if one fails. After a timeout,
  /// requests do not use the store for 5 seconds. A removal may take 30 seconds. A program with write access to the
  /// store can forge the responses of every server, so the store must be as trusted as your program.
  public protocol Store: Sendable {
    /// The bytes stored under a key.
    ///
    /// - Parameter key: 40 hexadecimal digits.
    /// - Returns: The bytes as they were stored, or `nil` if there are none.
    /// - Throws: Any error; the request then proceeds without the cache.
    func data(for key: String) async throws -> Data?

    /// Stores bytes, replacing the previous ones.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - key: 40 hexadecimal digits.
    /// - Throws: Any error; the response is then not cached.
    func store(_ data: Data, for key: String) async throws

    /// Removes the bytes stored under a key, if there are any.
    ///
    /// - Parameter key: 40 hexadecimal digits.
    /// - Throws: Any error; the caller that requested the removal receives it.
    func remove(_ key: String) async throws

    /// Removes everything that the cache has stored.
    ///
    /// - Throws: Any error; the caller that requested the removal receives it.
    func removeAll() async throws
  }
}
