import Foundation
import Martlet
import MartletHAR

/// Sends one request and shows its response.
struct RunRequest: Sendable {
  /// The maximum number of bytes kept in memory to be shown on a terminal.
  private static let maximumShownBytes = 100 << 20
  static let userAgent = "martlet/\(HTTPClient.Configuration.version)"

  let command: RequestCommand
  let output: Terminal
  let errors: Terminal
  /// The opened file of `-o`.
  let file: OutputFile?

  private let keeper: RequestKeeper
  private let values: Kept<WriteOut.Values>

  init(command: RequestCommand, output: Terminal, errors: Terminal, file: OutputFile?) {
    (self.command, self.output, self.errors, self.file) = (command, output, errors, file)
    keeper = RequestKeeper(isOffline: command.isOffline)
    values = Kept(WriteOut.Values(of: command))
  }

  func run() async -> ExitCode {
    let code = await result()
    guard let writeOut = command.writeOut, code != .brokenPipe else { return code }
    values.change { $0.variables[.exitCode] = "\(code.rawValue)" }
    for part in writeOut.text(values.value) {
      do {
        try (part.isError ? errors : output).write(part.text)
      } catch {
        return error.isBrokenPipe ? .brokenPipe : .failure
      }
    }
    return code
  }

  private func result() async -> ExitCode {
    do {
      return try await send()
    } catch let error as HTTPError {
      return report(error)
    } catch let error as WriteError {
      if error.isBrokenPipe { return .brokenPipe }
      complain("cannot write to \(file.map { "'\($0.name)'" } ?? "standard output"): \(error.reason)")
      return .failure
    } catch let error as UsageError {
      complain("\(error)")
      return error.code
    } catch {
      complain("\(error)")
      return .noResponse
    }
  }

  private func complain(_ message: String) {
    values.change { $0.variables[.error] = Visible.line(message) }
    errors.complain(message)
  }

  private func send() async throws -> ExitCode {
    defer { file?.discard() }
    let trace = command.isVerbose ? Trace(errors: errors, hasEngine: command.connecting.usesEngine) : nil
    let (command, session) = try command.withSession()
    var configuration = HTTPClient.Configuration()
    configuration.userAgent = Self.userAgent
    configuration.cache = command.cache.map { .disk(URL(filePath: $0)) } ?? .off
    command.connecting.apply(to: &configuration)
    try await command.identity.apply(to: &configuration, url: command.url)
    if let trace { configuration.exchangeMiddleware.append(trace) }
    let logging = LoggingMiddleware.fromEnvironment()
    if let logging { configuration.exchangeMiddleware.append(logging) }
    if keepsRequest { configuration.exchangeMiddleware.append(keeper) }
    let recorder = try command.har.map { try HARRecorder(to: URL(fileURLWithPath: $0)) }
    if let recorder { configuration.instruments.append(recorder) }
    let client = HTTPClient { [configuration] in $0 = configuration }
    // Cookies from the command line replace those of the session.
    await session?.fill(client.cookies)
    try await command.identity.fill(client.cookies)
    let before = session == nil ? "" : await client.cookies.netscape
    // The task is cancelled when this function returns.
    async let _ = trace?.announcePauses(of: client)
    let start = ContinuousClock.now
    do {
      let code = try await client.stream(command.request, options: command.options) { response in
        try showRequest()
        let received = try await show(response)
        let total = ContinuousClock.now - start
        values.change { $0.add(response, received: received, total: total) }
        if command.explains { explain(response.explanation) }
        if command.shownParts?.timing == true { try output.write(timing(of: response, total, palette)) }
        if command.showsTiming { try? errors.write(timing(of: response, total, errors.palette)) }
        return Self.code(of: response.status)
      }
      await logging?.sink.flush()
      await finish(recorder, of: client)
      await command.identity.save(client.cookies, errors)
      await session?.save(client.cookies, before: before, errors)
      return code
    } catch {
      // The error must appear after the log lines that led to it.
      await logging?.sink.flush()
      await finish(recorder, of: client)
      if command.isOffline, keeper.last.value != nil {
        try showRequest()
        return .success
      }
      try? showRequest()
      if command.explains, let error = error as? HTTPError { explain(error.explanation) }
      throw error
    }
  }

  private func finish(_ recorder: HARRecorder?, of client: HTTPClient) async {
    guard let recorder else { return }
    await client.drain()
    recorder.close()
    if let problem = recorder.problem { errors.complain(problem.message) }
  }

  private func explain(_ explanation: Explanation) {
    for entry in explanation.entries { errors.complain("why: \(entry)") }
  }

  // MARK: Output

  private var printer: Printer { command.printer(for: output) }
  private var palette: Palette { printer.palette }

  /// Whether the request is kept as it is sent, to be printed.
  private var keepsRequest: Bool {
    command.isOffline || command.shownParts?.requestHead == true || command.shownParts?.requestBody == true
  }

  /// Prints the last request, with secrets masked, if the user wants it.
  private func showRequest() throws {
    guard keepsRequest, let request = keeper.last.value else { return }
    if command.printsCurl {
      try output.write(try CurlLine(command: command).text(of: request) + "\n")
      return
    }
    let parts = command.shownParts ?? .request
    let sent = Trace.asSent(request, hasEngine: command.connecting.usesEngine)
    try parts.write(sent, printer, isLast: command.isOffline) { try output.write($0) }
  }

  /// Shows a response.
  ///
  /// - Returns: The number of bytes of the decoded body.
  private func show(_ response: StreamedResponse) async throws -> Int {
    if command.isVerbose, command.cache != nil, let explanation = response.cacheExplanation {
      errors.complain("cache: \(explanation)")
    }
    if showsHead {
      try output.write(printer.head(of: response) + "\n")
    }
    var received = 0
    // The body of an error response must not be mistaken for the requested file.
    if let file, response.status < 400 {
      for try await chunk in response.body {
        try file.write(chunk)
        received += chunk.count
      }
      try file.finish()
    } else if command.shownParts?.responseBody == false {
      for try await chunk in response.body { received += chunk.count }
    } else if printer.isFormatted, JSONLines.types.contains(response.contentType?.essence ?? "") {
      var lines = JSONLines(palette: palette)
      for try await chunk in response.body {
        try output.write(lines.add(chunk))
        received += chunk.count
      }
      try output.write(lines.finish())
    } else if output.isTerminal || printer.isFormatted {
      let data = try await response.body.collect(upTo: Self.maximumShownBytes)
      // A pipe gets binary content unchanged.
      let isShown = output.isTerminal || Printer.isText(data, of: response)
      try output.write(isShown ? Data(printer.body(data, of: response).utf8) : data)
      received = data.count
    } else {
      for try await chunk in response.body {
        try output.write(chunk)
        received += chunk.count
      }
    }
    return received
  }

  private func timing(of response: StreamedResponse, _ total: Duration, _ palette: Palette) -> String {
    var timing = response.timing
    // The response only contains the time up to its head.
    timing.total = total
    return TimingTable(timing: timing, connection: response.connection).text(palette)
  }

  /// Whether the head is shown: always on a terminal, unless the trace of `--verbose` has already shown it there.
  private var showsHead: Bool {
    if let parts = command.shownParts { return parts.responseHead }
    if command.includesHead { return true }
    return output.isTerminal && !(command.isVerbose && errors.isTerminal)
  }

  // MARK: Exit codes

  static func code(of status: HTTPStatus) -> ExitCode {
    if status.isSuccess || status.isRedirection { return .success }
    if status.isClientError { return .clientError }
    return status.isServerError ? .serverError : .noResponse
  }

  static func code(of error: HTTPError) -> ExitCode {
    switch error.kind {
    case .invalidRequest, .fileFailed: .usage
    case .timedOut: .timeout
    default: .noResponse
    }
  }

  private func report(_ error: HTTPError) -> ExitCode {
    complain(Self.text(of: error))
    return Self.code(of: error)
  }

  /// The message for an error, with the remedy on the command line.
  static func text(of error: HTTPError) -> String {
    // The tool's own error, such as that of a password prompt without a terminal.
    if let cause = error.underlying as? UsageError { return "\(error.kind): \(cause)" }
    // Nothing was sent, so method, phase and time would only obscure the cause.
    let text = code(of: error) == .usage ? error.message : error.description
    if error.kind == .bodyNotReplayable { return "\(text); --body @FILE can be sent again" }
    if error.kind == .unsupported, error.message.contains("http2PriorKnowledge") {
      return "\(error.kind): HTTP/2 requires https; --http2-prior-knowledge uses HTTP/2 without TLS"
    }
    if error.message.hasSuffix("contains no private key") { return "\(text); --key FILE sets the file of the key" }
    if error.message.hasSuffix("pass its password") { return "\(text) with --cert FILE:PASSWORD" }
    return text
  }
}
