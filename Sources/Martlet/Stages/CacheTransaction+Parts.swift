import MartletBase

extension CacheTransaction {
  /// Requests the rest of a partial response, and combines both (RFC 9111 §3.4).
  @inline(never) func complete(
    _ candidate: CacheCandidate, _ lease: RequestCoalescer.Lease?
  ) async throws -> StreamedResponse {
    guard candidate.entry.isExtensible, let start = candidate.entry.part?.length, candidate.body.count == start,
      let tag = Validators.strongTag(candidate.entry.headers)
    else { return try await fetch(.incomplete, previous: nil, lease) }
    var asking = hop
    asking.headers["Range"] = "bytes=\(start)-"
    asking.headers[wire: "If-Range"] = tag
    let askedAt = now
    var response = try await send(asking, lease)
    response.cacheReason = .incomplete
    response.request = request
    // Nothing is missing, or the representation has changed.
    if response.status.rawValue == 416 { return try await fetch(.incomplete, previous: nil, lease) }
    guard response.status == .partialContent else {
      return await received(response, askedAt: askedAt, previous: nil, lease: lease)
    }
    let verdict = RangeRules.judge(response.headers, from: start, of: candidate.entry.version, by: .tagAndSize)
    guard case .range(let range, let size?) = verdict, range.upperBound == size, !response.wasCompressed else {
      return try await fetch(.incomplete, previous: nil, lease)
    }
    response.status = .ok
    response.reasonPhrase = nil
    response.source = .revalidated
    let set = response.headers[wires: "Set-Cookie"]
    response.headers = CacheRules.updated(candidate.entry.headers, by: response.headers)
    response.headers[wires: "Set-Cookie"] = set
    response.headers.remove("Content-Range")
    // It covers one of the ranges (RFC 9530 §2).
    response.headers.remove("Content-Digest")
    response.headers["Content-Length"] = "\(size)"
    // The trailers belong to the part.
    response.trailers = [:]
    response.body = response.body.appended(to: candidate.body.responseBody(nil, context), count: Int64(range.count))
    return await received(response, askedAt: askedAt, previous: nil, lease: lease)
  }

  /// The stored bytes that precede a new part, if both can be combined; the entry becomes that of the combination.
  func joined(_ previous: CacheCandidate, _ entry: inout CacheEntry) -> CachedBody? {
    guard let part = entry.part, let new = part.range, let old = previous.entry.part?.range,
      old.upperBound + 1 == new.lowerBound, case .data(let data) = previous.body, data.count == old.count,
      RangeRules.difference(of: entry.version, from: previous.entry.version, by: .tagAndSize) == nil
    else { return nil }
    entry.headers.remove("Content-Digest")
    entry.headers["Content-Range"] =
      "bytes \(old.lowerBound)-\(new.upperBound)/\(part.size.map { "\($0)" } ?? "*")"
    return previous.body
  }

  /// Whether to keep the stored response, because it is complete and the new one is not.
  func isKept(_ previous: CacheCandidate?, insteadOf entry: CacheEntry) -> Bool {
    guard let previous, entry.isPartial, !previous.entry.isPartial else { return false }
    return RangeRules.difference(of: entry.version, from: previous.entry.version, by: .tagAndSize) == nil
  }

  /// Updates or invalidates the stored responses to `GET` after a `HEAD` (RFC 9111 §4.3.5).
  @inline(never) func receivedHead(_ response: StreamedResponse, askedAt: Date, previous: CacheCandidate?) async {
    guard var candidate = previous, response.status.rawValue < 500, !policy.contains(.neverWrite) else { return }
    let new = RepresentationVersion(response.headers, size: response.headers.contentLength)
    var known = candidate.entry.version
    // The body may be decoded: the server sends another number of bytes.
    if !candidate.entry.headers.contains("Content-Length") { known.size = nil }
    // Each validator must match: a stored response without one may be of any version.
    let hasOtherValidator =
      response.headers.contains("ETag") && (new.entityTag == nil || known.entityTag == nil)
      || response.headers.contains("Last-Modified") && (new.lastModified == nil || known.lastModified == nil)
    if response.status.rawValue == candidate.entry.status, !hasOtherValidator, !RangeRules.contradicts(new, known) {
      update(&candidate, response.headers, askedAt: askedAt)
      await save(candidate)
    } else {
      // The representation has changed for all identities.
      do { try await cache.invalidate(query.url) } catch { report("\(error)") }
    }
  }
}

extension CachedBody {
  /// The response body with the bytes of a range, or all bytes.
  func responseBody(_ range: ClosedRange<Int64>?, _ context: RequestContext) -> ResponseBody {
    // A record from a custom store may have a wrong length.
    let end = range.map { max(0, min($0.upperBound, count - 1) + 1) } ?? count
    let start = min(max(0, range?.lowerBound ?? 0), end)
    if case .data(let data) = self {
      return ResponseBody(range == nil ? data : Data(data.dropFirst(Int(start)).prefix(Int(end - start))))
    }
    let place = Locked(start)
    return ResponseBody {
      try context.abortSource.check()
      // The closure has one reader at a time.
      let position = place.withLock { $0 }
      guard position < end else { return nil }
      let piece = try piece(from: position, upTo: end)
      guard !piece.isEmpty else {
        throw HTTPError(.fileFailed, "a stored body shrank while it was being read", phase: .receiving)
      }
      place.withLock { $0 += Int64(piece.count) }
      return piece
    }
  }

  /// The concatenation of both bodies; only in memory.
  func appending(_ other: CachedBody) throws -> CachedBody {
    guard case .data(let first) = self, case .data(let second) = other else {
      throw HTTPError(.fileFailed, "the stored parts are too large to be combined")
    }
    return .data(first + second)
  }
}

extension ResponseBody {
  /// The concatenation of a stored part and this body, which throws unless it has exactly this number of bytes.
  fileprivate func appended(to part: ResponseBody, count: Int64) -> ResponseBody {
    if let first = part.immediate, let second = immediate, Int64(second.count) == count {
      return ResponseBody(first + second)
    }
    let first = part.makePull()
    // The number of bytes of this body so far; `nil` until the stored part has been read.
    let received = Locked<Int64?>(nil)
    func joined(
      _ second: @escaping @Sendable () async throws -> Data?
    ) -> @Sendable () async throws -> Data? {
      {
        if received.withLock({ $0 == nil }) {
          if let piece = try await first() { return piece }
        }
        let piece = try await second()
        let sum = received.withLock { received in
          let sum = (received ?? 0) + Int64(piece?.count ?? 0)
          received = sum
          return sum
        }
        guard sum < count ? piece != nil : sum == count else {
          throw HTTPError(
            .protocolViolation, "the range has \(sum) bytes, but \(count) according to its Content-Range",
            phase: .receiving)
        }
        return piece
      }
    }
    return immediate == nil ? mapped(joined) : ResponseBody(next: joined(makePull()))
  }
}
