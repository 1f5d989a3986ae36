import Foundation

/// What a request asks a cache for.
struct CacheQuery: Sendable {
  let url: String
  let headers: HTTPHeaders
  /// Who asks; `nil` for nobody in particular.
  let identity: CacheIdentity?
  /// What sets its responses apart from others of the URL: who asks, and what vouches for them; `nil` for nothing.
  let owner: String?

  init(url: String, headers: HTTPHeaders, identity: CacheIdentity?, partition: String = "") {
    self.url = url
    self.headers = headers
    self.identity = identity
    owner = partition.isEmpty ? identity?.name : "\(partition)\n\n\(identity?.name ?? "")"
  }
}

/// Who a response is for: it is not shown to others.
struct CacheIdentity: Sendable, Hashable {
  /// A name that the program gave, or a digest of the credentials that only this process can make.
  let name: String
  /// Whether what is for it may be kept after the process.
  let isLasting: Bool
}

/// A stored response that may be an answer.
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
  /// The key of a response that was chosen by header fields, or has an owner.
  init(_ query: CacheQuery, _ names: [String], generation: UInt64) {
    let values = Selection.selectors(names, of: query.headers)
    var detail = "\(generation)\n\(query.owner ?? "")"
    for name in names {
      // With its length, so that no two lists look the same.
      detail += "\n\(name):\(values[name].map { "\($0.utf8.count):\($0)" } ?? "-")"
    }
    self.init(url: query.url, detail: detail)
  }
}

extension CacheShelf {
  /// What is stored for a URL and an owner.
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
      // The key says so already; a store of somebody else's may be wrong.
      guard entry.identity == query.owner else { continue }
      found.append(CacheCandidate(shelf: self, key: key, record: record, entry: entry))
    }
    return found
  }

  /// Puts a response in its place, and says in the record of its URL where that is.
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
