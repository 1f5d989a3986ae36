public import MartletBase

/// A private HTTP cache (RFC 9111).
///
/// By default, each client has its own cache in memory; `Configuration.cache` sets another one. Several clients can
/// share a cache, and several processes a directory. Responses are not shared between clients with different settings
/// for TLS, addresses or proxies.
///
/// ```swift
/// let client = HTTPClient { $0.cache = .disk(folder, bytes: 500_000_000) }
/// try await client.cache.remove("https://api.example.com/news")
/// ```
public final class ResponseCache: Sendable {
  /// The backend for responses that may outlive the process.
  let permanent: any CacheStorage
  /// The backend for responses that end with the process; the same one if none outlives it.
  let session: any CacheStorage
  let isOff: Bool
  let flights = RequestCoalescer()
  /// The keys of responses that are being revalidated in the background.
  let refreshing = Locked<Set<RequestCoalescer.Key>>([])
  /// The key of ``digest(_:)``, which makes digests useless to other processes.
  private let salt = (UInt64.random(in: 0...UInt64.max), UInt64.random(in: 0...UInt64.max))

  init(permanent: any CacheStorage, session: any CacheStorage, isOff: Bool = false) {
    self.permanent = permanent
    self.session = session
    self.isOff = isOff
  }

  /// A cache in memory.
  ///
  /// - Parameter bytes: The maximum memory use; 8 MiB by default. The least recently used responses are evicted first. One
  ///   response may use a quarter of it.
  /// - Returns: An empty cache.
  public static func memory(bytes: Int = 8 << 20) -> ResponseCache {
    let shelf = MemoryStorage(limit: Int64(bytes))
    return ResponseCache(permanent: shelf, session: shelf)
  }

  /// A cache on disk, in a directory.
  ///
  /// Processes that share the directory share its responses, even at the same time. Only the owner has access to the
  /// directory and its files (modes 0700 and 0600), and file names do not reveal URLs. Files are written atomically,
  /// even if the process is killed; a damaged file counts as absent. A response that cannot be written is not stored,
  /// and its request proceeds.
  ///
  /// Responses to requests with credentials are written to disk only with a ``RequestOptions/cachePartition``. Otherwise they
  /// are kept in 8 MiB of memory, together with those stored for the session (``ResponseCache/Storage/session``).
  ///
  /// - Parameters:
  ///   - directory: The directory; it is created when a response is stored. It should not contain other files.
  ///   - bytes: The maximum size of all files; 256 MiB by default. The least recently used responses are evicted first. One
  ///     response may use a quarter of it.
  /// - Returns: The cache.
  public static func disk(_ directory: URL, bytes: Int = 256 << 20) -> ResponseCache {
    ResponseCache(
      permanent: DiskStorage(path: directory.path(percentEncoded: false), limit: Int64(bytes)),
      session: MemoryStorage(limit: sessionBytes))
  }

  /// A cache in a custom storage backend.
  ///
  /// Responses to requests with credentials are passed to the store only with a ``RequestOptions/cachePartition``, and
  /// responses for the session are never passed to it. The others are kept in 8 MiB of memory.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - maximumBodyBytes: The maximum size of a body; 1 MiB by default.
  /// - Returns: The cache.
  public static func store(_ store: any ResponseCache.Store, maximumBodyBytes: Int = 1 << 20) -> ResponseCache {
    ResponseCache(
      permanent: StoreAdapter(store, maximumBodyBytes: Int64(maximumBodyBytes)),
      session: MemoryStorage(limit: sessionBytes))
  }

  private static let sessionBytes: Int64 = 8 << 20

  /// A separate ``memory(bytes:)`` cache of 8 MiB for each client.
  ///
  /// The value itself behaves like ``off``.
  public static let automatic = ResponseCache(permanent: off.permanent, session: off.session, isOff: true)

  /// No cache: nothing is stored or served.
  public static let off: ResponseCache = {
    let shelf = MemoryStorage(limit: 0)
    return ResponseCache(permanent: shelf, session: shelf, isOff: true)
  }()

  /// The distinct storage backends; none if the cache is off.
  var shelves: [any CacheStorage] { isOff ? [] : lasts ? [session, permanent] : [session] }

  /// Whether stored responses may outlive the process.
  var lasts: Bool { permanent !== session }

  var isSurelyEmpty: Bool { isOff || session.isSurelyEmpty && permanent.isSurelyEmpty }

  /// A digest that does not reveal the secrets, and differs between processes.
  func digest(_ secrets: [String]) -> String {
    let text = "\(salt.0),\(salt.1)" + secrets.map { "\n\($0.utf8.count):\($0)" }.joined()
    return SHA2.sha256(Array(text.utf8)).map { String($0, radix: 16) }.joined(separator: ".")
  }

  /// The stored responses that may serve a request.
  func candidates(_ query: CacheQuery) async -> [CacheCandidate] {
    var found: [CacheCandidate] = []
    for shelf in shelves {
      // A read error counts as a miss.
      if let more = try? await shelf.candidates(query) { found += more }
    }
    return found
  }

  /// Removes the stored responses for a URL, of all identities.
  func invalidate(_ url: String) async throws {
    for shelf in shelves where !shelf.isSurelyEmpty { try await shelf.remove(CacheKey(url: url)) }
  }
}

extension ResponseCache {
  /// A stored response, without its body.
  public struct StoredResponse: Sendable {
    /// The URL of the request.
    public let url: URL
    /// The status.
    public let status: HTTPStatus
    /// The header fields.
    public let headers: HTTPHeaders
    /// When the response was received or last revalidated.
    public let date: Date
    /// The length of the stored body, or of its stored part, in bytes.
    public let bodyBytes: Int64
    /// The date until which the response is fresh, or `nil` if unknown.
    public let expires: Date?
  }

  /// The amount of stored data.
  public struct Usage: Sendable, Hashable {
    /// The bytes in use, header fields included.
    public let bytes: Int64
    /// The number of responses, and of lists of the variants of a URL.
    public let records: Int
  }

  /// How long a response may be stored.
  @nonexhaustive public enum Storage: String, Sendable, Hashable {
    /// In memory, until the process ends or ``HTTPClient/signOut()`` is called.
    case session
    /// Until the cache evicts it.
    case permanent
  }

  /// Removes all variants of the response for a URL, in all partitions.
  ///
  /// - Parameter url: The complete URL.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/invalidRequest`` for a malformed URL, or the error of the store.
  public func remove(_ url: String) async throws {
    do {
      try await invalidate(try AbsoluteURL.parse(url).requestString)
    } catch let error as InvalidInput {
      throw HTTPError(.invalidRequest, error.message)
    }
  }

  /// Removes all variants of the response for a URL, in all partitions.
  ///
  /// - Parameter url: The complete URL.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/invalidRequest`` for a malformed URL, or the error of the store.
  public func remove(_ url: URL) async throws { try await remove(url.absoluteString) }

  /// Removes all responses, or only those of one storage.
  ///
  /// - Parameter storage: ``ResponseCache/Storage/session`` removes responses that end with the process: those stored for the
  ///   session or for a credential. ``ResponseCache/Storage/permanent`` removes the others. `nil`, the default, removes both.
  ///   In a cache in memory, each value removes all responses.
  /// - Throws: The error of the store.
  public func removeAll(_ storage: Storage? = nil) async throws {
    guard !isOff else { return }
    if storage != .permanent || !lasts { try await session.removeAll() }
    if storage != .session, lasts { try await permanent.removeAll() }
  }

  /// Removes the responses for which a closure returns `true`.
  ///
  /// - Parameter matches: Receives each stored response.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/unsupported`` for a ``ResponseCache/Store``, which cannot list its
  ///   contents, or the error of the storage.
  public func remove(where matches: (StoredResponse) -> Bool) async throws {
    for shelf in shelves {
      for (key, record) in try await shelf.contents() {
        guard let response = StoredResponse(key, record), matches(response) else { continue }
        if let index = record.index {
          // Keep the other responses for the URL.
          try await shelf.store(CacheRecord(index: index), key)
        } else {
          try await shelf.remove(key)
        }
      }
    }
  }

  /// The stored responses, in no particular order.
  ///
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/unsupported`` for a ``ResponseCache/Store``, which cannot list its
  ///   contents, or the error of the storage.
  public var responses: [StoredResponse] {
    get async throws {
      var all: [StoredResponse] = []
      for shelf in shelves {
        all += try await shelf.contents().compactMap { StoredResponse($0.key, $0.record) }
      }
      return all
    }
  }

  /// The amount of stored data.
  ///
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/unsupported`` for a ``ResponseCache/Store``, which cannot list its
  ///   contents, or the error of the storage.
  public var usage: Usage {
    get async throws {
      var usage = (bytes: Int64(0), records: 0)
      for shelf in shelves {
        let part = try await shelf.usage()
        usage = (usage.bytes + part.bytes, usage.records + part.records)
      }
      return Usage(bytes: usage.bytes, records: usage.records)
    }
  }
}

extension ResponseCache.StoredResponse {
  init?(_ key: CacheKey, _ record: CacheRecord) {
    guard let entry = record.entry, let url = URL(string: key.url) else { return nil }
    self.url = url
    status = HTTPStatus(rawValue: entry.status)
    headers = entry.headers
    date = entry.responseTime
    bodyBytes = entry.bodyLength
    let freshness = Freshness(entry, at: entry.responseTime)
    expires = freshness.basis == .none ? nil : entry.responseTime + freshness.lifetime - freshness.age
  }
}
