public import Foundation

extension ResponseCache {
  /// A storage backend for cached responses, such as a shared database.
  ///
  /// It is storage only: bytes under a name. What is stored, what is used, what belongs together and what is damaged
  /// the cache decides. Two clients, processes or machines may use one store at the same time; whoever stores last
  /// wins. A store may forget anything at any time, and has to if it has a limit.
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
  /// A request waits for each call at most 2 seconds, and goes on without the cache when one fails; a store that took
  /// longer is left alone for 5 seconds. A removal may take 30 seconds. Who can write to the
  /// store can answer for every server: it must be as trusted as the program.
  public protocol Store: Sendable {
    /// What is stored under a name.
    ///
    /// - Parameter key: 40 hexadecimal digits.
    /// - Returns: The bytes as they were stored, or `nil` if there are none.
    /// - Throws: Any error: the request goes on without the cache.
    func data(for key: String) async throws -> Data?

    /// Stores bytes in place of those that were there.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - key: 40 hexadecimal digits.
    /// - Throws: Any error: the response counts as not stored.
    func store(_ data: Data, for key: String) async throws

    /// Removes what is stored under a name; nothing there is no error.
    ///
    /// - Parameter key: 40 hexadecimal digits.
    /// - Throws: Any error: whoever asked for the removal hears of it.
    func remove(_ key: String) async throws

    /// Removes everything that the cache has stored.
    ///
    /// - Throws: Any error: whoever asked for the removal hears of it.
    func removeAll() async throws
  }
}
