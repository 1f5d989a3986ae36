#if canImport(Darwin) || URLSession
  import MartletBase
  import Foundation

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// The messages of a session's WebSocket.
  struct WebSocketTask: MessageTask {
    let task: URLSessionWebSocketTask

    var closure: MessageUpgrade.Closure? { Self.closure(task.closeCode.rawValue, task.closeReason) }

    /// The server's close frame; `nil` for the codes that mean there was none.
    static func closure(_ code: Int, _ reason: Data?) -> MessageUpgrade.Closure? {
      // 1005 is a close frame without a code; 1006 and 1015 are ends without a close frame (RFC 6455 §7.4.1).
      guard let code = UInt16(exactly: code), 1000..<5000 ~= code, code != 1006, code != 1015 else { return nil }
      return .init(code: code == 1005 ? nil : code, reason: reason ?? Data())
    }

    func send(_ message: MessageUpgrade.Message, _ completion: @escaping @Sendable ((any Error)?) -> Void) {
      switch message {
      case .text(let text): task.send(.string(text), completionHandler: completion)
      case .binary(let data): task.send(.data(data), completionHandler: completion)
      case .ping, .pong, .close: break
      }
    }

    func receive(_ completion: @escaping @Sendable (Result<MessageUpgrade.Message, any Error>) -> Void) {
      task.receive { result in
        completion(
          result.map { message in
            // A `switch` needs another case on Apple's platforms, and warns about it on Linux.
            if case .string(let text) = message { return .text(text) }
            if case .data(let data) = message { return .binary(data) }
            return .binary(Data())
          })
      }
    }

    func ping(_ completion: @escaping @Sendable ((any Error)?) -> Void) {
      task.sendPing(pongReceiveHandler: completion)
    }

    func close(_ closure: MessageUpgrade.Closure) {
      // Foundation on Linux has only the codes of RFC 6455.
      let code = URLSessionWebSocketTask.CloseCode(rawValue: Int(closure.code ?? 1000))
      task.cancel(with: code ?? .normalClosure, reason: closure.reason.isEmpty ? nil : closure.reason)
    }

    func cancel() { task.endExchange() }
  }

  extension URLSessionTask {
    /// Ends the task at once.
    func endExchange() {
      #if canImport(FoundationNetworking)
        // `cancel()` of a WebSocket sends a close frame with the invalid code 0.
        if let task = self as? URLSessionWebSocketTask { return task.cancel(with: .goingAway, reason: nil) }
      #endif
      cancel()
    }
  }
#endif
