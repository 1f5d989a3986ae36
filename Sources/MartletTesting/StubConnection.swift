import MartletBase
import Martlet
import Foundation

/// The server's side of an upgraded connection in memory; its owner has the lock and the clock.
protocol StubServer: AnyObject {
  /// Whether the server takes more bytes without waiting.
  var wantsRead: Bool { get }
  func receive(_ bytes: UnsafeRawBufferPointer)
  /// Notes that the client has ended its side.
  func peerEnded()
  func connectionEnded()
  /// The server's next action.
  func act(now: ContinuousClock.Instant) -> StubAction
}

/// The next action of a ``StubServer``.
enum StubAction {
  case send(Data)
  /// Send the closure's bytes; `nil` ends the connection.
  case respond(@Sendable () async throws -> Data?)
  /// Wait for bytes of the client, or until this time.
  case wait(until: ContinuousClock.Instant?)
  case end
  case fail(any Error)

  static var reset: StubAction {
    .fail(HTTPError(.connectionLost, "the stub reset the connection", phase: .receiving))
  }
}

/// An upgraded connection in memory.
///
/// ```
///   write ──▶ server ──▶ next, the body's closure
/// ```
///
/// The server receives bytes when the client writes them, and acts while the client reads. So it needs no task, and sends
/// no more than the client reads.
final class StubConnection: UpgradeWriter {
  private struct State {
    let server: any StubServer
    var isOver = false
    var hasFinished = false
    var sentCount: Int64 = 0
    /// Resolved when the server has received bytes.
    var news: Promise<Void>?
    var roomActions: [@Sendable () -> Void] = []

    var hasRoom: Bool { isOver || hasFinished || server.wantsRead }
  }

  private enum Turn {
    case act(StubAction)
    case wait(Promise<Void>, until: ContinuousClock.Instant?)
    case over
  }

  private let state: Locked<State>
  private let context: RequestContext
  private let timeline: Timeline
  /// The time on the server's clock at the start of the client's timeline.
  private let origin = ContinuousClock.now

  /// Opens a connection to a server, which uses the client's clock by default.
  init(_ server: sending any StubServer, _ context: RequestContext, _ timeline: Timeline? = nil) {
    state = Locked(State(server: server))
    (self.context, self.timeline) = (context, timeline ?? context.timeline)
    context.exchange.abortSource.onAbort { [weak self] _ in self?.end() }
  }

  /// The server's bytes; releasing them ends the connection.
  var body: ResponseBody {
    let reader = StubReader(self)
    return ResponseBody { try await reader.connection.next() }
  }

  // MARK: Writing

  var hasRoom: Bool { state.withLock { $0.hasRoom } }

  var sentCount: Int64 { state.withLock { $0.sentCount } }

  func write(_ bytes: Data) -> Bool {
    let isOpen = state.withLock { state in
      guard !state.isOver, !state.hasFinished else { return false }
      bytes.withUnsafeBytes { state.server.receive($0) }
      state.sentCount += Int64(bytes.count)
      return true
    }
    guard isOpen else { return false }
    context.didSend(bytes.count)
    wakeReader()
    return true
  }

  func onRoom(_ action: @escaping @Sendable () -> Void) {
    let isNow = state.withLock { state in
      if !state.hasRoom { state.roomActions.append(action) }
      return state.hasRoom
    }
    if isNow { action() }
  }

  func finish() {
    state.withLock { state in
      guard !state.hasFinished else { return }
      state.hasFinished = true
      state.server.peerEnded()
    }
    wakeReader()
  }

  private func wakeReader() {
    let news = state.withLock { $0.news.take() }
    news?.resolve(.success(()))
  }

  // MARK: Reading

  private func next() async throws -> Data? {
    do {
      let bytes = try await bytes()
      if let bytes { context.didReceive(bytes.count) } else { end() }
      return bytes
    } catch {
      end()
      throw error
    }
  }

  private func bytes() async throws -> Data? {
    while true {
      let turn = takeTurn()
      callRoomActions()
      switch turn {
      case .act(.send(let bytes)): return bytes
      case .act(.respond(let makeBytes)):
        guard let bytes = try await makeBytes() else { return nil }
        if !bytes.isEmpty { return bytes }
      case .act(.fail(let error)): throw error
      case .act(.end), .over: return nil
      case .act(.wait): break
      case .wait(let news, nil): try await news.value()
      case .wait(let news, let time?):
        let end = time - origin
        try await race([{ try await news.value() }, { [timeline] in try await timeline.pauseUntil(end) }])
      }
    }
  }

  private func takeTurn() -> Turn {
    let now = origin + timeline.now()
    return state.withLock { state in
      if state.isOver { return .over }
      let action = state.server.act(now: now)
      guard case .wait(let time) = action else { return .act(action) }
      let news = Promise<Void>()
      state.news = news
      return .wait(news, until: time)
    }
  }

  private func callRoomActions() {
    let actions = state.withLock { $0.hasRoom ? exchange(&$0.roomActions, with: []) : [] }
    for action in actions { action() }
  }

  // MARK: The end

  fileprivate func end() {
    state.withLock { state in
      guard !state.isOver else { return }
      state.isOver = true
      state.server.connectionEnded()
    }
    wakeReader()
    callRoomActions()
  }
}

/// Ends a connection when its body is released.
private final class StubReader: Sendable {
  let connection: StubConnection

  init(_ connection: StubConnection) { self.connection = connection }

  deinit { connection.end() }
}

extension WebSocketServerSession: StubServer {
  func act(now: ContinuousClock.Instant) -> StubAction {
    while !isAbandoned {
      if hasOutput {
        let bytes = withOutput { Data($0) }
        sent(bytes.count)
        return .send(bytes)
      }
      switch next(now: now) {
      case .send: continue
      case .wait: return .wait(until: nextTimer)
      case .cut: return .end
      case .reset: return .reset
      }
    }
    return .end
  }
}

/// A server that responds to bytes from a closure.
final class StubByteServer: StubServer {
  private var output: Data
  private var input = Data()
  private var hasEnded = false
  private let respond: @Sendable (Data) async throws -> Data?

  init(greeting: Data, _ respond: @escaping @Sendable (Data) async throws -> Data?) {
    (output, self.respond) = (greeting, respond)
  }

  var wantsRead: Bool { input.count <= WebSocketServerSession.maximumWaitingBytes }

  func receive(_ bytes: UnsafeRawBufferPointer) { input += bytes }

  func peerEnded() { hasEnded = true }

  func connectionEnded() {}

  func act(now: ContinuousClock.Instant) -> StubAction {
    if !output.isEmpty { return .send(exchange(&output, with: Data())) }
    guard !input.isEmpty else { return hasEnded ? .end : .wait(until: nil) }
    let bytes = exchange(&input, with: Data())
    return .respond { [respond] in try await respond(bytes) }
  }
}
