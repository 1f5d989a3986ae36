import MartletBase
import Foundation
import Martlet
import MartletHAR
import MartletWebSocket

/// Records the messages of a WebSocket between a client and a transport.
///
/// ```
///   client ──write──▶ sent reader ──▶ messages ◀── received reader ◀── body ── transport
/// ```
final class CassetteSocketRecorder: UpgradeWriter {
  private struct State {
    var sent: MessageReader
    var received: MessageReader
    var messages: [HAREntry.WebSocketMessage] = []
    private var count = 0
    /// Whether a frame could not be read, or a limit was passed, so the recording would be incomplete.
    var isBroken = false

    init(sent: MessageReader, received: MessageReader) { (self.sent, self.received) = (sent, received) }

    mutating func add(_ bytes: Data, isSent: Bool, at time: Date, _ redaction: Redaction) {
      guard !isBroken else { return }
      do {
        if isSent { sent.append(bytes) } else { received.append(bytes) }
        while let event = try isSent ? sent.next() : received.next() {
          guard let message = InstrumentEvent.Message(event, isSent ? .sent : .received) else { continue }
          count += message.body.data.count
          guard messages.count < CassetteSocketRecorder.maximumCount, count <= CassetteSocketRecorder.maximumBytes
          else {
            (isBroken, messages) = (true, [])
            return
          }
          messages.append(HAREntry.WebSocketMessage(recording: message, at: time, redaction))
        }
      } catch {
        isBroken = true
      }
    }
  }

  /// The limits of a recording, as in a HAR file, whose target shares only public declarations.
  private static let (maximumCount, maximumBytes) = (10_000, 16 << 20)

  private let writer: any UpgradeWriter
  private let redaction: Redaction
  private let state: Locked<State>

  /// Creates a recorder for a connection, given the extensions that the server selected.
  init(_ writer: any UpgradeWriter, extensions: [String], _ redaction: Redaction) {
    (self.writer, self.redaction) = (writer, redaction)
    let deflate = try? PermessageDeflate.negotiated(extensions, offer: PermessageDeflate.Offer())
    let limits = MessageReader.Limits(maximumMessageBytes: Self.maximumBytes)
    state = Locked(
      State(
        sent: MessageReader(.server, limits: limits, deflate: deflate),
        received: MessageReader(.client, limits: limits, deflate: deflate)))
  }

  /// The messages so far; `nil` if they could not be read.
  var messages: [HAREntry.WebSocketMessage]? { state.withLock { $0.isBroken ? nil : $0.messages } }

  func received(_ bytes: Data) {
    let now = Date()
    state.withLock { $0.add(bytes, isSent: false, at: now, redaction) }
  }

  var hasRoom: Bool { writer.hasRoom }
  var sentCount: Int64 { writer.sentCount }
  func onRoom(_ action: @escaping @Sendable () -> Void) { writer.onRoom(action) }
  func finish() { writer.finish() }

  func write(_ bytes: Data) -> Bool {
    let now = Date()
    state.withLock { $0.add(bytes, isSent: true, at: now, redaction) }
    return writer.write(bytes)
  }
}

extension InstrumentEvent.Message {
  /// A message or a close frame; `nil` for other control frames.
  fileprivate init?(_ event: WebSocketEvent, _ direction: Direction) {
    switch event {
    case .text(let text): self.init(direction, .text, Data(text.utf8))
    case .binary(let data): self.init(direction, .binary, data)
    case .close(let code, let reason): self.init(direction, .close, FrameCoding.closePayload(code, reason: reason))
    case .ping, .pong, .part: return nil
    }
  }
}
