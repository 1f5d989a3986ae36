import Foundation
import Martlet
import MartletBase
import MartletWebSocket

/// Opens a WebSocket, sends standard input, and shows the server's messages until one side closes.
final class RunWebSocket: Sendable {
  /// The state that the sending task, the receiving task and the signals share.
  private struct Stage {
    var socket: WebSocket?
    /// Whether a signal ends the program.
    var isInterrupted = false
    /// The time at which the tool has begun to close; `nil` if the server closes.
    var closing: ContinuousClock.Instant?
    /// Whether the input is sent or has no more messages.
    var isInputOver = false
    /// Whether a message was read that could not be sent.
    var hasUnsent = false
    /// The error in the input.
    var failure: UsageError?
    /// The time since which no message has arrived; `nil` while a message is shown.
    var silence: ContinuousClock.Instant? = .now
  }

  /// The default silence after the input's end, for a pipe or a file that is not empty.
  private static let wait = Duration.seconds(2)
  /// The maximum wait for the server's close after a signal, in seconds.
  private static let patience = 5.0

  let command: WebSocketCommand
  let output: Terminal
  let errors: Terminal
  private let stage = Locked(Stage())

  init(command: WebSocketCommand, output: Terminal, errors: Terminal) {
    (self.command, self.output, self.errors) = (command, output, errors)
  }

  func run() async -> ExitCode {
    let signals = Signals { [self] in interrupt() }
    defer { signals.ignore() }
    return await result()
  }

  private func result() async -> ExitCode {
    do {
      let socket = try await open()
      do {
        try await exchange(socket)
      } catch {
        await waitForSignal()
        throw error
      }
      await waitForSignal()
      return try end(of: socket)
    } catch let error as HTTPError {
      return report(error)
    } catch let error as WriteError {
      if error.isBrokenPipe { return .brokenPipe }
      errors.complain("cannot write to standard output: \(error.reason)")
      return .failure
    } catch {
      errors.complain("\(error)")
      return (error as? UsageError)?.code ?? .noResponse
    }
  }

  /// Waits for the handler of a signal to end the program with the signal's exit code; returns if there is none.
  private func waitForSignal() async {
    while stage.withLock({ $0.isInterrupted }) { try? await Task.sleep(for: .seconds(1)) }
  }

  /// Closes with 1001, on a thread of the signal.
  private func interrupt() {
    HiddenLine.restore()
    let socket = stage.withLock { stage in
      stage.isInterrupted = true
      return stage.socket
    }
    guard let socket else { return }
    let end = DispatchSemaphore(value: 0)
    Task {
      try? await socket.close(.goingAway)
      end.signal()
    }
    _ = end.wait(timeout: .now() + Self.patience)
  }

  // MARK: Opening

  private func open() async throws -> WebSocket {
    let (request, session) = try command.command.withSession()
    var configuration = HTTPClient.Configuration()
    configuration.userAgent = RunRequest.userAgent
    request.connecting.apply(to: &configuration)
    try await request.identity.apply(to: &configuration, url: request.url)
    let trace = request.isVerbose ? Trace(errors: errors, upgrade: "websocket") : nil
    if let trace { configuration.exchangeMiddleware.append(trace) }
    let client = HTTPClient { [configuration] in $0 = configuration }
    await session?.fill(client.cookies)
    try await request.identity.fill(client.cookies)
    let before = session == nil ? "" : await client.cookies.netscape
    var options = command.options
    if let trace { options.onControlFrame = { trace.note(Self.text(of: $0)) } }
    let socket = try await client.webSocket(
      request.request, options: options, requestOptions: request.options.accepts(.success))
    stage.withLock { ($0.socket, $0.silence) = (socket, .now) }
    // Later messages change neither cookies nor fields.
    await request.identity.save(client.cookies, errors)
    await session?.save(client.cookies, before: before, errors)
    return socket
  }

  /// Describes a control frame for the trace.
  private static func text(of event: WebSocketEvent) -> String {
    switch event {
    case .ping(let payload): "received a ping of \(payload.count) bytes"
    case .pong(let payload): "received a pong of \(payload.count) bytes"
    case .close(let code?, let reason): "received a close with \(text(of: code, reason))"
    case .close(nil, _), .text, .binary, .part: "received a close without a code"
    }
  }

  private static func text(of code: WebSocketCloseCode, _ reason: String) -> String {
    reason.isEmpty ? "\(code)" : "\(code): \(reason)"
  }

  // MARK: Messages

  private func exchange(_ socket: WebSocket) async throws {
    let sender = Task { [self] in await send(to: socket) }
    defer { sender.cancel() }
    var count = 0
    do {
      while let message = try await socket.receive() {
        stage.withLock { $0.silence = nil }
        try show(message)
        stage.withLock { $0.silence = .now }
        count += 1
        if count == command.count { await close(socket) }
      }
    } catch {
      // The program must not end before the close frame is sent.
      try? await socket.close(.goingAway)
      throw error
    }
    await socket.close()
    // The sending task is notified by its next message, which a terminal or a pipe may never send.
    for _ in 0..<50 where stage.withLock({ $0.closing == nil && !$0.isInputOver && !$0.hasUnsent }) {
      try? await Task.sleep(for: .milliseconds(1))
    }
  }

  /// Sends the input, and closes after its end and a silence.
  private func send(to socket: WebSocket) async {
    let input = StandardInput()
    let isRead = !command.command.ignoresInput && input.isReadable
    var messages = MessageInput(unit(of: input), limit: command.maximumMessageBytes)
    do {
      while isRead, let message = try await messages.next() {
        try await socket.send(message)
      }
      stage.withLock { $0.isInputOver = true }
    } catch let error as UsageError {
      stage.withLock { ($0.failure, $0.closing) = (error, .now) }
      try? await socket.close(.goingAway)
      return
    } catch {
      // The receiving task reports the end of the WebSocket.
      return stage.withLock { $0.hasUnsent = true }
    }
    let isSilent = messages.count == 0 || input.isTerminal || command.count != nil
    guard let wait = command.wait ?? (isSilent ? nil : Self.wait) else { return }
    let start = ContinuousClock.now
    while true {
      let end = max(start, stage.withLock { $0.silence } ?? .now) + wait
      if end <= .now { break }
      guard (try? await Task.sleep(until: end)) != nil else { return }
    }
    await close(socket)
  }

  private func unit(of input: StandardInput) -> MessageInput.Unit {
    guard command.isBinary else { return .lines }
    return input.isTerminal ? .binaryLines : input.isFile ? .file : .blocks
  }

  private func show(_ message: WebSocket.Message) throws(WriteError) {
    switch message {
    case .text(let text): try output.write(shown(text))
    case .binary(let data) where output.isTerminal:
      try output.write(output.palette.paint("(\(data.count) bytes, not shown: use a pipe)", .notice) + "\n")
    case .binary(let data): try output.write(command.isBinary ? data : data + Data("\n".utf8))
    }
  }

  private func shown(_ text: String) -> String {
    let printer = command.command.printer(for: output)
    if printer.isFormatted, let indented = JSONFormatter(palette: printer.palette).format(text) {
      return indented + "\n"
    }
    return (output.isTerminal ? Visible.text(text) : text) + "\n"
  }

  // MARK: The end

  private func close(_ socket: WebSocket) async {
    guard socket.closeCode == nil else { return }
    stage.withLock { $0.closing = .now }
    try? await socket.close(command.close.code, reason: command.close.reason)
  }

  /// Returns the exit code after the last message.
  private func end(of socket: WebSocket) throws(UsageError) -> ExitCode {
    let stage = stage.withLock { $0 }
    if let failure = stage.failure { throw failure }
    let code = socket.closeCode ?? .abnormalClosure
    if let start = stage.closing {
      if code == command.close.code { return .success }
      if code == .abnormalClosure {
        let limit = command.options.closeTimeout
        guard start.duration(to: .now) >= limit else { return .success }
        throw UsageError("the server did not complete the close within \(limit.text)", code: .timeout)
      }
    }
    if ExitCode.closed(code) != .success { return complain(code, socket.closeReason) }
    if stage.hasUnsent, stage.closing == nil {
      throw UsageError("closed with \(code) before all messages were sent", code: .noResponse)
    }
    return .success
  }

  private func complain(_ code: WebSocketCloseCode, _ reason: String) -> ExitCode {
    errors.complain("closed with \(Self.text(of: code, reason))")
    return .closed(code)
  }

  private func report(_ error: HTTPError) -> ExitCode {
    if error.kind == .webSocketClosed, let socket = stage.withLock({ $0.socket }), let code = socket.closeCode {
      return complain(code, socket.closeReason)
    }
    let hint = error.kind == .bodyTooLarge ? "; --max-message allows more" : ""
    errors.complain(RunRequest.text(of: error) + hint)
    if let response = error.response { try? errors.write(Printer(palette: errors.palette).body(of: response)) }
    guard error.kind == .status, let status = error.status else { return RunRequest.code(of: error) }
    return RunRequest.code(of: status)
  }
}
