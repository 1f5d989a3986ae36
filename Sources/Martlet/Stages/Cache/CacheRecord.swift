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
  case file(DiskFile)

  var count: Int64 {
    switch self {
    case .data(let data): Int64(data.count)
    case .file(let file): file.count
    }
  }
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

  func remove(_ key: CacheKey) async throws

  func removeAll() async throws

  /// What takes a body before it can be stored; `nil` if it has to be in memory.
  func makeSink() throws -> DiskSink?

  /// All that is stored, without bodies; `nil` if that cannot be told.
  func contents() async throws -> [(key: CacheKey, record: CacheRecord)]?

  /// How many bytes are in use, and by how many records.
  func usage() async throws -> (bytes: Int64, records: Int)
}
