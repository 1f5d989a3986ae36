import Foundation

/// What is stored under one key.
struct CacheRecord: Sendable {
  /// What else is stored for the URL; in the record of the URL itself only.
  var index: CacheIndex?
  /// The response; `nil` if there is only an index.
  var entry: CacheEntry?
  /// The body of the response, or of the part of it.
  var body = CachedBody.data(Data())
}

/// Which other records there may be for a URL.
struct CacheIndex: Sendable, Equatable {
  /// The most sets of names that are kept; the oldest goes.
  static let maximumSelections = 8

  /// A random number in the keys of the other records: with a new one none of them is found any more.
  var generation: UInt64
  /// The names of request fields that responses were chosen by, sorted, in lower case, the newest set last.
  var selections: [[String]] = []
}

/// Where the bytes of a stored body are.
enum CachedBody: Sendable {
  case data(Data)
  case file(any CachedFile)

  var count: Int64 {
    switch self {
    case .data(let data): Int64(data.count)
    case .file(let file): file.count
    }
  }
}

/// A stored body that is too large to be in memory, and is open: it can be read to its end even if it is removed.
protocol CachedFile: Sendable {
  /// The number of bytes.
  var count: Int64 { get }

  /// Its file, if it has a lasting one with nothing else in it.
  var url: URL? { get }

  /// Reads bytes; fewer than asked for at the end only.
  func read(from offset: Int64, count: Int) throws -> Data
}

/// Takes a body piece by piece before it is known whether it will be whole.
protocol CacheSink: Sendable {
  func write(_ piece: Data) throws

  /// The whole body, fit to be stored by the shelf that made the sink.
  func finish() throws -> CachedBody

  /// Forgets the bytes; also when it is dropped.
  func discard()
}

/// What keeps records: storage only, no rules.
protocol CacheShelf: AnyObject, Sendable {
  /// The most bytes that a body may have.
  var maximumBodyBytes: Int64 { get }

  /// Whether surely nothing is stored, so that no key need be made.
  var isSurelyEmpty: Bool { get }

  /// What is stored under a key; `nil` also for what is damaged.
  func record(_ key: CacheKey) async throws -> CacheRecord?

  /// Puts a record in place of what was there.
  ///
  /// A body in a file is one that a sink of this shelf made, or one that came with a record of this key.
  func store(_ record: CacheRecord, _ key: CacheKey) async throws

  /// Removes a record.
  func remove(_ key: CacheKey) async throws

  /// Removes everything.
  func removeAll() async throws

  /// What takes a body before it can be stored; `nil` if it has to be in memory.
  func makeSink() throws -> (any CacheSink)?

  /// All that is stored, without bodies; `nil` if that cannot be told.
  func contents() async throws -> [(key: CacheKey, record: CacheRecord)]?

  /// How many bytes are in use, and by how many records.
  func usage() async throws -> (bytes: Int64, records: Int)
}
