import MartletBase
public import Foundation

/// A private HTTP cache (RFC 9111).
///
/// A client has one of its own, in memory; set `Configuration.cache` for another. The same one can be given to several
/// clients, and a directory to several processes: what came under other settings of TLS, addresses or proxies is not
/// served to them.
///
/// ```swift
/// let client = HTTPClient { $0.cache = .disk(folder, bytes: 500_000_000) }
/// try await client.cache.remove("https://api.example.com/news")
/// ```
public final class ResponseCache: Sendable {
  /// Where what is to last is kept.
  let permanent: any CacheShelf
  /// Where what ends with the process is kept; the same one if nothing lasts.
  let session: any CacheShelf
  let isOff: Bool
  let flights = CacheFlights()
  /// The keys of what is being renewed in the background.
  let refreshing = Locked<Set<CacheFlights.Key>>([])
  /// Makes digests of credentials that mean nothing to others.
  private let salt = (UInt64.random(in: 0...UInt64.max), UInt64.random(in: 0...UInt64.max))

  init(permanent: any CacheShelf, session: any CacheShelf, isOff: Bool = false) {
    self.permanent = permanent
    self.session = session
    self.isOff = isOff
  }

  /// A cache in memory.
  ///
  /// - Parameter bytes: The most memory that it uses; what was not used for longest goes first. 8 MiB by default. One
  ///   response may have a quarter of it.
  /// - Returns: The cache, empty.
  public static func memory(bytes: Int = 8 << 20) -> ResponseCache {
    let shelf = MemoryShelf(limit: Int64(bytes))
    return ResponseCache(permanent: shelf, session: shelf)
  }

  /// A cache on disk, in a directory.
  ///
  /// Programs that share the directory share what is in it, at the same time too. It and its files are for their owner
  /// only (0700, 0600); names in it tell nothing of URLs. A file is whole or not there, whatever happens to the
  /// program; one that was damaged counts as not there. What cannot be written is not stored, and the request goes on.
  ///
  /// What was stored for a credential is not written: it is kept in 8 MiB of memory, with what is stored for the
  /// session (``ResponseCache/Storage/session``).
  ///
  /// - Parameters:
  ///   - directory: The directory; it is made when something is stored. Nothing else should be in it.
  ///   - bytes: The most that its files take together; what was not used for longest goes first. 256 MiB by default.
  ///     One response may have a quarter of it.
  /// - Returns: The cache.
  public static func disk(_ directory: URL, bytes: Int = 256 << 20) -> ResponseCache {
    ResponseCache(
      permanent: DiskShelf(path: directory.path(percentEncoded: false), limit: Int64(bytes)),
      session: MemoryShelf(limit: sessionBytes))
  }

  /// A cache in a custom storage backend.
  ///
  /// What was stored for a credential or for the session is not given to it: it is kept in 8 MiB of memory.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - maximumBodyBytes: The most bytes of a body; 1 MiB by default.
  /// - Returns: The cache.
  public static func store(_ store: any ResponseCache.Store, maximumBodyBytes: Int = 1 << 20) -> ResponseCache {
    ResponseCache(
      permanent: StoreShelf(store, maximumBodyBytes: Int64(maximumBodyBytes)),
      session: MemoryShelf(limit: sessionBytes))
  }

  private static let sessionBytes: Int64 = 8 << 20

  /// A ``memory(bytes:)`` of 8 MiB for each client that is made with it; in itself it is as ``off``.
  public static let automatic = ResponseCache(permanent: off.permanent, session: off.session, isOff: true)

  /// No cache: nothing is stored or served.
  public static let off: ResponseCache = {
    let shelf = MemoryShelf(limit: 0)
    return ResponseCache(permanent: shelf, session: shelf, isOff: true)
  }()

  /// The shelves, each once.
  var shelves: [any CacheShelf] { isOff ? [] : lasts ? [session, permanent] : [session] }

  /// Whether anything lasts longer than the process.
  var lasts: Bool { permanent !== session }

  var isSurelyEmpty: Bool { isOff || session.isSurelyEmpty && permanent.isSurelyEmpty }

  /// A digest of secrets that tells nothing of them, and is another one in each process.
  func digest(_ secrets: [String]) -> String {
    let text = "\(salt.0),\(salt.1)" + secrets.map { "\n\($0.utf8.count):\($0)" }.joined()
    return SHA2.sha256(Array(text.utf8)).map { String($0, radix: 16) }.joined(separator: ".")
  }

  /// What may answer a request.
  func candidates(_ query: CacheQuery) async -> [CacheCandidate] {
    var found: [CacheCandidate] = []
    for shelf in shelves {
      // What cannot be read is not there; the request goes on.
      if let more = try? await shelf.candidates(query) { found += more }
    }
    return found
  }

  /// Forgets what is stored for a URL, whoever it is for.
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
    /// The length of the body, in bytes; of the part that is stored, if it is a part.
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

  /// Removes all variants of the response for a URL, in all partitions.
  ///
  /// - Parameter url: The whole URL.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/invalidRequest`` if it is none, or what the store throws.
  public func remove(_ url: String) async throws {
    do {
      try await invalidate(try AbsoluteURL.parse(url).requestString)
    } catch let error as InvalidInput {
      throw HTTPError(.invalidRequest, error.message)
    }
  }

  /// Removes all variants of the response for a URL, in all partitions.
  ///
  /// - Parameter url: The whole URL.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/invalidRequest`` if it is none, or what the store throws.
  public func remove(_ url: URL) async throws { try await remove(url.absoluteString) }

  /// Removes all responses, or only those of one storage.
  ///
  /// - Parameter storage: ``ResponseCache/Storage/session`` for what ends with the process: all of a cache in memory,
  ///   and of others what was stored as such and what is for a credential. `nil`, the default, or
  ///   ``ResponseCache/Storage/permanent`` for the rest.
  /// - Throws: What the store throws.
  public func removeAll(_ storage: Storage? = nil) async throws {
    guard !isOff else { return }
    if storage != .permanent || !lasts { try await session.removeAll() }
    if storage != .session, lasts { try await permanent.removeAll() }
  }

  /// Removes the responses for which a closure returns `true`.
  ///
  /// - Parameter matches: Gets each stored response.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/unsupported`` for a ``ResponseCache/Store``, which cannot list
  ///   what it has, or what the store throws.
  public func remove(where matches: (StoredResponse) -> Bool) async throws {
    for shelf in shelves {
      for (key, record) in try await Self.contents(of: shelf) {
        guard let entry = record.entry, let response = StoredResponse(entry), matches(response) else { continue }
        if let index = record.index {
          // The others of its URL stay.
          try await shelf.store(CacheRecord(index: index), key)
        } else {
          try await shelf.remove(key)
        }
      }
    }
  }

  /// The stored responses, in no particular order.
  ///
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/unsupported`` for a ``ResponseCache/Store``, which cannot list
  ///   what it has, or what the store throws.
  public var responses: [StoredResponse] {
    get async throws {
      var all: [StoredResponse] = []
      for shelf in shelves {
        all += try await Self.contents(of: shelf).compactMap { $0.record.entry.flatMap { StoredResponse($0) } }
      }
      return all
    }
  }

  /// The amount of stored data.
  ///
  /// - Throws: What the store throws.
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

  private static func contents(
    of shelf: any CacheShelf
  ) async throws -> [(key: CacheKey, record: CacheRecord)] {
    guard let contents = try await shelf.contents() else {
      throw HTTPError(.unsupported, "the store of the cache cannot list what it has")
    }
    return contents
  }
}

extension ResponseCache.StoredResponse {
  init?(_ entry: CacheEntry) {
    guard let url = URL(string: entry.url) else { return nil }
    self.url = url
    status = HTTPStatus(rawValue: entry.status)
    headers = entry.headers
    date = entry.responseTime
    bodyBytes = entry.bodyLength
    let freshness = Freshness(entry, at: entry.responseTime)
    expires = freshness.basis == .none ? nil : entry.responseTime + freshness.lifetime - freshness.age
  }
}

extension ResponseCache {
  /// How long a response may be stored.
  public enum Storage: String, Sendable, Hashable {
    /// Until the process ends, in memory; and until ``HTTPClient/signOut()``.
    case session
    /// Until the cache evicts it.
    case permanent
  }
}
