import MartletBase

/// How to serve a request, given the stored responses for its URL (RFC 9111 §4).
///
/// A pure function of the request, the stored responses and the time.
enum CacheDecision: Sendable, Equatable {
  /// Use the candidate with this index.
  case use(Int, Reason)
  /// Use the candidate with this index, and revalidate it in the background.
  case useAndRefresh(Int, Reason)
  /// Revalidate the candidate.
  case revalidate(Int, Reason)
  /// Request the missing part of the candidate.
  case complete(Int, Reason)
  /// Send the request without conditions of the cache; the candidate, if any, is the fallback if the server fails.
  case fetch(Int?, Reason)
  /// Fail without a request.
  case fail(Reason)

  /// The stored response that the decision is about.
  var index: Int? {
    switch self {
    case .use(let index, _), .useAndRefresh(let index, _), .revalidate(let index, _), .complete(let index, _): index
    case .fetch(let index, _): index
    case .fail: nil
    }
  }

  typealias Reason = Explanation.CacheReason

  /// The input of a decision besides the stored responses.
  struct Question: Sendable {
    var method: HTTPMethod
    var headers: HTTPHeaders
    var policy: CachePolicy
    var now: Date
  }

  /// Decides on a `GET`, `HEAD` or `QUERY` with a policy without contradictions.
  ///
  /// `entries` are the responses stored for its URL and owner, in any order.
  static func make(_ question: Question, _ entries: [CacheEntry]) -> CacheDecision {
    let (headers, policy) = (question.headers, question.policy)
    let asked = CacheControl(headers)
    let isOnly = policy.contains(.onlyCached) || asked.has("only-if-cached")
    func without(_ reason: Reason, _ index: Int? = nil) -> CacheDecision {
      isOnly ? .fail(.notStored) : .fetch(index, reason)
    }
    guard !policy.contains(.neverRead) else { return .fetch(nil, .neverRead) }
    guard !entries.isEmpty else { return without(.nothing) }
    guard !asked.has("no-store") else { return without(.requestForbids) }
    let conditions = ["If-Match", "If-Unmodified-Since"]
    guard !conditions.contains(where: headers.contains) else { return without(.ownCondition) }
    guard let index = selected(entries, headers) else { return without(.noVariant) }
    let entry = entries[index]
    guard holds(headers, for: entry) else { return without(.ownCondition) }
    if let lack = lack(entry, question) {
      if lack == .incomplete, !isOnly, entry.isExtensible { return .complete(index, lack) }
      return without(lack, index)
    }
    if policy.contains(.onlyCached) { return .use(index, .preferred) }
    if policy.contains(.preferCached) {
      let isStale = policy.contains(.staleWhileRevalidate) && !Freshness(entry, at: question.now).isFresh
      return isStale && !isOnly ? .useAndRefresh(index, .preferred) : .use(index, .preferred)
    }
    let decision = judge(index, entry, asked, question)
    if case .use = decision { return decision }
    if isOnly { return .fail(.notStored) }
    guard case .revalidate(_, let reason) = decision else { return decision }
    let isOwn = headers.contains("If-None-Match") || headers.contains("If-Modified-Since")
    // A 304 to a partial response could not be matched to a newer representation.
    let isAskable = entry.hasValidator && !isOwn && !headers.contains("Range") && !entry.isPartial
    return isAskable ? decision : .fetch(index, reason)
  }

  /// Whether an entry matches the request's `If-Range`, if there is one (RFC 9110 §13.1.5: strong comparison).
  private static func holds(_ asked: HTTPHeaders, for entry: CacheEntry) -> Bool {
    guard asked.contains("If-Range") else { return true }
    let values = asked[wires: "If-Range"].map { String(FieldSyntax.trimmed($0)) }
    guard values.count == 1, asked.contains("Range") else { return false }
    return [Validators.strongTag(entry.headers), Validators.strongDate(entry.headers)].lazy.compactMap { $0 }
      .contains { EntityTag.isIdentical($0, values[0]) }
  }

  /// The reason why an entry cannot be the response, even if it is fresh.
  private static func lack(_ entry: CacheEntry, _ question: Question) -> Reason? {
    let isRanged = question.method == .get && question.headers.contains("Range")
    if isRanged, entry.status == 200 || entry.status == 206 {
      guard let range = ByteRange(question.headers[all: "Range"]), entry.bytes(for: range) != nil else {
        return .otherBytes
      }
      return nil
    }
    return entry.isPartial ? .incomplete : nil
  }

  /// Whether to use the entry, to use and refresh it, or to revalidate it, if that is possible.
  private static func judge(
    _ index: Int, _ entry: CacheEntry, _ asked: CacheControl, _ question: Question
  ) -> CacheDecision {
    let (headers, policy) = (question.headers, question.policy)
    let control = entry.control
    let obeysServer = !policy.contains(.ignoreServerDirectives)
    if policy.contains(.alwaysRevalidate) { return .revalidate(index, .alwaysRevalidate) }
    // Without Cache-Control, `Pragma: no-cache` has the same meaning (RFC 9111 §5.4).
    let isPragma =
      asked.isEmpty
      && headers.values(of: "Pragma").contains { FieldSyntax.isSameName(FieldSyntax.trimmed($0), "no-cache") }
    if asked.has("no-cache") || isPragma { return .revalidate(index, .requestForbids) }
    if obeysServer, control.isUnqualified("no-cache") { return .revalidate(index, .responseForbids) }
    let freshness = Freshness(entry, at: question.now)
    if let limit = asked.seconds("max-age"), freshness.age > TimeInterval(limit) || limit == 0 {
      return .revalidate(index, .tooOld)
    }
    let margin = TimeInterval(asked.seconds("min-fresh") ?? 0)
    if freshness.isFresh {
      return freshness.lifetime - freshness.age >= margin ? .use(index, .fresh) : .revalidate(index, .notFreshEnough)
    }
    guard margin == 0 else { return .revalidate(index, .notFreshEnough) }
    // Only the program can override this (RFC 9111 §5.2.2.2).
    if obeysServer, control.has("must-revalidate") { return .revalidate(index, .stale) }
    if let allowed = asked.maximumStaleness, freshness.staleness <= TimeInterval(allowed) {
      return .use(index, .staleAllowed)
    }
    if policy.contains(.staleWhileRevalidate), let window = control.seconds("stale-while-revalidate"),
      freshness.staleness <= TimeInterval(window)
    {
      return .useAndRefresh(index, .staleWhileRevalidate)
    }
    return .revalidate(index, .stale)
  }

  /// The newest entry that the request selects (RFC 9111 §4.1), by `Date` and then by the time of receipt.
  private static func selected(_ entries: [CacheEntry], _ headers: HTTPHeaders) -> Int? {
    func times(_ index: Int) -> (Date, Date) {
      (entries[index].date ?? entries[index].responseTime, entries[index].responseTime)
    }
    return entries.indices.lazy.filter { Selection.matches(entries[$0], headers) }.max { times($0) < times($1) }
  }

  /// Whether an entry may replace the response of a server that failed at the time of the question.
  static func mayStandIn(_ entry: CacheEntry, _ question: Question) -> Bool {
    guard lack(entry, question) == nil else { return false }
    if question.policy.contains(.fallbackOnError) { return true }
    let control = entry.control
    // `stale-if-error` (RFC 5861 §4), unless the server forbids stale responses (RFC 9111 §4.2.4).
    guard !control.has("must-revalidate"), !control.has("no-cache") else { return false }
    let asked = CacheControl(question.headers)
    guard !asked.has("no-cache"), !asked.has("no-store") else { return false }
    guard let window = asked.seconds("stale-if-error") ?? control.seconds("stale-if-error") else { return false }
    return Freshness(entry, at: question.now).staleness <= TimeInterval(window)
  }
}
