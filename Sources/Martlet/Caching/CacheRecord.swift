import MartletBase

/// The record stored under one key.
struct CacheRecord: Sendable {
  /// The other records of the URL; only in the record with an empty detail.
  var index: CacheIndex?
  /// The response; `nil` if the record has only an index.
  var entry: CacheEntry?
  /// The body of the response or of its stored part.
  var body = CachedBody.data(Data())
}

/// The index of the other records of a URL.
struct CacheIndex: Sendable, Equatable {
  /// The maximum number of name sets; adding another one removes the oldest.
  static let maximumSelections = 8

  /// A random number in the keys of the other records; changing it invalidates all of them.
  var generation: UInt64
  /// The sets of request field names that select responses, newest last; names are sorted and in lower case.
  var selections: [[String]] = []
}

/// The location of a stored body.
enum CachedBody: Sendable {
  case data(Data)
  case file(DiskFile)

  /// The maximum size of the chunks in which a file is read.
  static let pieceBytes = 256 << 10

  var count: Int64 {
    switch self {
    case .data(let data): Int64(data.count)
    case .file(let file): file.count
    }
  }

  /// The bytes from an offset up to an end; from a file, at most ``pieceBytes`` of them.
  func piece(from offset: Int64, upTo end: Int64) throws(HTTPError) -> Data {
    switch self {
    case .data(let data): data.dropFirst(Int(offset)).prefix(Int(end - offset))
    case .file(let file): try file.read(from: offset, count: Int(min(Int64(Self.pieceBytes), end - offset)))
    }
  }
}

/// A storage backend of a cache, without caching rules.
protocol CacheStorage: AnyObject, Sendable {
  /// The maximum size of a body.
  var maximumBodyBytes: Int64 { get }

  /// Whether the storage is known to be empty, which saves making a key.
  var isSurelyEmpty: Bool { get }

  /// The record stored under a key; `nil` also if it is damaged.
  func record(_ key: CacheKey) async throws -> CacheRecord?

  /// Stores a record, replacing the previous one.
  ///
  /// A body in a file comes from a sink of this storage, or from a record with this key.
  func store(_ record: CacheRecord, _ key: CacheKey) async throws

  func remove(_ key: CacheKey) async throws

  func removeAll() async throws

  /// Creates a sink for a body; `nil` if the body must stay in memory.
  func makeSink() throws -> DiskSink?

  /// All records without bodies; throws if the storage cannot list them.
  func contents() async throws -> [(key: CacheKey, record: CacheRecord)]

  /// The number of bytes and records in use; throws if the storage cannot list them.
  func usage() async throws -> (bytes: Int64, records: Int)
}
