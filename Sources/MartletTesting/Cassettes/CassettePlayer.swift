import MartletBase
import Foundation
import Martlet
import Synchronization

/// A cassette with the transport of one client.
struct CassettePlayer: Transport {
  /// The number of pieces in which the recorded pacing delivers a body.
  private static let pieces = 8
  /// The fields that describe the connection or a coding that is gone (RFC 9110 §7.6.1).
  private static let framing = ["Connection", "Keep-Alive", "Transfer-Encoding"]

  let cassette: Cassette
  let live: any Transport

  func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
    let (sent, body) = try await read(request)
    let key = HARKey(sent, body, headers: cassette.matching.headers, cassette.redaction)
    switch try cassette.next(key) {
    case .record: return try await record(sent, body, context)
    case .fault(.status(let status)): return StreamedResponse(status: status, request: sent)
    case .fault(.failure(let kind)): throw HTTPError(kind, "a fault of the cassette '\(name)'")
    case .fault(.delay), .fault(.cut): throw HTTPError(.unsupported, "a fault without a response")
    case .replay(let entry, let number, let faults): return try await replay(entry, number, faults, sent)
    }
  }

  private var name: String { cassette.file.lastPathComponent }

  /// The request with its body in memory, and the body.
  private func read(_ request: HTTPRequest) async throws -> (HTTPRequest, Data?) {
    guard let body = request.body else { return (request, nil) }
    if case .data(let data) = body.content { return (request, data) }
    let data = try await request.bodyData()
    var read = request
    read.body = .data(data, contentType: body.contentType)
    return (read, data)
  }

  // MARK: Replaying

  private func replay(
    _ entry: HAREntry, _ number: Int, _ faults: [Cassette.Fault], _ request: HTTPRequest
  ) async throws -> StreamedResponse {
    let data = request.method == .head ? Data() : try cassette.body(of: entry, number)
    var clock: any Clock<Duration> = ContinuousClock()
    if case .recorded(let chosen) = cassette.pacing {
      clock = chosen
      try await clock.sleep(for: max(entry.timings.total - entry.timings.receive, .zero))
    }
    var limit: Int?
    for fault in faults {
      switch fault {
      case .delay(let delay): try await clock.sleep(for: delay)
      case .cut(let count): limit = min(limit ?? .max, max(count, 0))
      case .status, .failure: break
      }
    }
    var headers = entry.response.headers
    for field in Self.framing { headers.remove(field) }
    // Another program may have recorded the decoded body with the fields of the coded one.
    if headers["Content-Length"].flatMap({ Int($0) }) != data.count { headers.remove("Content-Length") }
    if case .text? = entry.response.body?.content { headers.remove("Content-Encoding") }
    var response = StreamedResponse(
      status: HTTPStatus(entry.response.status), headers: headers,
      body: body(data, limit, entry.timings.receive, clock),
      request: request)
    response.reasonPhrase = entry.response.statusText.isEmpty ? nil : entry.response.statusText
    let version = entry.response.httpVersion.uppercased().replacing("HTTP/", with: "")
    response.httpVersion = version.isEmpty ? nil : HTTPVersion(version == "2.0" ? "2" : version)
    return response
  }

  private func body(_ data: Data, _ limit: Int?, _ length: Duration, _ clock: any Clock<Duration>) -> ResponseBody {
    let isPaced = if case .recorded = cassette.pacing { true } else { false }
    guard isPaced || limit != nil else { return ResponseBody(data) }
    let kept = limit.map { data.prefix($0) } ?? data
    let count = isPaced ? max((data.count + Self.pieces - 1) / Self.pieces, 1) : max(kept.count, 1)
    let rest = Locked(Data(kept))
    let pause = isPaced ? length / Self.pieces : .zero
    let cut = HTTPError(.connectionLost, "the cassette '\(name)' cuts the body", phase: .receiving)
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
    let clock = ContinuousClock()
    let (date, start) = (Date(), clock.now)
    var response = try await live.send(request, context: context)
    let head = response
    let arrived = clock.now
    let pieces = Locked(response.body.makeAsyncIterator())
    let kept = Locked(Data())
    let isRecorded = Atomic(false)
    let cassette = cassette
    response.body = ResponseBody {
      var iterator = pieces.withLock { $0 }
      let piece = try await iterator.next()
      pieces.withLock { [iterator] in $0 = iterator }
      if let piece {
        kept.withLock { $0 += piece }
        return piece
      }
      // Read to its end a second time.
      guard !isRecorded.exchange(true, ordering: .relaxed) else { return nil }
      var timings = HAREntry.Timings()
      timings.wait = arrived - start
      timings.receive = clock.now - arrived
      try cassette.record(
        HAREntry(
          request, body, head, kept.withLock { $0 }, startedAt: date, timings: timings, cassette.redaction))
      return nil
    }
    return response
  }
}
