import Foundation

/// A request's query to a cache.
struct CacheQuery: Sendable {
  let url: String
  let headers: HTTPHeaders
  /// The identity of the request's user; `nil` if there is none.
  let identity: CacheIdentity?
  /// The partition and the identity that the responses belong to; `nil` for neither.
  let owner: String?

  init(url: String, headers: HTTPHeaders, identity: CacheIdentity?, partition: String = "") {
    self.url = url
    self.headers = headers
    self.identity = identity
    owner = partition.isEmpty ? identity?.name : "\(partition)\n\n\(identity?.name ?? "")"
  }
}

/// The identity whose requests may use a response.
struct CacheIdentity: Sendable, Hashable {
  /// Set by the program, or a digest of the credentials that only this process can make.
  let name: String
  /// Whether its responses may outlive the process.
  let isLasting: Bool
}

/// A stored response that may serve a request.
struct CacheCandidate: Sendable {
  private struct Parts {
    var record: CacheRecord
    var entry: CacheEntry
  }

  let shelf: any CacheShelf
  let key: CacheKey
  private var parts: Boxed<Parts>

  init(shelf: any CacheShelf, key: CacheKey, record: CacheRecord, entry: CacheEntry) {
    self.shelf = shelf
    self.key = key
    parts = Boxed(Parts(record: record, entry: entry))
  }

  var record: CacheRecord {
    get { parts.value.record }
    _modify { yield &parts.value.record }
  }

  var entry: CacheEntry {
    get { parts.value.entry }
    _modify { yield &parts.value.entry }
  }
}

extension CacheKey {
  /// The key of a response that depends on header fields or has an owner.
  init(_ query: CacheQuery, _ names: [String], generation: UInt64) {
    let values = Selection.selectors(names, of: query.headers)
    var detail = "\(generation)\n\(query.owner ?? "")"
    for name in names {
      // Lengths make the encoding unambiguous.
      detail += "\n\(name):\(values[name].map { "\($0.utf8.count):\($0)" } ?? "-")"
    }
    self.init(url: query.url, detail: detail)
  }
}

extension CacheShelf {
  /// The stored responses for a query's URL and owner.
  func candidates(_ query: CacheQuery) async throws -> [CacheCandidate] {
    guard !isSurelyEmpty else { return [] }
    let first = CacheKey(url: query.url)
    guard let record = try await record(first) else { return [] }
    var found: [CacheCandidate] = []
    if query.owner == nil, let entry = record.entry {
      found.append(CacheCandidate(shelf: self, key: first, record: record, entry: entry))
    }
    guard let index = record.index else { return found }
    for names in index.selections {
      let key = CacheKey(query, names, generation: index.generation)
      guard let record = try await self.record(key), let entry = record.entry else { continue }
      // The key implies this, but a custom store may return a wrong record.
      guard entry.identity == query.owner else { continue }
      found.append(CacheCandidate(shelf: self, key: key, record: record, entry: entry))
    }
    return found
  }

  /// Stores a response, and adds its key to the record of its URL.
  func put(_ entry: CacheEntry, _ body: CachedBody, _ query: CacheQuery) async throws {
    let names = Selection.names(entry.headers) ?? []
    let first = CacheKey(url: query.url)
    let known = try await record(first)
    if query.owner == nil, names.isEmpty {
      return try await store(CacheRecord(index: known?.index, entry: entry, body: body), first)
    }
    var index = known?.index ?? CacheIndex(generation: .random(in: 0...UInt64.max))
    if !index.selections.contains(names) {
      index.selections.append(names)
      if index.selections.count > CacheIndex.maximumSelections { index.selections.removeFirst() }
      try await store(CacheRecord(index: index, entry: known?.entry, body: known?.body ?? .data(Data())), first)
    }
    let key = CacheKey(query, names, generation: index.generation)
    try await store(CacheRecord(entry: entry, body: body), key)
  }
}
