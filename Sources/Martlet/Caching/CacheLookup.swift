import MartletBase

/// A request's query to a cache.
struct CacheQuery: Sendable, Hashable {
  let url: String
  let headers: HTTPHeaders
  /// The identity of the request's user; `nil` if there is none.
  let identity: CacheIdentity?
  /// The partition and the identity that the responses belong to; `nil` for neither.
  let owner: String?
  /// The content of a `QUERY`; `nil` for other methods.
  let content: CacheContent?

  init(
    url: String, headers: HTTPHeaders, identity: CacheIdentity?, partition: String = "", content: CacheContent? = nil
  ) {
    self.url = url
    self.headers = headers
    self.identity = identity
    self.content = content
    owner = partition.isEmpty ? identity?.name : "\(partition)\n\n\(identity?.name ?? "")"
  }
}

extension CacheQuery {
  /// Whether the URL alone, with the fields that the response names, selects the response.
  var isPlain: Bool { owner == nil && content == nil }
}

/// The content of a `QUERY`, which is part of the key of its response (RFC 10008 §2.7).
struct CacheContent: Sendable, Hashable {
  /// The maximum size of the content in bytes, before and after compression; larger requests are not cached.
  static let maximumBytes = 1 << 20
  /// The fields that describe the content.
  private static let fields = ["Content-Type", "Content-Encoding", "Content-Language"]

  /// A SHA-256 of the content and its fields, in hexadecimal digits.
  let digest: String

  /// `nil` if the content is not in memory, or is too large.
  init?(_ body: HTTPBody?, _ headers: HTTPHeaders) {
    guard let bytes = Self.bytes(body), bytes.count <= Self.maximumBytes else { return nil }
    var text = ""
    for name in Self.fields {
      let value = headers[all: name].joined(separator: ",")
      text += "\(value.utf8.count):\(value)\n"
    }
    digest = SHA2.sha256(Array(text.utf8) + bytes).hexadecimal
  }

  private static func bytes(_ body: HTTPBody?) -> Data? {
    guard let body else { return Data() }
    // Compressing or joining a large body would be in vain.
    if let length = body.content.plainLength, length > maximumBytes { return nil }
    return body.trailers == nil ? try? body.content.gathered() : nil
  }
}

/// The identity whose requests may use a response.
struct CacheIdentity: Sendable, Hashable {
  /// Set by the program, or a digest of the credentials that only this process can make.
  let name: String
  /// Whether its responses may outlive the process.
  let isLasting: Bool
}

/// The key of a stored response.
///
/// Each URL has one key with an empty detail; its record lists the other keys of the URL. The detail of the others has
/// the owner and the request fields that selected the response.
struct CacheKey: Sendable, Hashable {
  /// The normalized URL, without userinfo or fragment.
  var url: String
  /// The part that distinguishes keys of the same URL; empty for the first.
  var detail = ""

  /// A name that does not reveal the URL: 40 hexadecimal digits of a SHA-256.
  var digest: String { SHA2.sha256(Array("\(url)\n\(detail)".utf8)).prefix(20).hexadecimal }
}

extension CacheKey {
  /// The key of a response that depends on header fields or has an owner.
  init(_ query: CacheQuery, _ names: [String], generation: UInt64) {
    let values = Selection.selectors(names, of: query.headers)
    var detail = "\(generation)\n\(Self.exact(query.owner))"
    for name in names { detail += "\n\(name):\(Self.exact(values[name]))" }
    // No field has an empty name.
    if let content = query.content { detail += "\n:\(content.digest)" }
    self.init(url: query.url, detail: detail)
  }

  /// A text with its length, because programs choose owners that may contain any character.
  private static func exact(_ text: String?) -> String {
    text.map { "\($0.utf8.count):\($0)" } ?? "-"
  }
}

/// A stored response that may serve a request.
struct CacheCandidate: Sendable {
  private struct Parts {
    var entry: CacheEntry
    let index: CacheIndex?
    let body: CachedBody
  }

  let shelf: any CacheStorage
  let key: CacheKey
  private var parts: Boxed<Parts>

  /// `nil` if the record has no response.
  init?(_ shelf: any CacheStorage, _ key: CacheKey, _ record: CacheRecord) {
    guard let entry = record.entry else { return nil }
    (self.shelf, self.key) = (shelf, key)
    parts = Boxed(Parts(entry: entry, index: record.index, body: record.body))
  }

  var body: CachedBody { parts.value.body }

  var entry: CacheEntry {
    get { parts.value.entry }
    _modify { yield &parts.value.entry }
  }

  /// Stores the response again after a change of its entry.
  func save() async throws {
    try await shelf.store(CacheRecord(index: parts.value.index, entry: entry, body: body), key)
  }
}

extension CacheStorage {
  /// The stored responses for a query's URL and owner.
  func candidates(_ query: CacheQuery) async throws -> [CacheCandidate] {
    guard !isSurelyEmpty else { return [] }
    let first = CacheKey(url: query.url)
    guard let record = try await record(first) else { return [] }
    var found: [CacheCandidate] = []
    if query.isPlain, let candidate = CacheCandidate(self, first, record) { found.append(candidate) }
    guard let index = record.index else { return found }
    for names in index.selections {
      let key = CacheKey(query, names, generation: index.generation)
      guard let record = try await self.record(key), let candidate = CacheCandidate(self, key, record) else { continue }
      found.append(candidate)
    }
    return found
  }

  /// Stores a response, and adds its key to the record of its URL.
  func put(_ entry: CacheEntry, _ body: CachedBody, _ query: CacheQuery) async throws {
    let names = Selection.names(entry.headers) ?? []
    let first = CacheKey(url: query.url)
    var known = try await record(first) ?? CacheRecord()
    if query.isPlain, names.isEmpty {
      return try await store(CacheRecord(index: known.index, entry: entry, body: body), first)
    }
    var index = known.index ?? CacheIndex(generation: .random(in: 0...UInt64.max))
    if !index.selections.contains(names) {
      index.selections.append(names)
      if index.selections.count > CacheIndex.maximumSelections { index.selections.removeFirst() }
      known.index = index
      try await store(known, first)
    }
    try await store(CacheRecord(entry: entry, body: body), CacheKey(query, names, generation: index.generation))
  }
}
