#if canImport(Darwin) || URLSession
  import MartletBase

  /// A connection that the system operates as messages, such as a `URLSessionWebSocketTask`.
  protocol MessageTask: Sendable {
    /// The server's close frame, or `nil` if there was none.
    var closure: MessageUpgrade.Closure? { get }

    /// Sends a text or binary message.
    func send(_ message: MessageUpgrade.Message, _ completion: @escaping @Sendable ((any Error)?) -> Void)

    /// Receives a text or binary message; called again only after its completion.
    func receive(_ completion: @escaping @Sendable (Result<MessageUpgrade.Message, any Error>) -> Void)

    /// Sends a ping; completed by its pong.
    func ping(_ completion: @escaping @Sendable ((any Error)?) -> Void)

    /// Sends a close frame.
    func close(_ closure: MessageUpgrade.Closure)

    /// Ends the connection.
    func cancel()
  }

  /// The bytes of an upgraded connection over a task that transports messages.
  ///
  /// ```
  ///   write ──codec──▶ send, ping, close          a message is received only when the reader has taken the previous ones
  ///   body ◀──codec── receive, pong, server's close
  ///
  ///   open ──receive fails──▶ failed ──closure, or the task's end──▶ ended ◀── the task's end, or abort: from anywhere
  ///     └────close frame written──▶ closing ──server's closure──────────▲
  /// ```
  final class MessageConnection: UpgradeWriter, BodyStream.Source {
    /// The exchange of the connection.
    protocol Owner: AnyObject, Sendable {
      func received(byteCount: Int)
      func sent(_ bytes: Int)
      /// The error for an error of the task.
      func failure(for error: any Error) -> HTTPError
      /// The reader needs no more bytes.
      func readerDidCancel()
    }

    private struct State {
      var codec: any MessageCodec
      var stream: BodyStream?
      var isReceiving = false
      /// The number of bytes in messages that the task has not sent yet.
      var waiting = 0
      var sentCount: Int64 = 0
      /// Whether the close frame was written, or the sending side has finished.
      var isClosing = false
      /// The close frame that follows the waiting messages.
      var lastFrame: MessageUpgrade.Closure?
      /// Why no more messages can be received.
      var failure: (any Error)?
      var closure: MessageUpgrade.Closure?
      var isEnded = false
      var roomActions: [@Sendable () -> Void] = []
    }

    /// The number of waiting bytes up to which there is room, as in the engine.
    static let capacity = 256 << 10

    private let task: any MessageTask
    private let owner: any Owner
    private let state: Locked<State>

    init(_ task: any MessageTask, _ messages: MessageUpgrade, owner: any Owner) {
      (self.task, self.owner) = (task, owner)
      state = Locked(State(codec: messages.makeCodec()))
    }

    /// The bytes from the server; called once, before any event.
    func open() -> BodyStream {
      let stream = BodyStream(from: self)
      state.withLock { $0.stream = stream }
      return stream
    }

    // MARK: Receiving

    /// Receives the next message, unless that is in progress.
    func receive() {
      let begins = state.withLock { state in
        guard !state.isReceiving, state.failure == nil, !state.isEnded else { return false }
        state.isReceiving = true
        return true
      }
      if begins { task.receive { self.received($0) } }
    }

    private func received(_ result: Result<MessageUpgrade.Message, any Error>) {
      switch result {
      case .success(let message):
        deliver(message)
        // Only now, so a reader that takes the message at once does not overtake this one.
        let stream = state.withLock { state in
          state.isReceiving = false
          return state.stream
        }
        if stream?.unreadCount == 0 { receive() }
      case .failure(let error): failed(error)
      }
    }

    func readerHasRoom() { receive() }

    func readerDidCancel() { owner.readerDidCancel() }

    private func deliver(_ message: MessageUpgrade.Message) {
      let (bytes, stream): (Data?, BodyStream?) = state.withLock { state in
        guard !state.isEnded else { return (nil, nil) }
        return (try? state.codec.bytes(of: message), state.stream)
      }
      guard let bytes, let stream else { return }
      owner.received(byteCount: bytes.count)
      stream.append(bytes)
    }

    // MARK: Sending

    var hasRoom: Bool { state.withLock { $0.waiting < Self.capacity || $0.isEnded } }

    var sentCount: Int64 { state.withLock { $0.sentCount } }

    /// Sends the messages that end in the bytes; the caller orders its writes.
    func write(_ bytes: Data) -> Bool {
      let messages: [MessageUpgrade.Message]? = state.withLock { state in
        guard !state.isClosing, !state.isEnded, let messages = try? state.codec.messages(in: bytes) else { return nil }
        state.waiting += messages.reduce(0) { $0 + $1.count }
        return messages
      }
      guard let messages else { return false }
      for message in messages { send(message) }
      return true
    }

    private func send(_ message: MessageUpgrade.Message) {
      switch message {
      case .text, .binary: task.send(message) { self.sent(message.count, $0) }
      case .ping(let payload):
        task.ping { error in if error == nil { self.deliver(.pong(payload)) } }
      // The task answers the server's pings itself.
      case .pong: break
      case .close(let closure):
        let isNow = state.withLock { state in
          state.isClosing = true
          if state.waiting > 0 { state.lastFrame = closure }
          return state.waiting == 0
        }
        if isNow { task.close(closure) }
      }
    }

    /// Records the end of a send; a failure also ends the receiving side, which reports it.
    private func sent(_ count: Int, _ error: (any Error)?) {
      if error == nil { owner.sent(count) }
      let (actions, closure): ([@Sendable () -> Void], MessageUpgrade.Closure?) = state.withLock { state in
        state.waiting -= count
        if error == nil { state.sentCount += Int64(count) }
        let closure = state.waiting == 0 ? state.lastFrame.take() : nil
        return (state.waiting < Self.capacity ? exchange(&state.roomActions, with: []) : [], closure)
      }
      if let closure { task.close(closure) }
      for action in actions { action() }
    }

    func onRoom(_ action: @escaping @Sendable () -> Void) {
      let isNow = state.withLock { state in
        guard state.waiting >= Self.capacity, !state.isEnded else { return true }
        state.roomActions.append(action)
        return false
      }
      if isNow { action() }
    }

    func finish() { state.withLock { $0.isClosing = true } }

    // MARK: The end

    /// Handles the end of receiving; the reason may still follow.
    private func failed(_ error: any Error) {
      let known = task.closure
      let (isClosed, isClosing) = state.withLock { state in
        state.isReceiving = false
        state.failure = state.failure ?? error
        // After the client's close frame, the task may report the client's own code.
        if !state.isClosing { state.closure = state.closure ?? known }
        return (state.closure != nil, state.isClosing)
      }
      if isClosed { return end() }
      if owner.failure(for: error).kind == .bodyTooLarge {
        task.close(.init(code: 1009, reason: Data()))
        return end()
      }
      // The task's end then reports the reason, even if the task would otherwise remain.
      if !isClosing { task.cancel() }
    }

    /// Records the server's close frame; earlier messages are received first.
    func closed(_ closure: MessageUpgrade.Closure) {
      let isLast = state.withLock { state in
        state.closure = closure
        return state.failure != nil || state.isClosing
      }
      if isLast { end() }
    }

    /// Ends the connection with its task.
    func completed(_ error: (any Error)?) {
      let known = task.closure
      state.withLock { state in
        // After a failure, the connection has cancelled the task, which may report that as a code.
        if state.failure == nil && !state.isClosing { state.closure = state.closure ?? known }
        state.failure = state.failure ?? error
      }
      end()
    }

    private func end() {
      if let closure = state.withLock({ $0.closure }) { deliver(.close(closure)) }
      guard let (stream, failure) = stop() else { return }
      stream.finish(throwing: failure.map { owner.failure(for: $0) })
    }

    /// Ends the connection from outside.
    func abort(_ error: any Error) { stop()?.stream.abort(error) }

    /// Enters the last state; returns the stream, and the failure that the reader gets.
    private func stop() -> (stream: BodyStream, failure: (any Error)?)? {
      let (stream, failure, actions) = state.withLock { state in
        let isNormal = state.closure != nil || state.isClosing
        state.isEnded = true
        return (state.stream.take(), isNormal ? nil : state.failure, exchange(&state.roomActions, with: []))
      }
      for action in actions { action() }
      return stream.map { ($0, failure) }
    }
  }

  extension MessageUpgrade.Message {
    /// The number of bytes that wait to be sent.
    fileprivate var count: Int {
      switch self {
      case .text(let text): text.utf8.count
      case .binary(let data): data.count
      case .ping, .pong, .close: 0
      }
    }
  }
#endif
