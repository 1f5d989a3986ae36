import MartletBase
import Foundation

extension ServerConnection {
  /// Plays a WebSocket's script as far as possible.
  func play(_ session: WebSocketServerSession, now: ContinuousClock.Instant) {
    // A client that reads fast must not delay the others.
    var budget = 1 << 20
    while !session.isAbandoned {
      guard !session.hasOutput else {
        wantsWrite = true
        guard budget > 0 else { return }
        switch session.withOutput({ Sockets.send(socket, $0) }) {
        case .moved(let count):
          session.sent(count)
          budget -= count
        case .wouldBlock: return
        case .closed: return close()
        }
        continue
      }
      wantsWrite = false
      switch session.next(now: now) {
      case .send: continue
      case .wait: return
      case .cut: return cut(now: now)
      case .reset: return close(resetting: true)
      }
    }
    close()
  }
}
