import Foundation

/// What to do with a request, given what is stored for its URL: a pure function of both and of the time (RFC 9111 §4).
enum CacheDecision: Sendable, Equatable {
  /// Answer with the entry at this place of the candidates.
  case use(Int, Reason)
  /// The same, and ask the server meanwhile.
  case useAndRefresh(Int, Reason)
  /// Ask the server whether this entry still holds; the validators of the others go along.
  case revalidate(Int, Reason)
  /// Ask the server as if nothing were stored.
  case fetch(Reason)
  /// End without asking.
  case fail(Reason)

  /// Why, fit to be printed.
  enum Reason: String, Sendable {
    case fresh = "it is fresh"
    case preferred = "stored responses are preferred, however old"
    case staleAllowed = "it is stale, and the request allows that (max-stale)"
    case staleWhileRevalidate = "it is stale, and is being renewed (stale-while-revalidate)"
    case nothing = "nothing is stored"
    case noVariant = "what is stored is for other header fields (Vary)"
    case policyForbidsReading = "the policy says neverRead"
    case requestForbids = "the request says no-store or no-cache"
    case asked = "the policy says alwaysRevalidate"
    case responseForbids = "the response says no-cache"
    case stale = "it is stale"
    case tooOld = "it is older than the request allows (max-age)"
    case notFreshEnough = "it is not fresh for as long as the request wants (min-fresh)"
    case noValidator = "it is stale, and there is nothing to ask about it with"
    case method = "the method is not GET or HEAD"
    case notStored = "only what is stored is wanted, and nothing that can be used is"
  }

  /// Decides.
  ///
  /// - Parameters:
  ///   - method: The method of the request.
  ///   - headers: Its fields.
  ///   - entries: What is stored for its URL, in any order.
  ///   - policy: The policy, without contradictions.
  ///   - now: The time.
  static func make(
    _ method: HTTPMethod, _ headers: HTTPHeaders, _ entries: [CacheEntry], _ policy: CachePolicy, now: Date
  ) -> CacheDecision {
    let asked = CacheControl(headers)
    let isOnly = policy.contains(.onlyCached) || asked.has("only-if-cached")
    func without(_ reason: Reason) -> CacheDecision { isOnly ? .fail(.notStored) : .fetch(reason) }
    guard method == .get || method == .head else { return without(.method) }
    guard !policy.contains(.neverRead) else { return .fetch(.policyForbidsReading) }
    guard !asked.has("no-store") else { return without(.requestForbids) }
    guard !entries.isEmpty else { return without(.nothing) }
    guard let index = selected(entries, headers) else { return without(.noVariant) }
    let entry = entries[index]
    if policy.contains(.onlyCached) || policy.contains(.preferCached) {
      return policy.contains(.staleWhileRevalidate) && !Freshness(entry, at: now).isFresh
        ? .useAndRefresh(index, .preferred) : .use(index, .preferred)
    }
    let step = judge(entry, asked, headers, policy, now)
    switch step {
    case .use(let reason): return .use(index, reason)
    case .refresh(let reason): return .useAndRefresh(index, reason)
    case .ask(let reason):
      if isOnly { return .fail(.notStored) }
      return entry.hasValidator ? .revalidate(index, reason) : .fetch(reason == .stale ? .noValidator : reason)
    }
  }

  private enum Judgement {
    case use(Reason)
    case refresh(Reason)
    case ask(Reason)
  }

  private static func judge(
    _ entry: CacheEntry, _ asked: CacheControl, _ headers: HTTPHeaders, _ policy: CachePolicy, _ now: Date
  ) -> Judgement {
    let control = entry.control
    let obeysServer = !policy.contains(.ignoreServerDirectives)
    if policy.contains(.alwaysRevalidate) { return .ask(.asked) }
    // Without Cache-Control the old field means the same (RFC 9111 §5.4).
    let isPragma =
      asked.isEmpty && headers[all: "Pragma"].contains { FieldSyntax.isSameName(FieldSyntax.trimmed($0), "no-cache") }
    if asked.has("no-cache") || isPragma { return .ask(.requestForbids) }
    if obeysServer, control.isUnqualified("no-cache") { return .ask(.responseForbids) }
    let freshness = Freshness(entry, at: now)
    if let limit = asked.seconds("max-age"), freshness.age > TimeInterval(limit) { return .ask(.tooOld) }
    let margin = TimeInterval(asked.seconds("min-fresh") ?? 0)
    if freshness.isFresh {
      return freshness.lifetime - freshness.age >= margin ? .use(.fresh) : .ask(.notFreshEnough)
    }
    guard margin == 0 else { return .ask(.notFreshEnough) }
    // Nobody but the program may say otherwise (RFC 9111 §5.2.2.2).
    if obeysServer, control.has("must-revalidate") { return .ask(.stale) }
    if let allowed = asked.maximumStaleness, freshness.staleness <= TimeInterval(clamping: allowed) {
      return .use(.staleAllowed)
    }
    if policy.contains(.staleWhileRevalidate), let window = control.seconds("stale-while-revalidate"),
      freshness.staleness <= TimeInterval(window)
    {
      return .refresh(.staleWhileRevalidate)
    }
    return .ask(.stale)
  }

  /// The newest of the entries that the request selects (RFC 9111 §4.1), by `Date`.
  private static func selected(_ entries: [CacheEntry], _ headers: HTTPHeaders) -> Int? {
    entries.indices.filter { Selection.matches(entries[$0], headers) }
      .max { (entries[$0].date ?? entries[$0].responseTime) < (entries[$1].date ?? entries[$1].responseTime) }
  }
}

extension TimeInterval {
  fileprivate init(clamping seconds: Int) { self = seconds == .max ? .greatestFiniteMagnitude : TimeInterval(seconds) }
}
