import MartletBase
import Foundation
import Martlet
import MartletHAR
import Synchronization

/// A cassette with the transport of one client.
struct CassettePlayer: Transport {
  /// The number of chunks in which the recorded pacing delivers a body.
  private static let pieces = 8
  /// The fields that describe the connection or a coding that has been removed (RFC 9110 §7.6.1).
  private static let framing = ["Connection", "Keep-Alive", "Transfer-Encoding"]

  let cassette: Cassette
  let live: any Transport

  func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
    let (sent, body) = try await read(request)
    let redaction = cassette.redaction(context)
    let key = HARKey(sent, body, headers: cassette.matching.headers, redaction)
    switch try cassette.next(key, redaction) {
    case .record where redaction.hidesBodies:
      throw HTTPError(.unsupported, "Redaction.strict masks whole bodies: the cassette '\(name)' could not replay them")
    case .record where context.upgradeProtocol != nil: return try await recordSocket(sent, context)
    case .record: return try await record(sent, body, context)
    case .fault(.status(let status)): return StreamedResponse(status: status, request: sent)
    case .fault(.failure(let kind)): throw HTTPError(kind, "a fault of the cassette '\(name)'")
    case .fault(.delay), .fault(.cut): throw HTTPError(.unsupported, "the fault needs a recorded response")
    case .replay(let entry, let number, let faults):
      guard entry.response.status == 101 else { return try await replay(entry, number, faults, sent, context) }
      return try await replaySocket(entry, number, faults, sent, context)
    }
  }

  func closeIdleConnections() { live.closeIdleConnections() }

  var name: String { cassette.file.lastPathComponent }

  /// The request with its body in memory, and the body.
  private func read(_ request: HTTPRequest) async throws -> (HTTPRequest, Data?) {
    guard let body = request.body else { return (request, nil) }
    if case .data(let data) = body.content { return (request, data) }
    let data = try await request.bodyData()
    var read = request
    read.body = .data(data, contentType: body.contentType)
    read.body?.trailers = body.trailers
    return (read, data)
  }

  // MARK: Replaying

  private func replay(
    _ entry: HAREntry, _ number: Int, _ faults: [Cassette.Fault], _ request: HTTPRequest, _ context: RequestContext
  ) async throws -> StreamedResponse {
    guard entry.response.status > 0 else {
      throw HTTPError(.connectionLost, "entry \(number) of cassette '\(name)' has no response: \(entry.failure ?? "")")
    }
    let data = request.method == .head ? Data() : try cassette.body(of: entry, number)
    let clock = cassette.pacing.clock ?? ContinuousClock()
    let limit = try await waitForHead(of: entry, faults)
    var response = StreamedResponse(
      status: HTTPStatus(entry.response.status), headers: headers(of: entry, data, request, context),
      body: body(data, limit, entry.timings.receive, clock), request: request)
    response.reasonPhrase = entry.response.statusText.isEmpty ? nil : entry.response.statusText
    response.httpVersion = Self.version(entry.response.httpVersion)
    if limit == nil, request.method != .head { response.trailers = entry.response.trailers }
    return response
  }

  /// Waits until the head arrives; returns the number of body bytes that faults leave.
  func waitForHead(of entry: HAREntry, _ faults: [Cassette.Fault]) async throws -> Int? {
    let clock = cassette.pacing.clock
    try await clock?.sleep(for: max(entry.timings.total - entry.timings.receive, .zero))
    var limit: Int?
    for fault in faults {
      switch fault {
      case .delay(let delay): try await (clock ?? ContinuousClock()).sleep(for: delay)
      case .cut(let count): limit = min(limit ?? .max, max(count, 0))
      case .status, .failure: break
      }
    }
    return limit
  }

  private static func version(_ text: String) -> HTTPVersion? {
    switch text.lowercased().replacing("http/", with: "") {
    case "": nil
    case "h2", "2", "2.0": .http2
    case "h3", "3", "3.0": HTTPVersion("3")
    case let other: HTTPVersion(other)
    }
  }

  private func headers(
    of entry: HAREntry, _ data: Data, _ request: HTTPRequest, _ context: RequestContext
  ) -> HTTPHeaders {
    var headers = entry.response.headers
    for field in Self.framing { headers.remove(field) }
    if cassette.isForeign {
      // The body is decoded, but the fields are those of the encoded body.
      headers.remove("Content-Encoding")
      if case .text? = entry.response.body?.content, let type = headers["Content-Type"], type.contains("charset=") {
        // The text is now in UTF-8.
        headers["Content-Type"] = type.split(separator: ";").first.map { "\($0); charset=utf-8" }
      }
    }
    let hasBody = request.method != .head && entry.response.status != 304
    if hasBody, headers["Content-Length"].flatMap({ Int($0) }) != data.count { headers.remove("Content-Length") }
    // A response is as fresh as it was when it was recorded.
    let age = context.now.timeIntervalSince(entry.startedAt)
    guard entry.startedAt.timeIntervalSince1970 > 0, age > 0 else { return headers }
    for field in ["Date", "Expires"] {
      guard let date = headers[field].flatMap({ HTTPDate($0) }) else { continue }
      headers[field] = HTTPDate(date.date.addingTimeInterval(age)).description
    }
    headers[wires: "Set-Cookie"] = headers[wires: "Set-Cookie"].map { line in
      let parts = line.split(separator: ";", omittingEmptySubsequences: false).map { part in
        let pair = part.split(separator: "=", maxSplits: 1)
        guard pair.count == 2, pair[0].lowercased().hasSuffix("expires"), let date = HTTPDate(String(pair[1])) else {
          return String(part)
        }
        return "\(pair[0])=\(HTTPDate(date.date.addingTimeInterval(age)))"
      }
      return parts.joined(separator: ";")
    }
    return headers
  }

  private func body(_ data: Data, _ limit: Int?, _ length: Duration, _ clock: any Clock<Duration>) -> ResponseBody {
    let isPaced = cassette.pacing.clock != nil
    guard isPaced || limit != nil else { return ResponseBody(data) }
    let kept = limit.map { data.prefix($0) } ?? data
    let count = isPaced ? max((data.count + Self.pieces - 1) / Self.pieces, 1) : max(kept.count, 1)
    let rest = Locked(Data(kept))
    let pause = isPaced ? length / Self.pieces : .zero
    let cut = HTTPError(.connectionLost, "the cassette '\(name)' truncates the body", phase: .receiving)
    return ResponseBody {
      if isPaced { try await clock.sleep(for: pause) }
      let piece = rest.withLock { rest in
        let piece = rest.prefix(count)
        rest = Data(rest.dropFirst(count))
        return Data(piece)
      }
      if !piece.isEmpty { return piece }
      if limit != nil { throw cut }
      return nil
    }
  }

  // MARK: Recording

  private func record(
    _ request: HTTPRequest, _ body: Data?, _ context: RequestContext
  ) async throws -> StreamedResponse {
    let (date, start) = (Date(), ContinuousClock.now)
    let response = try await live.send(request, context: context)
    return try recording(response, to: request, body, context, startedAt: date, start)
  }

  /// A response that is recorded when its body has been read to its end.
  func recording(
    _ response: StreamedResponse, to request: HTTPRequest, _ body: Data?, _ context: RequestContext,
    startedAt date: Date, _ start: ContinuousClock.Instant
  ) throws -> StreamedResponse {
    let clock = ContinuousClock()
    var response = response
    let head = response
    let arrived = clock.now
    let cassette = cassette
    let redaction = cassette.redaction(context)
    @Sendable func keep(_ data: Data) throws {
      var timings = HAREntry.Timings()
      timings.wait = arrived - start
      timings.receive = clock.now - arrived
      let entry = HAREntry(
        recording: request, body, head, data, startedAt: date, timings: timings, redaction)
      try cassette.record(entry, redaction)
    }
    // These responses never have a body, so record them now.
    if request.method == .head || head.status == .noContent || head.status == .notModified {
      try keep(Data())
      return response
    }
    let pieces = Locked(response.body.makeAsyncIterator())
    let kept = Locked(Data())
    let isRecorded = Atomic(false)
    response.body = ResponseBody {
      var iterator = pieces.withLock { $0 }
      let piece = try await iterator.next()
      pieces.withLock { [iterator] in $0 = iterator }
      if let piece {
        kept.withLock { $0 += piece }
        return piece
      }
      // The body may be read to its end twice.
      guard !isRecorded.exchange(true, ordering: .relaxed) else { return nil }
      try keep(kept.withLock { $0 })
      return nil
    }
    return response
  }
}
