import MartletBase

/// A cache transaction for one `GET`, `HEAD` or `QUERY`.
final class CacheTransaction: Sendable {
  let cache: ResponseCache
  let hop: Hop
  let context: RequestContext
  let next: Next
  let query: CacheQuery

  init(cache: ResponseCache, hop: Hop, context: RequestContext, next: Next, content: CacheContent? = nil) {
    self.cache = cache
    self.hop = hop
    self.context = context
    self.next = next
    query = CacheQuery(
      url: hop.url.requestString, headers: hop.headers, identity: context.cacheIdentity(hop.headers, cache),
      partition: context.cachePartition(hop.headers), content: content)
  }

  var request: HTTPRequest { hop.request }

  var policy: CachePolicy { context.call.options.cache }
  var now: Date { context.call.settings.configuration.now() }
  private var question: CacheDecision.Question {
    CacheDecision.Question(method: request.method, headers: request.headers, policy: policy, now: now)
  }

  /// The next step of the transaction.
  private enum Step {
    case wait(RequestCoalescer.InFlightRequest)
    case act(CacheDecision, RequestCoalescer.Lease?)
  }

  func run() async throws -> StreamedResponse {
    var mayWait = context.call.options.coalesces && isShareable
    let patience = RequestCoalescer.Patience(from: context.call.core.timeline.now(), until: context.call.end)
    while true {
      let candidates = policy.contains(.neverRead) ? [] : await cache.candidates(query)
      switch step(candidates, &mayWait) {
      // In either case look again; what is still missing is requested.
      case .wait(let flight): mayWait = try await wait(for: flight, patience)
      case .act(.use(let index, let reason), _), .act(.useAndRefresh(let index, let reason), _):
        return answer(candidates[index], .cache, reason)
      case .act(.revalidate(let index, _), let lease): return try await revalidate(candidates, index, lease)
      case .act(.complete(let index, _), let lease): return try await complete(candidates[index], lease)
      case .act(.fetch(let index, let reason), let lease):
        return try await fetch(reason, previous: index.map { candidates[$0] }, lease)
      case .act(.fail(let reason), _): return try refusal(reason)
      }
    }
  }

  // The functions below are not inlined: an async function reserves memory for its inlined callees while it waits.

  @inline(never) private func step(_ candidates: [CacheCandidate], _ mayWait: inout Bool) -> Step {
    var decision = CacheDecision.make(question, candidates.map(\.entry))
    if case .useAndRefresh(let index, _) = decision, context.hop != 0 { decision = .revalidate(index, .stale) }
    let asksServer =
      switch decision {
      case .revalidate, .complete, .fetch: true
      case .use, .useAndRefresh, .fail: false
      }
    var lease: RequestCoalescer.Lease?
    if mayWait, asksServer {
      switch cache.flights.join(RequestCoalescer.Key(query)) {
      case .lead(let own): lease = own
      case .alone: mayWait = false
      case .wait(let flight):
        context.call.explain(
          .init("cache.coalesced", "the request waited for an equal request, to share its response", "RFC 9111 §4"))
        return .wait(flight)
      }
    }
    explain(decision, candidates)
    switch decision {
    case .useAndRefresh: refresh()
    case .revalidate(let index, _), .fetch(let index?, _): offer(candidates[index])
    default: break
    }
    return .act(decision, lease)
  }

  private func explain(_ decision: CacheDecision, _ candidates: [CacheCandidate]) {
    context.call.explain(.cache(decision, decision.index.map { Freshness(candidates[$0].entry, at: now) }))
  }

  /// Waits for the leading request; returns whether to wait for another one.
  @inline(never) private func wait(
    for flight: RequestCoalescer.InFlightRequest, _ patience: RequestCoalescer.Patience
  ) async throws -> Bool {
    let call = context.call
    return try await flight.wait(patience, call.timeline, context.abortSource) == .left
      && call.timeline.now() < patience.head
  }

  /// Whether other requests may wait for this response: a plain `GET` without credentials.
  private var isShareable: Bool {
    let headers = request.headers
    return request.method == .get && context.hop == 0 && !policy.contains(.neverWrite)
      && !policy.contains(.neverRead) && !policy.contains(.alwaysRevalidate) && query.identity == nil
      && !headers.contains("Range") && !headers.contains("If-None-Match") && !headers.contains("If-Modified-Since")
      && !headers.contains("Cookie") && !headers.contains("Cache-Control") && !headers.contains("Pragma")
  }

  /// Fails without a request: with an error for the policy, with a 504 for the request's field.
  @inline(never) func refusal(_ reason: CacheDecision.Reason) throws -> StreamedResponse {
    guard !policy.contains(.onlyCached) else { throw HTTPError(.notCached, reason.statement, request: request) }
    // RFC 9111 §5.2.1.7
    var head = ResponseHead(status: .gatewayTimeout, headers: [:], request: request)
    head.source = .cache
    head.cacheReason = reason
    return StreamedResponse(head, ResponseBody())
  }

  // MARK: Stored responses

  /// The response to the request from a stored response.
  @inline(never) func answer(
    _ candidate: CacheCandidate, _ source: HTTPResponse.Source, _ reason: CacheDecision.Reason
  ) -> StreamedResponse {
    let entry = candidate.entry
    var head = ResponseHead(
      status: HTTPStatus(rawValue: entry.status), headers: entry.headers,
      reasonPhrase: entry.reasonPhrase.isEmpty ? nil : entry.reasonPhrase, request: request)
    head.source = source
    head.cacheReason = reason
    let age = Freshness(entry, at: now).age
    head.headers["Age"] = String(Int64(min(max(0, age), 2_147_483_648)))
    if isUnchanged(entry) {
      head.status = .notModified
      head.reasonPhrase = nil
      head.headers.remove("Content-Length")
      return StreamedResponse(head, ResponseBody())
    }
    guard request.method != .head else { return StreamedResponse(head, ResponseBody()) }
    var bytes: ClosedRange<Int64>?
    if entry.status == 206 || entry.status == 200, request.headers.contains("Range"),
      let range = ByteRange(request.headers[all: "Range"]), let wanted = entry.bytes(for: range)
    {
      head.status = .partialContent
      if entry.status == 200 { head.reasonPhrase = nil }
      let size = entry.size.map { "\($0)" } ?? "*"
      head.headers["Content-Range"] = "bytes \(wanted.lowerBound)-\(wanted.upperBound)/\(size)"
      head.headers["Content-Length"] = "\(wanted.upperBound - wanted.lowerBound + 1)"
      // It covers the whole content (RFC 9530 §2).
      head.headers.remove("Content-Digest")
      let first = entry.held?.lowerBound ?? 0
      bytes = (wanted.lowerBound - first)...(wanted.upperBound - first)
    }
    if bytes == nil, case .file(let file) = candidate.body { head.bodyFile = file.url }
    return StreamedResponse(head, candidate.body.responseBody(bytes, context))
  }

  /// Whether a conditional request already has the stored response (RFC 9111 §4.3.2).
  private func isUnchanged(_ entry: CacheEntry) -> Bool {
    guard entry.status == 200 else { return false }
    let tags = request.headers[wires: "If-None-Match"].flatMap { FieldSyntax.listMembers(of: $0) }
    if !tags.isEmpty {
      guard let own = entry.entityTag else { return false }
      return tags.contains { $0 == "*" || EntityTag.isSame($0, own) }
    }
    guard let since = request.headers["If-Modified-Since"].flatMap({ HTTPDate($0)?.date }),
      let modified = entry.lastModified.flatMap({ HTTPDate($0)?.date })
    else { return false }
    return modified <= since
  }

  /// Offers a stored response as the fallback if the server fails.
  private func offer(_ candidate: CacheCandidate) {
    context.fallback?.offer { [self] in
      guard CacheDecision.mayStandIn(candidate.entry, question) else { return nil }
      let freshness = Freshness(candidate.entry, at: now)
      context.call.decided(
        "cache.fallback", "the stored response was used instead of the failure; it is \(freshness.text)",
        "RFC 5861 §4")
      return answer(candidate, .fallback, .unreachable)
    }
  }

  // MARK: Asking the server

  @inline(never) func fetch(
    _ reason: CacheDecision.Reason, previous: CacheCandidate?, _ lease: RequestCoalescer.Lease?
  ) async throws -> StreamedResponse {
    let askedAt = now
    var response = try await send(hop, lease)
    response.cacheReason = reason
    return await received(response, askedAt: askedAt, previous: previous, lease: lease)
  }

  func send(_ hop: Hop, _ lease: RequestCoalescer.Lease?) async throws -> StreamedResponse {
    // Intermediate caches must also revalidate (RFC 9111 §5.2.1.1); the Fetch standard does the same.
    let isForced = policy.contains(.alwaysRevalidate) && !hop.headers.contains("Cache-Control")
    var asking = hop
    if isForced { asking.headers["Cache-Control"] = "max-age=0" }
    do {
      var response = try await next(asking, context)
      if isForced { response.request.headers.remove("Cache-Control") }
      return response
    } catch {
      lease?.end(error is CancellationError || context.abortSource.error != nil ? .left : .notStored)
      throw error
    }
  }

  /// Revalidates the stored responses (RFC 9111 §4.3).
  @inline(never) private func revalidate(
    _ candidates: [CacheCandidate], _ index: Int, _ lease: RequestCoalescer.Lease?
  ) async throws -> StreamedResponse {
    var asking = hop
    let tags = CacheRules.conditions(candidates.map(\.entry), asked: index)
    if !tags.isEmpty { asking.headers[wire: "If-None-Match"] = tags.joined(separator: ", ") }
    if let date = candidates[index].entry.lastModified { asking.headers["If-Modified-Since"] = date }
    let askedAt = now
    var response = try await send(asking, lease)
    guard response.status == .notModified else {
      if response.status.isSuccess {
        context.call.explain(
          .init("cache.replaced", "the server sent a new response in place of the stored one", "RFC 9111 §4.3"))
      }
      response.cacheReason = .replaced
      response.request = request
      return await received(response, askedAt: askedAt, previous: candidates[index], lease: lease)
    }
    // A 304 has no body; anything received is discarded with its connection.
    response.body = ResponseBody()
    let confirmed = CacheRules.confirmed(by: response.headers, candidates.map(\.entry), asked: index)
    var best: CacheCandidate?
    for place in confirmed {
      var candidate = candidates[place]
      update(&candidate, response.headers, askedAt: askedAt)
      await save(candidate)
      if !candidate.entry.isPartial, place == index || best == nil { best = candidate }
    }
    if !confirmed.isEmpty { lease?.end(.stored) }
    guard let best else {
      // The 304 does not match what is stored, so send the request without conditions.
      context.call.explain(.cache(.fetch(nil, .stale), nil))
      return try await fetch(.stale, previous: nil, lease)
    }
    context.call.explain(
      .init("cache.confirmed", "the server confirmed the stored response (304)", "RFC 9111 §4.3"))
    var answer = answer(best, .revalidated, .confirmed)
    // Cookies of the stored response were set when it arrived; only those of the 304 are new.
    answer.headers[wires: "Set-Cookie"] = response.headers[wires: "Set-Cookie"]
    answer.timing = response.timing
    answer.connection = response.connection
    answer.httpVersion = response.httpVersion
    return answer
  }

  func update(_ candidate: inout CacheCandidate, _ headers: HTTPHeaders, askedAt: Date) {
    candidate.entry.headers = CacheRules.updated(candidate.entry.headers, by: headers)
    if cache.lasts, candidate.shelf === cache.permanent {
      candidate.entry.headers.remove("Set-Cookie")
      candidate.entry.headers.remove("Set-Cookie2")
    }
    candidate.entry.requestTime = askedAt
    candidate.entry.responseTime = now
  }

  func save(_ candidate: CacheCandidate) async {
    guard !policy.contains(.neverWrite) else { return }
    do {
      try await candidate.save()
    } catch {
      report("\(error)")
    }
  }

  func report(_ problem: String) {
    context.call.report(.notCached(InvalidInput.printable(problem, limit: 300)))
  }

  // MARK: Storing

  /// Stores a response while it is read, if that is allowed.
  @inline(never) func received(
    _ response: StreamedResponse, askedAt: Date, previous: CacheCandidate?, lease: RequestCoalescer.Lease?
  ) async -> StreamedResponse {
    if request.method == .head {
      await receivedHead(response, askedAt: askedAt, previous: previous)
      lease?.end(.notStored)
      return response
    }
    var entry: CacheEntry
    switch judge(response, askedAt: askedAt, previous: previous) {
    case .success(let made): entry = made
    case .failure(let refusal):
      context.call.explain(refusal.decision)
      lease?.end(.notStored)
      return response
    }
    let shelf = mayLast(entry) ? cache.permanent : cache.session
    let freshness = Freshness(entry, at: now)
    let limit = cache.lasts && shelf === cache.permanent ? "" : ", until the process ends"
    context.call.explain(
      .init("cache.stored", "the response is stored with its body\(limit); it is \(freshness.text)", "RFC 9111 §3"))
    let expected = entry.part?.length ?? response.headers.contentLength
    // A response that is not fresh cannot serve the waiting requests, so they stop waiting now.
    if freshness.isFresh { lease?.recordHead() } else { lease?.end(.notStored) }
    entry.bodyLength = expected ?? 0
    let prefix = previous.flatMap { joined($0, &entry) }
    let (made, query) = (entry, query)
    let recorder = CacheRecorder(
      shelf, freshness.isFresh ? lease : nil,
      commit: { body in
        guard expected == nil || expected == body.count else { return false }
        var (entry, body) = (made, body)
        if let prefix { body = try prefix.appending(body) }
        entry.bodyLength = body.count
        try await shelf.put(entry, body, query)
        return true
      }, report: report)
    var response = response
    response.body = await response.body.recorded(by: recorder)
    return response
  }

  /// Whether a response may outlive the process; responses with secrets are never written to disk.
  private func mayLast(_ entry: CacheEntry) -> Bool {
    guard context.call.options.cacheStorage != .session, query.identity?.isLasting ?? true,
      context.call.settings.partition.isLasting
    else { return false }
    return !entry.headers.contains("Set-Cookie") && !entry.headers.contains("Set-Cookie2")
      && !entry.selectors.keys.contains { SecretNames.isSecret(field: $0) }
  }

  /// The entry to store for a response, or why it is not stored.
  private func judge(
    _ response: StreamedResponse, askedAt: Date, previous: CacheCandidate?
  ) -> Result<CacheEntry, CacheRules.Refusal> {
    guard !cache.isOff, !policy.contains(.neverWrite) else { return .failure(.neverWrite) }
    guard mayBeOfUse(response.headers) else { return .failure(.notReusable) }
    let options = context.call.options
    let ignoresServer = policy.contains(.ignoreServerDirectives)
    let status = response.status.rawValue
    let lifetime = options.cacheFor
    let refusal = CacheRules.refusal(
      toStore: status, response.headers, of: request.headers, ignoresServer: ignoresServer || lifetime != nil)
    if let refusal { return .failure(refusal) }
    var headers = CacheRules.storable(response.headers, ignoresServer: ignoresServer)
    // They cover the encoded bytes (RFC 9530 §2, §3), which are not those that are stored.
    if response.wasCompressed { for name in ["Repr-Digest", "Content-Digest"] { headers.remove(name) } }
    let entry = CacheEntry(
      status: status, reasonPhrase: response.reasonPhrase ?? "", headers: headers,
      selectors: Selection.selectors(Selection.names(headers) ?? [], of: request.headers), requestTime: askedAt,
      responseTime: now, bodyLength: 0, programLifetime: lifetime.map { TimeInterval($0.inSeconds) })
    if entry.isPartial {
      guard entry.part != nil,
        // A part of a coded representation cannot be decoded, and could be mistaken for a part of the decoded one.
        options.decompression == .off || !response.headers.contains("Content-Encoding")
      else { return .failure(.unknownPart) }
    }
    guard isOfUse(entry) else { return .failure(.notReusable) }
    return isKept(previous, insteadOf: entry) ? .failure(.lessThanStored) : .success(entry)
  }

  /// Whether the policy stores responses without freshness information.
  private var wantsAll: Bool {
    !policy.isDisjoint(with: [.preferCached, .onlyCached, .fallbackOnError, .ignoreServerDirectives])
  }

  /// Whether the response may be useful: a quick check, because most API responses have no caching fields.
  private func mayBeOfUse(_ headers: HTTPHeaders) -> Bool {
    wantsAll || context.call.options.cacheFor != nil
      || ["Cache-Control", "ETag", "Last-Modified", "Expires"].contains(where: headers.contains)
  }

  /// Whether a stored response could ever be used.
  private func isOfUse(_ entry: CacheEntry) -> Bool {
    if entry.hasValidator || wantsAll { return true }
    let control = entry.control
    return Freshness(entry, at: entry.responseTime).lifetime > 0 || control.has("stale-if-error")
      || control.has("stale-while-revalidate")
  }
}
