import MartletBase
import Foundation

extension CacheVisit {
  /// Requests the rest of a partial response, and combines both (RFC 9111 §3.4).
  @inline(never) func complete(
    _ candidate: CacheCandidate, _ lease: CacheFlights.Lease?
  ) async throws -> StreamedResponse {
    guard candidate.entry.isExtensible, let part = candidate.entry.part, candidate.record.body.count == part.count,
      let tag = Validators.strongTag(candidate.entry.headers)
    else { return try await fetch(.incomplete, previous: nil, lease) }
    var asking = request
    asking.headers["Range"] = "bytes=\(part.last + 1)-"
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
    let verdict = RangeRules.judge(
      response.headers, from: part.last + 1, of: candidate.entry.version, by: .tagAndSize)
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
    response.body = response.body.of(Int64(range.count)).preceded(by: candidate.record.body.responseBody(nil, context))
    return await stored(response, askedAt: askedAt, previous: nil, lease: lease)
  }

  /// The stored bytes that precede a new part, if both can be combined; the entry becomes that of the combination.
  func joined(_ previous: CacheCandidate, _ entry: inout CacheEntry) -> CachedBody? {
    guard let part = entry.part, let old = previous.entry.part, previous.entry.status == 206,
      old.last + 1 == part.first, case .data(let data) = previous.record.body, Int64(data.count) == old.count,
      RangeRules.difference(of: entry.version, from: previous.entry.version, by: .tagAndSize) == nil
    else { return nil }
    entry.part = CacheEntry.Part(first: old.first, last: part.last, complete: part.complete)
    entry.headers.remove("Content-Digest")
    entry.headers["Content-Range"] = "bytes \(old.first)-\(part.last)/\(entry.part?.complete.map { "\($0)" } ?? "*")"
    return previous.record.body
  }

  /// Whether to keep the stored response, because it is complete and the new one is not.
  func isKept(_ previous: CacheCandidate?, insteadOf entry: CacheEntry) -> Bool {
    guard let previous, entry.part != nil, previous.entry.part == nil else { return false }
    return RangeRules.difference(of: entry.version, from: previous.entry.version, by: .tagAndSize) == nil
  }

  /// Updates or invalidates the stored responses to `GET` after a `HEAD` (RFC 9111 §4.3.5).
  func receivedHead(_ response: StreamedResponse, askedAt: Date, previous: CacheCandidate?) async {
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
  private static let pieceBytes = 256 << 10

  /// The response body with the bytes of a range, or all bytes.
  func responseBody(_ range: ClosedRange<Int64>?, _ context: RequestContext) -> ResponseBody {
    // A record from a custom store may have a wrong length.
    let end = range.map { max(0, min($0.upperBound, count - 1) + 1) } ?? count
    let start = min(max(0, range?.lowerBound ?? 0), end)
    switch self {
    case .data(let data):
      guard range != nil else { return ResponseBody(data) }
      let first = data.startIndex + Int(start)
      return ResponseBody(Data(data[first..<(data.startIndex + Int(end))]))
    case .file(let file):
      let place = Locked(start)
      return ResponseBody {
        try context.abortSource.check()
        // The closure has one reader at a time.
        let position = place.withLock { $0 }
        guard position < end else { return nil }
        let piece = try file.read(from: position, count: Int(min(Int64(Self.pieceBytes), end - position)))
        guard !piece.isEmpty else {
          throw HTTPError(.file, "a stored body has become shorter while it was read", phase: .receiving)
        }
        place.withLock { $0 += Int64(piece.count) }
        return piece
      }
    }
  }

  /// The concatenation of both bodies; only in memory.
  func appending(_ other: CachedBody) throws -> CachedBody {
    guard case .data(let first) = self, case .data(let second) = other else {
      throw HTTPError(.file, "the stored parts are too large to be combined")
    }
    return .data(first + second)
  }
}

extension ResponseBody {
  /// The same body, which throws unless it has exactly this number of bytes.
  fileprivate func of(_ count: Int64) -> ResponseBody {
    if let data = immediate, Int64(data.count) == count { return self }
    let received = Locked<Int64>(0)
    func counted(_ pull: @escaping @Sendable () async throws -> Data?) -> @Sendable () async throws -> Data? {
      {
        let piece = try await pull()
        let sum = received.withLock { sum in
          sum += Int64(piece?.count ?? 0)
          return sum
        }
        guard sum < count ? piece != nil : sum == count else {
          throw HTTPError(
            .protocolViolation, "the range has \(sum) bytes, and \(count) by its Content-Range", phase: .receiving)
        }
        return piece
      }
    }
    return immediate == nil ? mapped(counted) : ResponseBody(next: counted(makePull()))
  }

  /// The concatenation of another body and this one.
  func preceded(by other: ResponseBody) -> ResponseBody {
    if let first = other.immediate, let second = immediate { return ResponseBody(first + second) }
    let first = other.makePull()
    let isFirstOver = Locked(false)
    func joined(
      _ second: @escaping @Sendable () async throws -> Data?
    ) -> @Sendable () async throws -> Data? {
      {
        if !isFirstOver.withLock({ $0 }) {
          if let piece = try await first() { return piece }
          isFirstOver.withLock { $0 = true }
        }
        return try await second()
      }
    }
    if immediate != nil { return ResponseBody(next: joined(makePull())) }
    return mapped(joined)
  }
}
