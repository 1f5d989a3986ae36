import Martlet
import MartletBase

/// The state and the reading task of one WebSocket.
///
/// ```
///   open ──close, or a violation──▶ closing ──the server's end, or closeTimeout──▶ ended
///     └────────────the server's close────▲                                           ▲
///     └─────────────────────the connection's end─────────────────────────────────────┘
/// ```
///
/// The task reads frames, even while the program does not receive, so pings are answered. It waits while too many bytes
/// are unread. The task and the client retain the session until its end.
final class WebSocketSession: Sendable {
  typealias Message = WebSocket.Message

  /// The sending side; its lock keeps the order of frames.
  struct Wire {
    var writer: MessageWriter
    /// Whether the close frame was sent, after which no other frame may follow.
    var isClosed = false
    /// The number of complete messages that were passed to the connection.
    var sentMessages = 0
    /// The payload of a pong that had no room.
    var pong: Data?
  }

  let connection: UpgradedConnection
  let client: HTTPClient
  let options: WebSocketOptions
  let timeline: Timeline
  let wire: Locked<Wire>
  let state = Locked(WebSocketState())
  /// Set after the end of the connection.
  let ended = Promise<Void>()
  let work = WebSocketWork()
  /// The message that arrives in parts, for instruments.
  let receivedParts = Locked(PartialReport())
  private let deflate: PermessageDeflate?

  init(
    _ connection: UpgradedConnection, _ client: HTTPClient, _ options: WebSocketOptions,
    _ agreement: WebSocketHandshake.Agreement
  ) {
    (self.connection, self.client, self.options) = (connection, client, options)
    timeline = Timeline(client.configuration.clock)
    deflate = agreement.deflate
    wire = Locked(
      Wire(
        writer: MessageWriter(
          .client, deflate: agreement.deflate, level: max(1, options.compression.level),
          minimumCompressedBytes: options.compression.minimumBytes)))
  }

  func start() {
    Task { await self.run() }
    if let interval = options.keepAlive.interval { startPings(every: interval) }
  }

  // MARK: Receiving

  private func run() async {
    var bytes = connection.bytes.makeAsyncIterator()
    do {
      if readsImmediately {
        try await withTaskExecutorPreference(ImmediateExecutor.shared) { try await read(&bytes) }
      } else {
        try await read(&bytes)
      }
      end(state.withLock { $0.end == nil && $0.closure == nil } ? Self.lost : nil)
    } catch let violation as WebSocketViolation {
      fail(violation)
      // The close frame is sent before the connection is closed.
      while let chunk = try? await bytes.next() { _ = chunk }
      end(nil)
    } catch let error as HTTPError {
      end(state.withLock { $0.isClosing } ? nil : error)
    } catch {
      end(error)
    }
  }

  /// Whether reading a message never takes long, and calls no code of the program.
  private var readsImmediately: Bool { deflate == nil && options.onControlFrame == nil }

  /// Reads messages until the end of the connection.
  private func read(_ bytes: inout ResponseBody.AsyncIterator) async throws {
    var reader = MessageReader(
      .client,
      limits: .init(
        maximumFrameBytes: options.maximumFrameBytes ?? .max, maximumMessageBytes: options.maximumMessageBytes),
      deflate: deflate, delivery: options.deliversParts ? .parts : .messages)
    while let chunk = try await bytes.next() {
      reader.append(chunk)
      state.withLock { $0.didReceive() }
      var count = 0
      while let event = try reader.next() {
        count += 1
        // The thread also receives for others.
        if count.isMultiple(of: Self.maximumTurn) {
          wakeReceiver()
          await onSwiftsThreads { await Task.yield() }
        }
        await handle(event)
      }
      wakeReceiver()
    }
  }

  /// Lets the program receive the messages of a chunk.
  private func wakeReceiver() { state.withLock { $0.takeReceiver() }?.resolve(.success(())) }

  /// The number of frames after which the reading task leaves its thread.
  private static let maximumTurn = 256

  /// Runs a closure on Swift's threads, so the thread that ends its wait does not continue the task.
  private func onSwiftsThreads(_ body: () async -> Void) async {
    await withTaskExecutorPreference(globalConcurrentExecutor) { await body() }
  }

  private func handle(_ event: WebSocketEvent) async {
    reportReceived(event)
    switch event {
    case .text(let text): await deliver(.message(.text(text)))
    case .binary(let data): await deliver(.message(.binary(data)))
    case .part(let kind, let data, let isFirst, let isLast):
      await deliver(.part(WebSocket.Part(isText: kind == .text, data: data, isFirst: isFirst, isLast: isLast)))
    case .ping(let payload):
      options.onControlFrame?(event)
      answer(payload)
    case .pong(let payload):
      options.onControlFrame?(event)
      received(pong: payload)
    case .close(let code, let reason):
      options.onControlFrame?(event)
      let closure = WebSocketState.Closure(code: code ?? .noStatusReceived, reason: reason)
      // Another thread may be encoding a message.
      await onSwiftsThreads { await Task.yield() }
      // Before the program learns of the end, because it may then release the WebSocket, which sends another code.
      sendClose(code, "")
      let waiters = state.withLock { $0.closed(closure) }
      for waiter in waiters { waiter.resolve(.success(())) }
      endLater()
    }
  }

  /// Adds a message to the queue, and waits while the queue is full.
  private func deliver(_ item: WebSocketState.Item) async {
    let (receiver, room) = state.withLock { $0.add(item, limit: options.maximumUnreadBytes) }
    receiver?.resolve(.success(()))
    if let room { await onSwiftsThreads { try? await room.value() } }
  }

  func receive() async throws -> Message? {
    while let item = try await nextItem() {
      switch item {
      case .message(let message): return message
      case .part(let part):
        // The parts stay in the state if the next wait is cancelled.
        if let message = state.withLock({ $0.collect(part) }) { return message }
      }
    }
    return nil
  }

  func receivePart() async throws -> WebSocket.Part? {
    if let part = state.withLock({ $0.takeCollected() }) { return part }
    return switch try await nextItem() {
    case nil: nil
    case .part(let part): part
    case .message(.text(let text)): WebSocket.Part(isText: true, data: Data(text.utf8), isFirst: true, isLast: true)
    case .message(.binary(let data)): WebSocket.Part(isText: false, data: data, isFirst: true, isLast: true)
    }
  }

  private func nextItem() async throws -> WebSocketState.Item? {
    while true {
      switch state.withLock({ $0.take(limit: options.maximumUnreadBytes) }) {
      case .item(let item, let room):
        room?.resolve(.success(()))
        return item
      case .end(let error):
        if let error { throw error }
        // The program may exit after the end, so its last messages are sent before.
        if isClosedByClient { try await ended.value() }
        return nil
      case .second: throw HTTPError(.unsupported, "another task receives from the WebSocket", phase: .receiving)
      case .waits(let promise):
        if mayReceiveHere(for: #isolation), promise.current == nil, connection.receiveHere(),
          state.withLock({ $0.hasToYield() })
        {
          await Task.yield()
        }
        do {
          try await promise.value()
        } catch {
          state.withLock { $0.forget(promise) }
          throw error
        }
      }
    }
  }

  /// Whether the program's task may wait on its thread; never on an actor, which would then do nothing else.
  private func mayReceiveHere(for actor: (any Actor)?) -> Bool { actor == nil && readsImmediately }

  // MARK: The end

  var closure: WebSocketState.Closure? { state.withLock { $0.closure } }

  /// Whether the program or the drained client has closed the WebSocket.
  var isClosedByClient: Bool { state.withLock { $0.dropsMessages } }

  private static let lost = HTTPError(
    .connectionLost, "the connection ended without a close frame", phase: .receiving)

  /// Closes and waits for the end.
  func close(_ code: WebSocketCloseCode, _ reason: String) async {
    beginClose(code, reason)
    do { try await ended.value() } catch { connection.close() }
  }

  /// Sends a close frame, and drops messages from now on.
  func beginClose(_ code: WebSocketCloseCode, _ reason: String, within limit: Duration? = nil) {
    let (closure, waiters) = state.withLock { $0.close(WebSocketState.Closure(code: code, reason: reason)) }
    sendClose(closure.code, closure.reason)
    endLater(within: limit)
    for waiter in waiters { waiter.resolve(.success(())) }
  }

  /// Closes without waiting, because the WebSocket was released.
  func abandon() { if ended.current == nil { beginClose(.goingAway, "", within: .seconds(1)) } }

  /// Closes because of an error of the program.
  func leave() async {
    beginClose(.goingAway, "", within: .seconds(1))
    do { try await ended.value() } catch { connection.close() }
  }

  /// Fails the WebSocket (RFC 6455 §7.1.7).
  func fail(_ violation: WebSocketViolation) {
    let kind: HTTPError.Kind = violation.code == .messageTooBig ? .bodyTooLarge : .protocolViolation
    fail(HTTPError(kind, violation.message, phase: .receiving), violation.code)
  }

  func fail(_ error: HTTPError, _ code: WebSocketCloseCode) {
    // Before the program learns of the failure, as above.
    sendClose(code, "")
    let waiters = state.withLock { $0.fail(error) }
    endLater(within: .seconds(1))
    for waiter in waiters { waiter.resolve(.success(())) }
  }

  private func sendClose(_ code: WebSocketCloseCode?, _ reason: String) {
    // The server ends the connection first (RFC 6455 §7.1.1); many treat the end of the client's side as a loss.
    wire.withLock { wire in
      guard !wire.isClosed else { return }
      wire.isClosed = true
      let isLegal = code?.isSendable == true
      reportSentClose(isLegal ? code : nil, reason)
      _ = connection.writeNow(wire.writer.close(isLegal ? code : nil, reason: isLegal ? reason : ""))
    }
  }

  /// Closes the connection after a time without progress, unless it ends before.
  ///
  /// The server receives the messages before the close frame first, which may take longer.
  private func endLater(within limit: Duration? = nil) {
    guard state.withLock({ exchange(&$0.isEndPlanned, with: true) == false }) else { return }
    let limit = min(limit ?? options.closeTimeout, options.closeTimeout)
    Task { [timeline, ended, connection] in
      while ended.current == nil {
        let sent = connection.sentCount
        // Ends with the earlier of both.
        try? await race([{ try await ended.value() }, { try await timeline.watch(limit) }])
        if connection.sentCount == sent { break }
      }
      connection.close()
    }
  }

  /// Records the end of the connection.
  private func end(_ error: (any Error)?) {
    let (waiters, pings, failure) = wire.withLock { wire in
      // No message is added after the program has learned of the end, so `unconfirmedCount` includes all of them.
      wire.isClosed = true
      return state.withLock { $0.ended(error) }
    }
    for waiter in waiters { waiter.resolve(.success(())) }
    for ping in pings { ping.resolve(.failure(failure ?? Self.closed)) }
    connection.close(throwing: failure as? HTTPError)
    ended.resolve(.success(()))
    client.detach(work)
    work.end()
  }

  static let closed = HTTPError(.webSocketClosed, "the WebSocket is closed", phase: .sending)
}

/// Lets a client close its WebSockets when it is drained.
final class WebSocketWork: ClientWork {
  private let session = Locked<WebSocketSession?>(nil)

  var snapshot: any Sendable { "WebSocket" }

  func begin(_ session: WebSocketSession) { self.session.withLock { $0 = session } }

  func end() {
    let session = session.withLock { $0.take() }
    _ = session
  }

  func beginDraining() { session.withLock { $0 }?.beginClose(.goingAway, "") }

  func finishDraining(within limit: Duration?) async { try? await session.withLock { $0 }?.ended.value() }
}
