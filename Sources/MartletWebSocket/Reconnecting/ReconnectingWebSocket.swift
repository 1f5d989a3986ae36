import Martlet
import MartletBase

/// A WebSocket that reconnects after a lost connection, and reports each interruption.
///
/// ```swift
/// for try await event in feed.events {
///   switch event {
///   case .opened: print("connected")
///   case .message(let message): show(message)
///   case .interrupted(let interruption):
///     print("interrupted: \(interruption.cause), \(interruption.unconfirmedCount) messages may be lost")
///   }
/// }
/// ```
///
/// Connections are made while an event is requested, so nothing runs between two requests. Any number of tasks can send
/// through ``socket``, and one can request events. A cancelled ``next()`` loses no event: the next call continues.
///
/// The events end normally after ``close()``, `drain(timeout:)`, and a server's close with 1000 (normal closure) or
/// without a code. Created by `HTTPClient.reconnectingWebSocket(_:options:resume:)`. When it is released, its
/// connection is closed as that of any ``WebSocket``.
public final class ReconnectingWebSocket: Sendable {
  private enum Stage {
    /// Before the first connection.
    case idle
    /// Until a time of the client's clock.
    case waiting(until: Duration)
    case open(WebSocket, since: Duration)
    /// The last interruption was reported, and its error follows.
    case ending((any Error)?)
    case over
  }

  private struct State {
    var stage = Stage.idle
    var isReading = false
    var failures = 0
    var backoff: ReconnectBackoff
    /// The end of the last open connection.
    var loss: Interruption?
  }

  /// The reason why a wait ends early.
  private struct Stop: Error {
    let isCancelled: Bool
  }

  /// The error of `resume`, and its connection.
  private struct ResumeFailure: Error {
    let error: any Error
    let socket: WebSocket
  }

  private let client: HTTPClient
  private let request: HTTPRequest
  private let options: Options
  private let resume: @Sendable (WebSocket, Interruption?) async throws -> Void
  private let timeline: Timeline
  private let work = ReconnectWork()
  private let state: Locked<State>

  init(
    _ client: HTTPClient, _ request: HTTPRequest, _ options: Options,
    _ resume: @escaping @Sendable (WebSocket, Interruption?) async throws -> Void
  ) {
    (self.client, self.request, self.options, self.resume) = (client, request, options, resume)
    timeline = Timeline(client.configuration.clock)
    state = Locked(State(backoff: ReconnectBackoff(options)))
  }

  deinit { client.detach(work) }

  // MARK: Sending

  /// The open WebSocket, to send messages and pings.
  ///
  /// It is the WebSocket of the last ``Event/opened(_:)``. Do not receive from it, because its messages are events.
  /// Closing it ends the events.
  ///
  /// Without an open WebSocket, it throws, and nothing is queued: `HTTPError.Kind.cannotConnect` before the first
  /// connection and between two, and `HTTPError.Kind.webSocketClosed` after the last one.
  public var socket: WebSocket {
    get throws {
      switch state.withLock({ $0.stage }) {
      case .open(let socket, _): return socket
      case .idle, .waiting:
        throw HTTPError(.cannotConnect, "the WebSocket is not connected; nothing was sent", phase: .sending)
      case .ending, .over: throw WebSocketSession.closed
      }
    }
  }

  /// Closes the connection with 1000 (normal closure), and ends the events.
  ///
  /// It also ends a delay or a connection attempt. A running `prepare` or `resume` is cancelled.
  public func close() async {
    work.stop.resolve(.success(false))
    await (try? socket)?.close()
    client.detach(work)
  }

  // MARK: Events

  /// The events, until the end.
  ///
  /// Leaving a loop over them does not close the connection, and another loop continues.
  public var events: Events { Events(socket: self) }

  /// The next event, or `nil` after the end or an error.
  ///
  /// - Returns: The event.
  /// - Throws: The error of the first connection. Later, the error of the last interruption; its event comes first.
  ///   `HTTPError` of kind `HTTPError.Kind.invalidRequest` for an invalid option, and of kind
  ///   `HTTPError.Kind.unsupported` if another task requests an event. `CancellationError` if the task is cancelled, and
  ///   after `cancelAll()`, which ends the events.
  public func next() async throws -> Event? {
    guard state.withLock({ exchange(&$0.isReading, with: true) == false }) else {
      throw HTTPError(.unsupported, "another task requests events of the WebSocket", phase: .receiving)
    }
    defer { state.withLock { $0.isReading = false } }
    try Task.checkCancellation()
    switch state.withLock({ $0.stage }) {
    case .over: return nil
    case .ending(let error):
      finish()
      if let error { throw error }
      return nil
    case .open(let socket, let start): return try await receive(from: socket, since: start)
    case .idle: return try await begin()
    case .waiting(let end): return try await connect(at: end)
    }
  }

  private func receive(from socket: WebSocket, since start: Duration) async throws -> Event? {
    var failure: (any Error)?
    do {
      if let message = try await socket.receive() { return .message(message) }
    } catch let error as CancellationError {
      // Otherwise, cancelAll() has ended the connection.
      if !Task.isCancelled { finish() }
      throw error
    } catch let error as HTTPError where error.kind == .unsupported {
      // Another task receives; the connection is still open.
      throw error
    } catch {
      failure = error
    }
    if isStopped || socket.session.isClosedByClient { return finish() }
    return interrupt(
      Self.cause(failure, socket), failure, unconfirmed: socket.unconfirmedCount, after: timeline.now() - start)
  }

  // MARK: Connecting

  private func begin() async throws -> Event? {
    do {
      if let problem = options.problem { throw HTTPError(.invalidRequest, problem) }
      try client.attach(work)
    } catch {
      finish()
      throw error
    }
    return try await connect(at: nil)
  }

  /// Connects at a time, or now for the first connection; its error is thrown.
  private func connect(at time: Duration?) async throws -> Event? {
    if isStopped { return try stopped() }
    let loss = state.withLock { $0.loss }
    do {
      let socket = try await race(
        of: WebSocket.self,
        [
          { [self] in
            if let time { try await timeline.pauseUntil(time) }
            return try await open(after: loss)
          },
          { [work] in throw Stop(isCancelled: try await work.stop.value()) },
        ])
      state.withLock {
        $0.stage = .open(socket, since: timeline.now())
        ($0.failures, $0.loss) = (0, nil)
      }
      // A later `close()` finds the WebSocket, and an earlier one is noticed here.
      guard !isStopped else {
        socket.session.abandon()
        return try stopped()
      }
      return .opened(socket)
    } catch is Stop {
      return try stopped()
    } catch let failure as ResumeFailure {
      return try failed(failure.error, failure.socket, isFirst: time == nil)
    } catch {
      return try failed(error, nil, isFirst: time == nil)
    }
  }

  private func open(after loss: Interruption?) async throws -> WebSocket {
    var request = request
    try await options.prepare(&request, loss)
    var requestOptions = options.request
    // Otherwise, a refusal could count as accepted, and its status would be unknown.
    requestOptions.accepts = .success
    // Reconnects are counted here; the policy is for the first connection.
    if loss != nil { requestOptions.retry = .standard }
    let socket = try await client.webSocket(request, options: options.webSocket, requestOptions: requestOptions)
    do {
      try await resume(socket, loss)
      try Task.checkCancellation()
    } catch {
      await socket.session.leave()
      throw ResumeFailure(error: error, socket: socket)
    }
    return socket
  }

  private func failed(_ error: any Error, _ socket: WebSocket?, isFirst: Bool) throws -> Event? {
    if isStopped { return try stopped() }
    // The stage remains, so the next call connects again.
    try Task.checkCancellation()
    if isFirst || error is CancellationError {
      finish()
      throw error
    }
    return interrupt(Self.cause(error, socket), error, unconfirmed: socket?.unconfirmedCount ?? 0, after: nil)
  }

  // MARK: Interruptions

  /// The cause of an end; the server's close code counts more than the error.
  private static func cause(_ error: (any Error)?, _ socket: WebSocket?) -> Cause {
    let isClosed = (error as? HTTPError).map { $0.kind == .webSocketClosed } ?? (error == nil)
    if isClosed, let code = socket?.closeCode { return .closed(code, reason: socket?.closeReason ?? "") }
    return .failed(error ?? WebSocketSession.closed)
  }

  /// Plans the next reconnect, if there is one.
  ///
  /// - Parameters:
  ///   - cause: The cause.
  ///   - error: The error that follows if this is the end; `nil` for a normal end.
  ///   - unconfirmed: The number of unconfirmed messages.
  ///   - lasted: The time for which the connection was open; `nil` after a failed reconnect.
  /// - Returns: The event.
  private func interrupt(
    _ cause: Cause, _ error: (any Error)?, unconfirmed: Int, after lasted: Duration?
  ) -> Event {
    let failures = state.withLock { state in
      if lasted == nil { state.failures += 1 }
      return state.failures
    }
    guard failures < options.maximumFailures, options.reconnects(cause) else {
      var error = error
      if failures >= options.maximumFailures, var last = error as? HTTPError {
        last.message += " (\(failures) reconnects failed)"
        error = last
      }
      state.withLock { $0.stage = .ending(error) }
      client.detach(work)
      return .interrupted(
        Interruption(cause: cause, failures: failures, unconfirmedCount: unconfirmed, delay: nil))
    }
    let configuration = client.configuration
    let requested = (error as? HTTPError)?.response?.headers.retryAfter(now: configuration.now())
    let (random, now) = (configuration.random(), timeline.now())
    return .interrupted(
      state.withLock { state in
        let delay = state.backoff.next(after: lasted, requested: requested, random: random)
        state.stage = .waiting(until: now.adding(delay))
        // `resume` needs the end of the open connection, including the messages that a failed one has sent since.
        let loss = Interruption(
          cause: state.loss?.cause ?? cause, failures: failures,
          unconfirmedCount: unconfirmed + (state.loss?.unconfirmedCount ?? 0), delay: delay)
        state.loss = loss
        return Interruption(cause: cause, failures: failures, unconfirmedCount: unconfirmed, delay: delay)
      })
  }

  // MARK: The end

  private var isStopped: Bool { work.stop.current != nil || client.isClosed }

  private func stopped() throws -> Event? {
    finish()
    if case .success(true)? = work.stop.current { throw CancellationError() }
    return nil
  }

  @discardableResult private func finish() -> Event? {
    state.withLock { $0.stage = .over }
    client.detach(work)
    return nil
  }
}

extension ReconnectingWebSocket {
  /// The events of a WebSocket that reconnects.
  public struct Events: AsyncSequence, Sendable {
    public typealias Element = Event
    public typealias Failure = any Error

    /// A loop over the events keeps the WebSocket alive.
    fileprivate let socket: ReconnectingWebSocket

    /// Iterates over events.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
      fileprivate let socket: ReconnectingWebSocket

      /// The next event, or `nil` after the end; see ``ReconnectingWebSocket/next()``.
      public mutating func next() async throws -> Event? { try await socket.next() }
    }

    /// Starts requesting events.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(socket: socket) }
  }
}

/// Ends the delays and the connection attempts of a WebSocket with its client.
private final class ReconnectWork: ClientWork {
  /// The end; `true` if the client has cancelled its requests.
  let stop = Promise<Bool>()

  var snapshot: any Sendable { "WebSocket that reconnects" }

  func beginDraining() { stop.resolve(.success(false)) }

  func finishDraining(within limit: Duration?) async {}

  func cancelWaits() { stop.resolve(.success(true)) }
}
