import MartletBase
import Foundation
import Martlet
import MartletHAR
import MartletWebSocket
import Synchronization

extension CassettePlayer {
  /// The fields that a handshake sets itself.
  private static let handshakeFields = ["Upgrade", "Connection", "Sec-WebSocket-Accept", "Sec-WebSocket-Extensions"]

  /// Replays the messages of an entry with status 101.
  func replaySocket(
    _ entry: HAREntry, _ number: Int, _ faults: [Cassette.Fault], _ request: HTTPRequest, _ context: RequestContext
  ) async throws -> StreamedResponse {
    guard let messages = entry.webSocketMessages else {
      throw HTTPError(
        .fileFailed, "entry \(number) of cassette '\(name)' has no messages; only WebSockets can be replayed")
    }
    let socket = try CassetteSocket(messages, of: entry, number, cassette, cassette.redaction(context))
    guard try await waitForHead(of: entry, faults) == nil else {
      throw HTTPError(.unsupported, "a cassette cannot truncate a WebSocket: remove the fault 'cut'")
    }
    var handshake = MockWebSocket()
    var headers = entry.response.headers
    if let name = headers["Sec-WebSocket-Protocol"] { handshake.subprotocols = [name] }
    for field in Self.handshakeFields + ["Sec-WebSocket-Protocol"] { headers.remove(field) }
    handshake.headers = headers.map { MockResponse.Field($0.name, $0.value) }
    let timeline = cassette.pacing.clock.map { Timeline($0) }
    return WebSocketOpening.response(handshake, request, context, cassette.sockets, timeline) {
      socket.server(handshake, $0)
    }
  }

  /// Sends a request for a WebSocket, and records its messages when the server's bytes end.
  func recordSocket(_ request: HTTPRequest, _ context: RequestContext) async throws -> StreamedResponse {
    guard let name = context.upgradeProtocol, FieldSyntax.isSameName(name, "websocket") else {
      throw HTTPError(.unsupported, "a cassette records WebSockets, not the protocol \(context.upgradeProtocol ?? "")")
    }
    let clock = ContinuousClock()
    let (date, start) = (Date(), clock.now)
    var response = try await live.send(request, context: context)
    guard let writer = response.upgradeWriter else {
      return try recording(response, to: request, nil, context, startedAt: date, start)
    }
    let (head, arrived) = (response, clock.now)
    let redaction = cassette.redaction(context)
    let recorder = CassetteSocketRecorder(writer, extensions: head.headers[all: "Sec-WebSocket-Extensions"], redaction)
    response.upgradeWriter = recorder
    let pieces = Locked(response.body.makeAsyncIterator())
    let isRecorded = Atomic(false)
    response.body = ResponseBody { [cassette] in
      var iterator = pieces.withLock { $0 }
      let piece = try await iterator.next()
      pieces.withLock { [iterator] in $0 = iterator }
      if let piece {
        recorder.received(piece)
        return piece
      }
      guard !isRecorded.exchange(true, ordering: .relaxed), let messages = recorder.messages else { return nil }
      var timings = HAREntry.Timings()
      timings.wait = arrived - start
      timings.receive = clock.now - arrived
      var entry = HAREntry(
        recording: request, nil, head, Data(), startedAt: date, timings: timings, redaction)
      entry.webSocketMessages = messages
      try cassette.record(entry, redaction)
      return nil
    }
    return response
  }
}
