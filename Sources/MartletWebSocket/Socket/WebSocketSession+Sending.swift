import Martlet
import MartletBase

extension WebSocketSession {
  /// Sends a whole message when it is its turn, and there is room.
  ///
  /// The message is encoded only then: a compressed message that is not sent would make later ones unreadable.
  func send(_ message: Message) async throws {
    let count =
      switch message {
      case .text(let text): text.utf8.count
      case .binary(let data): data.count
      }
    try check(count)
    try await inTurn {
      try await connection.waitForRoom()
      try write(reporting: { reportSent(message) }) { writer throws(WebSocketViolation) in
        switch message {
        case .text(let text): try writer.text(text)
        case .binary(let data): try writer.binary(data)
        }
      }
    }
  }

  /// Sends a message in fragments.
  func send<Parts: AsyncSequence>(
    _ kind: MessageKind, _ parts: Parts, _ data: (Parts.Element) -> Data
  ) async throws {
    try await inTurn {
      var count = 0
      var hasBegun = false
      var report = PartialReport()
      do {
        for try await part in parts {
          let bytes = data(part)
          if bytes.isEmpty { continue }
          count += bytes.count
          try check(count)
          if let limit = connection.maximumReportedBytes { report.add(bytes, limit: limit) }
          try await connection.waitForRoom()
          try write(completesMessage: false) { writer throws(WebSocketViolation) in
            try writer.part(kind, bytes, isLast: false)
          }
          hasBegun = true
        }
        try await connection.waitForRoom()
        let whole = report
        try write(reporting: { whole.report(.sent, isText: kind == .text, on: connection) }) {
          writer throws(WebSocketViolation) in try writer.part(kind, Data(), isLast: true)
        }
      } catch {
        // The server would wait for the rest of a message that has begun.
        if hasBegun {
          let message = "a message could not be completed: \(error)"
          fail(HTTPError(.webSocketClosed, message, phase: .sending, underlying: error), .internalServerError)
        }
        throw error
      }
    }
  }

  private func check(_ count: Int) throws(HTTPError) {
    guard count > options.maximumMessageBytes else { return }
    throw HTTPError(
      .invalidRequest,
      "the message has \(count) bytes; maximumMessageBytes allows \(options.maximumMessageBytes)", phase: .sending)
  }

  /// Runs a closure while no other message is being sent.
  private func inTurn(_ send: () async throws -> Void) async throws {
    switch state.withLock({ $0.turn(limit: options.maximumWaitingMessages) }) {
    case .now: break
    case .over: throw endError
    case .tooMany:
      throw HTTPError(
        .overloaded, "\(options.maximumWaitingMessages) messages wait to be sent, the limit of maximumWaitingMessages",
        phase: .sending)
    case .later(let waiter):
      do {
        try await waiter.value()
      } catch {
        let isQueued = state.withLock { $0.leave(waiter) }
        if !isQueued { endTurn() }
        throw error
      }
      // The end of the WebSocket also resumes its senders.
      if state.withLock({ $0.isClosing }) { throw endError }
    }
    defer { endTurn() }
    try await send()
  }

  private func endTurn() {
    let next = state.withLock { $0.endTurn() }
    next?.resolve(.success(()))
  }

  /// Encodes, reports and writes a frame, unless the close frame was sent.
  ///
  /// Reports before it writes, so the report precedes that of the response.
  private func write(
    completesMessage: Bool = true, reporting report: () -> Void = {},
    _ encode: (inout MessageWriter) throws(WebSocketViolation) -> Data
  ) throws {
    let result: Result<Bool, WebSocketViolation> = wire.withLock { wire in
      guard !wire.isClosed else { return .success(false) }
      if let pong = wire.pong.take() { _ = connection.writeNow(wire.writer.pong(pong)) }
      do throws(WebSocketViolation) {
        let bytes = try encode(&wire.writer)
        report()
        let isAdded = connection.writeNow(bytes)
        if isAdded, completesMessage { wire.sentMessages += 1 }
        return .success(isAdded)
      } catch {
        return .failure(error)
      }
    }
    switch result {
    case .success(true): return
    case .success(false): throw endError
    case .failure(let violation):
      fail(violation)
      throw HTTPError(.unsupported, violation.message, phase: .sending)
    }
  }

  private var endError: any Error {
    if case .failed(let error)? = state.withLock({ $0.end }) { return error }
    return Self.closed
  }

  // MARK: Pings

  var unconfirmedCount: Int {
    // In this order, because the other number only grows.
    let confirmed = state.withLock { $0.confirmedMessages }
    return wire.withLock { $0.sentMessages } - confirmed
  }

  /// Answers a ping; without room, only the last one (RFC 6455 §5.5.3).
  func answer(_ payload: Data) {
    // The thread may receive for others, so it does not wait for a message that is being encoded.
    let isLate = wire.withLockIfAvailable { answer(payload, &$0) }
    guard isLate != false else { return }
    Task {
      if isLate == nil { guard wire.withLock({ answer(payload, &$0) }) else { return } }
      try? await connection.waitForRoom()
      wire.withLock { wire in
        guard !wire.isClosed, let pong = wire.pong.take() else { return }
        _ = connection.writeNow(wire.writer.pong(pong))
      }
    }
  }

  /// Writes a pong if there is room; otherwise keeps it, and returns `true` if no other pong was kept.
  private func answer(_ payload: Data, _ wire: inout Wire) -> Bool {
    guard !wire.isClosed else { return false }
    guard !connection.hasRoom else {
      _ = connection.writeNow(wire.writer.pong(payload))
      return false
    }
    return exchange(&wire.pong, with: payload) == nil
  }

  func received(pong payload: Data) {
    guard payload.count == 8 else { return }
    let number = payload.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let promises = state.withLock { $0.answered(number) }
    for promise in promises { promise.resolve(.success(())) }
  }

  func ping() async throws -> Duration {
    let limit = options.maximumWaitingMessages
    let start = timeline.now()
    // Without waiting for room, so a connection that accepts nothing is detected.
    let ping: (number: UInt64, promise: Promise<Void>)? = try wire.withLock { wire in
      guard !wire.isClosed else { throw endError }
      guard let ping = state.withLock({ $0.ping(limit: limit, after: wire.sentMessages) }) else { return nil }
      let payload = withUnsafeBytes(of: ping.number.bigEndian) { Data($0) }
      guard connection.writeNow(wire.writer.ping(payload)) else { throw endError }
      return ping
    }
    guard let (number, promise) = ping else {
      throw HTTPError(
        .overloaded, "\(limit) pings wait for pongs, the limit of maximumWaitingMessages", phase: .sending)
    }
    defer { state.withLock { $0.forgetPing(number) } }
    let patience = options.pingTimeout
    try await race([
      { try await promise.value() },
      { [timeline] in
        try await timeline.watch(patience)
        throw HTTPError(.timedOut, "no pong arrived within the pingTimeout of \(patience)", phase: .receiving)
      },
    ])
    return timeline.now() - start
  }

  /// Sends pings until the end, and fails the WebSocket if a server that sends nothing else does not answer.
  func startPings(every interval: Duration) {
    Task { [weak self, timeline, ended] in
      while true {
        try? await race([{ try await ended.value() }, { try await timeline.pause(interval) }])
        guard let self, ended.current == nil else { return }
        let progress = state.withLock { $0.progress }
        do {
          _ = try await ping()
        } catch let error as HTTPError where error.kind == .timedOut {
          // The pong may be behind messages that the program has not received, or that are still arriving.
          let isDead = state.withLock { $0.progress == progress && !$0.isHeld }
          if isDead { return fail(error, .internalServerError) }
        } catch {
          if ended.current != nil { return }
        }
      }
    }
  }
}
