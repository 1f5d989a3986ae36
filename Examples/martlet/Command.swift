/// The command of a command line.
enum Command: Equatable, Sendable {
  case help(Help.Topic)
  case version
  case completion(Shell)
  case manual
  case demo
  case doctor
  case cache(CacheCommand)
  case har(HARCommand)
  case events(SSECommand)
  case download(DownloadCommand)
  case upload(UploadCommand)
  case load(LoadCommand)
  case request(RequestCommand)
}

/// The error in a command line, as one line that names the wrong argument.
struct UsageError: Error, Equatable, CustomStringConvertible {
  let description: String
  /// The exit code for the error.
  let code: ExitCode

  init(_ description: String, code: ExitCode = .usage) { (self.description, self.code) = (description, code) }
}

/// The exit code of the tool.
enum ExitCode: Int32, Sendable {
  /// A final response with a status of 2xx or 3xx.
  case success = 0
  /// The output could not be written, or a step of the demo failed.
  case failure = 1
  /// The command line is wrong; nothing was sent.
  case usage = 2
  /// There was no usable response.
  case noResponse = 3
  /// The status was 4xx.
  case clientError = 4
  /// The status was 5xx.
  case serverError = 5
  /// The request timed out.
  case timeout = 6
  /// SIGHUP, with the shells' number.
  case hungUp = 129
  /// SIGINT, with the shells' number.
  case interrupted = 130
  /// The reader has closed the output (SIGPIPE, with the shells' number).
  case brokenPipe = 141
  /// SIGTERM, with the shells' number.
  case terminated = 143
}
