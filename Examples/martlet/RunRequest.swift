import Foundation
import Martlet
import MartletHAR

/// Sends one request and shows its response.
struct RunRequest: Sendable {
  /// The maximum number of bytes kept in memory to be shown on a terminal.
  private static let maximumShownBytes = 100 << 20

  let command: RequestCommand
  let output: Terminal
  let errors: Terminal
  /// The opened file of `-o`.
  let file: OutputFile?

  func run() async -> ExitCode {
    do {
      return try await send()
    } catch let error as HTTPError {
      return report(error)
    } catch let error as WriteError {
      if error.isBrokenPipe { return .brokenPipe }
      errors.complain("cannot write to \(file.map { "'\($0.name)'" } ?? "standard output"): \(error.reason)")
      return .failure
    } catch let error as UsageError {
      errors.complain("\(error)")
      return error.code
    } catch {
      errors.complain("\(error)")
      return .noResponse
    }
  }

  private func send() async throws -> ExitCode {
    defer { file?.discard() }
    let trace = command.isVerbose ? Trace(errors: errors, hasEngine: command.connecting.usesEngine) : nil
    var configuration = HTTPClient.Configuration()
    configuration.userAgent = "martlet/\(HTTPClient.Configuration.version)"
    configuration.cache = command.cache.map { .disk(URL(filePath: $0)) } ?? .off
    command.connecting.apply(to: &configuration)
    try await command.identity.apply(to: &configuration, url: command.url)
    if let trace { configuration.exchangeMiddleware.append(trace) }
    let logging = LoggingMiddleware.fromEnvironment()
    if let logging { configuration.exchangeMiddleware.append(logging) }
    let recorder = try command.har.map { try HARRecorder(to: URL(fileURLWithPath: $0)) }
    if let recorder { configuration.instruments.append(recorder) }
    let client = HTTPClient { [configuration] in $0 = configuration }
    try await command.identity.fill(client.cookies)
    // The task is cancelled when this function returns.
    async let _ = trace?.announcePauses(of: client)
    let start = ContinuousClock.now
    do {
      let code = try await client.stream(command.request, options: command.options) { response in
        try await show(response)
        if command.explains { explain(response.explanation) }
        if command.showsTiming { showTiming(of: response, total: .now - start) }
        return Self.code(of: response.status)
      }
      await logging?.sink.flush()
      await finish(recorder, of: client)
      await command.identity.save(client.cookies, errors)
      return code
    } catch {
      // The error must appear after the log lines that led to it.
      await logging?.sink.flush()
      await finish(recorder, of: client)
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

  private func show(_ response: StreamedResponse) async throws {
    if command.isVerbose, command.cache != nil, let explanation = response.cacheExplanation {
      errors.complain("cache: \(explanation)")
    }
    if showsHead {
      let printer = Printer(palette: output.palette, isForTerminal: output.isTerminal)
      try output.write(printer.head(of: response) + "\n")
    }
    // The body of an error response must not be mistaken for the requested file.
    if let file, response.status < 400 {
      for try await piece in response.body { try file.write(piece) }
      try file.finish()
    } else if output.isTerminal {
      let data = try await response.body.collect(upTo: Self.maximumShownBytes)
      try output.write(Printer(palette: output.palette).body(data, of: response))
    } else {
      for try await piece in response.body { try output.write(piece) }
    }
  }

  private func showTiming(of response: StreamedResponse, total: Duration) {
    var timing = response.timing
    // The response only contains the time up to its head.
    timing.total = total
    try? errors.write(TimingTable(timing: timing, connection: response.connection).text(errors.palette))
  }

  /// Whether the head is shown: always on a terminal, unless the trace of `--verbose` has already shown it there.
  private var showsHead: Bool {
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
    let code = Self.code(of: error)
    // Nothing was sent, so method, phase and time would only obscure the cause.
    let text = code == .usage ? error.message : error.description
    errors.complain(error.kind == .bodyNotReplayable ? "\(text); --body @FILE can be sent again" : text)
    return code
  }
}
