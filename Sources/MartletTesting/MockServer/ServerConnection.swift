import MartletBase
import Martlet
import Foundation

/// One accepted connection: reads requests, and sends the responses.
///
/// Each event ends in ``advance(now:)``, which reads and writes as far as possible:
///
/// ```
/// head ──▶ body ──▶ responder ──▶ steps ──▶ next head
///   └──── early response ──────────▲ (the body is read meanwhile)
/// ```
///
/// It belongs to the thread of its ``ServerLoop``.
final class ServerConnection {
  private struct Exchange {
    /// The index of the request in the journal.
    let index: Int
    var request: RecordedRequest
    /// The response to send after the body, if it is known before.
    var prepared: MockResponse?
    /// The response in progress.
    var response: MockResponse?
    var isAnswered = false
    var closesAfterwards: Bool
  }

  /// The reason why the script does not continue.
  private enum BlockReason: Equatable {
    case none
    case pause(until: ContinuousClock.Instant)
    case hang
    case peerClose
  }

  let socket: Int32
  let number: Int
  private(set) var isClosed = false
  var wantsWrite = false

  private let core: ServerCore
  private var reader = RequestReader()
  private var writer = ResponseWriter()
  private var exchange: Exchange?
  private var task: Task<Void, Never>?
  private var requestCount = 0
  private var answerCount = 0
  private var obstacle = BlockReason.none
  /// Whether the current steps belong to no request.
  private var isGreeting = false
  /// Whether a malformed request arrived; no more requests are read.
  private var isRefused = false
  /// Whether the peer has closed its side, so nothing more arrives.
  private var hasEnded = false
  /// Whether the server's side is closed, and received bytes are discarded.
  private var isLingering = false

  /// Received bytes of the request body not echoed yet, for ``MockResponse/Step/echoChunks``.
  private var unechoed = Data()
  /// The WebSocket that follows the last request.
  private var session: WebSocketServerSession?

  private var isStalled = false
  private var maximumAnswers = Int.max
  private var maximumRead = Int.max
  private var readPause = Duration.zero
  private var idleLimit: Duration?

  private var closesAt: ContinuousClock.Instant?
  private var idleEnd: ContinuousClock.Instant?
  private var readsAgain: ContinuousClock.Instant?

  init(socket: Int32, number: Int, core: ServerCore) {
    self.socket = socket
    self.number = number
    self.core = core
  }
}

// MARK: - Interface for the loop

extension ServerConnection {
  /// The time of the connection's next timer.
  var nextTimer: ContinuousClock.Instant? {
    var earliest = closesAt
    func consider(_ time: ContinuousClock.Instant?) {
      guard let time else { return }
      earliest = earliest.map { min($0, time) } ?? time
    }
    consider(idleEnd)
    consider(readsAgain)
    consider(session?.nextTimer)
    if case .pause(let end) = obstacle { consider(end) }
    return earliest
  }

  /// Whether to read bytes of the peer now.
  func wantsRead(now: ContinuousClock.Instant) -> Bool {
    if hasEnded || isStalled { return false }
    if isLingering { return true }
    if let readsAgain, readsAgain > now { return false }
    if let session { return session.wantsRead }
    if let response = exchange?.response, response.pausesReading, exchange?.isAnswered == false { return false }
    // Pipelined requests are read up to a limit.
    return reader.unusedCount <= RequestReader.maximumHeadBytes || exchange?.request.isComplete == false
  }

  func start(_ plan: ConnectionPlan, now: ContinuousClock.Instant) {
    switch plan {
    case .serve: break
    case .closeAtOnce: close()
    case .resetAtOnce: close(resetting: true)
    case .acceptAndStall: isStalled = true
    case .closeAfter(let requests):
      maximumAnswers = requests
      if requests <= 0 { close() }
    case .delayedClose(let delay): closesAt = now + delay
    case .closeWhenIdle(let limit):
      idleLimit = limit
      idleEnd = now + limit
    case .slowReading(let bytes, let pause):
      maximumRead = max(1, bytes)
      readPause = pause
    case .greet(let steps):
      writer.load(steps)
      isGreeting = true
      advance(now: now)
    }
  }

  /// Whether to detect a close of the peer although nothing is read.
  func watchesForClose(now: ContinuousClock.Instant) -> Bool {
    !hasEnded && readsAgain == nil && !wantsRead(now: now)
  }

  /// Handles the events that `poll` reported.
  func handle(_ readiness: Poller.Readiness, scratch: UnsafeMutableRawBufferPointer, now: ContinuousClock.Instant) {
    if readiness.isWritable { advance(now: now) }
    if readiness.isReadable {
      receive(into: scratch, now: now)
    } else if readiness.isBroken, !isClosed {
      // There was nothing to read, and `poll` would report this again and again.
      peerClosed(now: now)
      if !isClosed { close() }
    }
  }

  func handleTimers(now: ContinuousClock.Instant) {
    if let closesAt, closesAt <= now { return isLingering ? close() : cut(now: now) }
    if let idleEnd, idleEnd <= now { return cut(now: now) }
    if let readsAgain, readsAgain <= now { self.readsAgain = nil }
    advance(now: now)
  }

  /// Takes a task's response, if its request is still waiting for it.
  func deliver(_ response: MockResponse, for request: Int, now: ContinuousClock.Instant) {
    guard !isClosed, exchange?.index == request, exchange?.response == nil else { return }
    task = nil
    answer(with: response)
    advance(now: now)
  }
}

// MARK: - Receiving

extension ServerConnection {
  private func receive(into scratch: UnsafeMutableRawBufferPointer, now: ContinuousClock.Instant) {
    let window = UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(scratch.count, maximumRead)])
    // Only a few times, because other connections are waiting.
    for _ in 0..<4 where !isClosed && wantsRead(now: now) {
      switch Sockets.receive(socket, into: window) {
      case .wouldBlock: return
      case .closed: return peerClosed(now: now)
      case .moved(let count):
        guard !isLingering else { continue }
        let bytes = UnsafeRawBufferPointer(rebasing: window[..<count])
        if let session { session.receive(bytes) } else { reader.append(bytes) }
        if readPause > .zero { readsAgain = now + readPause }
        advance(now: now)
        if count < window.count { return }
      }
    }
  }

  private func peerClosed(now: ContinuousClock.Instant) {
    hasEnded = true
    if let session, !isLingering {
      session.peerEnded()
      return advance(now: now)
    }
    guard obstacle == .peerClose else {
      let isCutShort = exchange.map { !$0.isAnswered } ?? (reader.unusedCount > 0 && !isRefused)
      return close(isDisconnect: isCutShort && !isLingering)
    }
    obstacle = .none
    advance(now: now)
  }

  /// Reads and writes as far as possible.
  private func advance(now: ContinuousClock.Instant) {
    // A loop instead of recursion: thousands of pipelined requests must not exhaust the stack.
    while !isClosed, !isLingering {
      if let session { return play(session, now: now) }
      let hasRead = read(now: now)
      let hasAnswered = write(now: now)
      guard hasRead || hasAnswered else { return }
    }
  }

  /// Reads one head or one chunk of a body; returns whether there was one.
  private func read(now: ContinuousClock.Instant) -> Bool {
    guard !isGreeting, !isRefused else { return false }
    guard let exchange else { return readHead(now: now) }
    guard !exchange.request.isComplete else { return false }
    switch reader.readBody() {
    case .incomplete: return false
    case .malformed(let reason): refuse(reason)
    case .bytes(let data): keep(data)
    case .end(let trailers): complete(trailers: trailers, now: now)
    }
    return true
  }

  private func readHead(now: ContinuousClock.Instant) -> Bool {
    switch reader.readHead() {
    case .incomplete:
      // A connection with a partial request is not idle.
      if reader.unusedCount > 0 { idleEnd = nil }
      return false
    case .malformed(let reason): refuse(reason)
    case .head(let head):
      idleEnd = nil
      begin(head)
    }
    return true
  }

  private func begin(_ head: RequestHead) {
    let request = RecordedRequest(
      method: head.method, target: head.target, httpVersion: head.version, headers: head.fields, rawHead: head.raw,
      connection: number, indexOnConnection: requestCount, arrival: .now
    )
    requestCount += 1
    let index = core.journal.withLock { $0.began(request) }
    exchange = Exchange(index: index, request: request, closesAfterwards: request.asksToClose)

    if let early = core.options.earlyAnswer?(request) { return answerEarly(with: early) }
    let prepared = core.responder.prepared(for: request, index: index)
    let hasBody = head.framing != .finished && head.framing != .length(0)
    if hasBody, let prepared, !prepared.readsBody { return answerEarly(with: prepared) }
    exchange?.prepared = prepared
    if hasBody, request.expectsContinue, core.options.sendsContinue {
      writer.interject(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8))
    }
  }

  private func answerEarly(with response: MockResponse) {
    // A client without `100 Continue` may or may not send the body. Only a close is unambiguous.
    if exchange?.request.expectsContinue == true { exchange?.closesAfterwards = true }
    answer(with: response)
  }

  private func keep(_ data: Data) {
    guard var exchange else { return }
    // Removed while it changes: appending to a shared body would copy it each time.
    self.exchange = nil
    exchange.request.bodyLength += data.count
    core.journal.withLock { $0.received(data.count) }
    if exchange.response?.echoes == true { unechoed += data }
    if core.options.keepsBodies {
      exchange.request.body += data.prefix(max(0, core.options.maximumKeptBodyBytes - exchange.request.body.count))
    }
    self.exchange = exchange
  }

  private func complete(trailers: [RecordedRequest.Field], now: ContinuousClock.Instant) {
    exchange?.request.trailers = trailers
    exchange?.request.isComplete = true
    record()
    guard let exchange else { return }
    if exchange.isAnswered {
      finishExchange(now: now)
    } else if exchange.response == nil {
      ask(exchange)
    }
  }

  private func record() {
    guard let exchange else { return }
    core.journal.withLock { $0.update(exchange.request, at: exchange.index) }
  }

  private func refuse(_ reason: String) {
    let malformed = MalformedRequest(reason: reason, rawBytes: reader.unusedBytes, connection: number)
    core.journal.withLock { $0.refused(malformed) }
    isRefused = true
    // An early response is in progress; nothing may follow it.
    if let exchange, exchange.response != nil, !exchange.isAnswered {
      self.exchange?.closesAfterwards = true
      return
    }
    abandonExchange()
    let message = MockResponse.Message(
      status: 400, headers: [.init("Connection", "close")], body: .data(Data("\(reason)\n".utf8)))
    writer.load([.message(message), .cut])
    isGreeting = true
  }
}

// MARK: - Answering

extension ServerConnection {
  private func ask(_ exchange: Exchange) {
    if let prepared = exchange.prepared { return answer(with: prepared) }
    let request = exchange.request
    switch core.responder {
    case .immediate(let responder): answer(with: responder(request))
    case .concurrent(let responder):
      let (core, number, index) = (core, number, exchange.index)
      task = Task {
        let response = await responder(request)
        core.deliver(ServerCore.Delivery(connection: number, request: index, response: response))
      }
    case .fixed, .script, .connections: break
    }
  }

  private func answer(with response: MockResponse) {
    exchange?.response = response
    unechoed = Data()
    writer.load(response.steps, method: exchange?.request.method ?? "")
  }

  /// Plays the script as far as possible; returns whether it has ended.
  private func write(now: ContinuousClock.Instant) -> Bool {
    guard !isClosed, !isLingering, !isObstructed(now: now) else { return false }
    // A client that reads fast must not delay the others.
    var budget = 1 << 20
    while true {
      if writer.hasOutput {
        wantsWrite = true
        guard budget > 0 else { return false }
        switch writer.withOutput({ Sockets.send(socket, $0) }) {
        case .moved(let count):
          writer.sent(count)
          budget -= count
        case .wouldBlock: return false
        case .closed:
          close(isDisconnect: exchange?.isAnswered == false)
          return false
        }
        continue
      }
      wantsWrite = false
      guard isGreeting || exchange.map({ $0.response != nil && !$0.isAnswered }) == true else { return false }
      switch writer.next() {
      case .send: continue
      case .pause(let duration):
        obstacle = .pause(until: now + duration)
        return false
      case .echo:
        guard !unechoed.isEmpty || exchange?.request.isComplete == true else {
          writer.awaitEcho()
          return false
        }
        writer.echo(unechoed)
        unechoed = Data()
      case .upgrade(let socket):
        guard exchange?.request.isComplete == true else {
          writer.insert(.webSocket(socket))
          return false
        }
        upgrade(to: socket)
        return true
      case .hang:
        obstacle = .hang
        return false
      case .waitForClose:
        guard !hasEnded else { continue }
        obstacle = .peerClose
        return false
      case .cut:
        cut(now: now)
        return false
      case .reset:
        close(resetting: true)
        return false
      case .finish:
        finishAnswer(now: now)
        return true
      }
    }
  }

  /// Opens a WebSocket if the request is a valid opening handshake.
  private func upgrade(to socket: MockWebSocket) {
    guard let request = exchange?.request else { return }
    switch WebSocketUpgrade(request, socket) {
    case .response(let message): writer.insert(.message(message))
    case .open(let fields, let subprotocol, let deflate):
      let record = RecordedWebSocket(request: request, subprotocol: subprotocol, compression: deflate.map { .init($0) })
      let head = WebSocketUpgrade.head(fields)
      let session = WebSocketServerSession(socket, head: head, deflate: deflate, options: core.options) {
        [core, index = core.journal.withLock { $0.began(record) }] change in
        core.journal.withLock { $0.updateWebSocket(at: index, change) }
      }
      self.session = session
      abandonExchange()
      reader.takeUnused().withUnsafeBytes { session.receive($0) }
    }
  }

  private func isObstructed(now: ContinuousClock.Instant) -> Bool {
    switch obstacle {
    case .none: return false
    case .hang, .peerClose: return true
    case .pause(let end):
      if end > now { return true }
      obstacle = .none
      return false
    }
  }

  private func finishAnswer(now: ContinuousClock.Instant) {
    if isGreeting {
      isGreeting = false
      if hasEnded { close() }
      return
    }
    exchange?.isAnswered = true
    core.journal.withLock { $0.ended() }
    answerCount += 1
    guard let exchange else { return }
    if exchange.closesAfterwards || writer.announcesClose || hasEnded || answerCount >= maximumAnswers {
      cut(now: now)
    } else if exchange.request.isComplete {
      finishExchange(now: now)
    }
  }

  private func finishExchange(now: ContinuousClock.Instant) {
    exchange = nil
    idleEnd = idleLimit.map { now + $0 }
  }

  /// Records the end of a request that gets no more of a response.
  private func abandonExchange() {
    guard let exchange else { return }
    if !exchange.request.isComplete { record() }
    if !exchange.isAnswered { core.journal.withLock { $0.ended() } }
    self.exchange = nil
    task?.cancel()
    task = nil
  }
}

// MARK: - Closing

extension ServerConnection {
  /// Closes with FIN: sent bytes arrive, then the end.
  func cut(now: ContinuousClock.Instant) {
    let isBodyUnread = exchange.map { !$0.request.isComplete } ?? false
    abandonExchange()
    Sockets.finishSending(socket)
    guard isBodyUnread || isRefused || session != nil, !hasEnded else {
      drain()
      return close()
    }
    // Closing with unread bytes would reset the connection, which could destroy the response on its way.
    isLingering = true
    wantsWrite = false
    obstacle = .none
    (idleEnd, readsAgain) = (nil, nil)
    closesAt = now + .seconds(1)
  }

  /// Reads what the system has already received, for the same reason.
  private func drain() {
    withUnsafeTemporaryAllocation(byteCount: 1 << 14, alignment: 16) { buffer in
      for _ in 0..<64 {
        guard case .moved = Sockets.receive(socket, into: buffer) else { return }
      }
    }
  }

  func close(isDisconnect: Bool = false, resetting: Bool = false) {
    guard !isClosed else { return }
    isClosed = true
    abandonExchange()
    session?.connectionEnded()
    core.journal.withLock { $0.closed(isDisconnect: isDisconnect) }
    if resetting { Sockets.reset(socket) } else { Sockets.close(socket) }
  }
}
