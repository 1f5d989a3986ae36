import Martlet
import MartletBase

/// The messages and the stage of a WebSocket; a value under its session's lock.
struct WebSocketState {
  typealias Waiter = Promise<Void>

  /// A received message or a part of one.
  enum Item: Sendable {
    case message(WebSocket.Message)
    case part(WebSocket.Part)

    var count: Int {
      switch self {
      case .message(.text(let text)): text.utf8.count
      case .message(.binary(let data)): data.count
      case .part(let part): part.data.count
      }
    }
  }

  /// The contents of a close frame.
  struct Closure {
    let code: WebSocketCloseCode
    let reason: String

    var sentence: String {
      let reason = reason.isEmpty ? "" : ": \(Printable.text(reason))"
      return "the server closed the WebSocket with \(code)\(reason)"
    }
  }

  enum End {
    case closed
    case failed(any Error)
  }

  enum Taken {
    /// The next item, and the reading task if there is room again.
    case item(Item, room: Waiter?)
    case end((any Error)?)
    /// Another task is receiving.
    case second
    case waits(Waiter)
  }

  private var items = FirstInFirstOut<Item>()
  private var unread = 0
  private var receiver: Waiter?
  /// The reading task, while too many bytes are unread.
  private var room: Waiter?
  /// Whether a message is being sent.
  private(set) var isSending = false
  private var senders = FirstInFirstOut<Waiter>()
  /// The server's close frame.
  private(set) var closure: Closure?
  /// The close frame of the client's first close.
  private var ownClosure: Closure?
  private(set) var end: End?
  /// Whether the end has begun, so no more messages are sent.
  private(set) var isClosing = false
  /// Whether messages are dropped, because the client closes.
  private(set) var dropsMessages = false
  var isEndPlanned = false
  private var pings: [(number: UInt64, sentMessages: Int, promise: Promise<Void>)] = []
  /// The number of sent messages before the last ping that has a pong.
  private(set) var confirmedMessages = 0
  /// Unpredictable, so a server cannot answer a ping that it has not received.
  private var lastPing = UInt64.random(in: 0...(.max >> 1))
  /// The parts of a message that ``WebSocketSession/receive()`` has collected.
  private var collected: (isText: Bool, data: Data)?
  /// The number of times that the program's task received on its thread.
  private(set) var inlineCount = 0
  /// The number of received chunks, and of waits for the program that have ended.
  private(set) var progress = 0
}

// MARK: Receiving

extension WebSocketState {
  /// Adds an item; returns a waiting receiver if many bytes are unread, and a waiter if the queue is full.
  ///
  /// Otherwise ``takeReceiver()`` returns the receiver: its resumption costs more than reading most messages.
  mutating func add(_ item: Item, limit: Int) -> (receiver: Waiter?, room: Waiter?) {
    guard !dropsMessages, end == nil else { return (nil, nil) }
    items.append(item)
    unread += item.count
    if unread > limit || items.count > 10_000 { room = Waiter() }
    return (room != nil || unread >= Self.wakeCount ? receiver.take() : nil, room)
  }

  /// The number of unread bytes for which a receiver is resumed before the end of a chunk.
  private static let wakeCount = 512 << 10

  /// Returns a waiting receiver, if there is something to receive.
  mutating func takeReceiver() -> Waiter? { items.isEmpty ? nil : receiver.take() }

  mutating func take(limit: Int) -> Taken {
    if let item = items.popFirst() {
      unread -= item.count
      let hasRoom = unread <= limit / 2 && items.count <= 5_000
      guard hasRoom, let room = room.take() else { return .item(item, room: nil) }
      progress += 1
      return .item(item, room: room)
    }
    switch end {
    case .closed?: return .end(nil)
    case .failed(let error)?: return .end(error)
    case nil: break
    }
    guard receiver == nil else { return .second }
    let waiter = Waiter()
    receiver = waiter
    return .waits(waiter)
  }

  /// Adds a part to a message; returns the message if it is complete.
  ///
  /// Skips the parts of a message that was begun elsewhere.
  mutating func collect(_ part: WebSocket.Part) -> WebSocket.Message? {
    if part.isFirst { collected = (part.isText, Data()) }
    guard collected != nil else { return nil }
    collected?.data += part.data
    guard part.isLast, let whole = collected.take() else { return nil }
    return whole.isText ? .text(String(decoding: whole.data, as: UTF8.self)) : .binary(whole.data)
  }

  /// The part that a cancelled receiver has collected.
  mutating func takeCollected() -> WebSocket.Part? {
    collected.take().map { WebSocket.Part(isText: $0.isText, data: $0.data, isFirst: true, isLast: false) }
  }

  /// Counts a chunk from the server.
  mutating func didReceive() { progress += 1 }

  /// Counts a time that the program's task received; returns whether the task has to yield.
  ///
  /// A task that never suspends would never yield its thread.
  mutating func hasToYield() -> Bool {
    inlineCount += 1
    return inlineCount.isMultiple(of: 16)
  }

  /// Whether the reading task waits for the program.
  var isHeld: Bool { room != nil }

  /// Removes the waiter of a cancelled receiver.
  mutating func forget(_ waiter: Waiter) { if receiver === waiter { receiver = nil } }
}

// MARK: Sending

extension WebSocketState {
  enum Turn {
    case now
    case later(Waiter)
    case tooMany
    case over
  }

  /// Requests the turn to send a message.
  mutating func turn(limit: Int) -> Turn {
    if isClosing || end != nil { return .over }
    guard isSending else {
      isSending = true
      return .now
    }
    guard senders.count < limit else { return .tooMany }
    let waiter = Waiter()
    senders.append(waiter)
    return .later(waiter)
  }

  /// Removes a cancelled sender; returns `false` if it has the turn already.
  mutating func leave(_ waiter: Waiter) -> Bool { senders.removeFirst { $0 === waiter } != nil }

  /// Ends the turn; returns the next sender.
  mutating func endTurn() -> Waiter? {
    let next = senders.popFirst()
    isSending = next != nil
    return next
  }

  /// A new ping after a number of sent messages; `nil` if too many wait.
  mutating func ping(limit: Int, after sentMessages: Int) -> (number: UInt64, promise: Promise<Void>)? {
    guard pings.count < limit else { return nil }
    lastPing += 1
    let promise = Promise<Void>()
    pings.append((lastPing, sentMessages, promise))
    return (lastPing, promise)
  }

  mutating func forgetPing(_ number: UInt64) { pings.removeAll { $0.number == number } }

  /// Removes the pings that a pong answers: a server may answer only the last one (RFC 6455 §5.5.3).
  mutating func answered(_ number: UInt64) -> [Promise<Void>] {
    guard pings.contains(where: { $0.number == number }) else { return [] }
    let answered = pings.filter { $0.number <= number }
    pings.removeAll { $0.number <= number }
    confirmedMessages = answered.last?.sentMessages ?? confirmedMessages
    return answered.map(\.promise)
  }
}

// MARK: The end

extension WebSocketState {
  /// Records the server's close; returns the waiters to resume.
  mutating func closed(_ closure: Closure) -> [Waiter] {
    isClosing = true
    if self.closure == nil { self.closure = closure }
    guard end == nil else { return [] }
    let normal: [WebSocketCloseCode] = [.normalClosure, .goingAway, .noStatusReceived]
    if normal.contains(closure.code) {
      end = .closed
    } else {
      end = .failed(HTTPError(.webSocketClosed, closure.sentence, phase: .receiving))
    }
    return takeWaiters()
  }

  /// Records that the client closes, and drops all messages; returns the close frame to send, and the waiters to resume.
  ///
  /// A receiver that learns of the end may close with another code, even before the first close frame is sent.
  mutating func close(_ closure: Closure) -> (Closure, [Waiter]) {
    isClosing = true
    dropsMessages = true
    dropItems()
    if end == nil { end = .closed }
    let first = ownClosure ?? closure
    ownClosure = first
    return (first, takeWaiters())
  }

  mutating func fail(_ error: any Error) -> [Waiter] {
    isClosing = true
    if end == nil { end = .failed(error) }
    return takeWaiters()
  }

  /// Records the end of the connection; returns the waiters to resume, and the failure.
  mutating func ended(_ error: (any Error)?) -> ([Waiter], [Promise<Void>], (any Error)?) {
    isClosing = true
    if end == nil { end = error.map { .failed($0) } ?? .closed }
    if closure == nil { closure = Closure(code: .abnormalClosure, reason: "") }
    let open = pings.map(\.promise)
    pings = []
    guard case .failed(let failure)? = end else { return (takeWaiters(), open, nil) }
    return (takeWaiters(), open, failure)
  }

  private mutating func dropItems() {
    items = FirstInFirstOut()
    unread = 0
  }

  private mutating func takeWaiters() -> [Waiter] {
    let waiters = [receiver.take(), room.take()].compactMap { $0 } + senders.all
    senders = FirstInFirstOut()
    return waiters
  }
}
