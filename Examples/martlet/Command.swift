/// What a command line asks for.
enum Command: Equatable, Sendable {
  case help
  case version
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

/// What is wrong with a command line, in one line that names the culprit.
struct UsageError: Error, Equatable, CustomStringConvertible {
  let description: String
  /// How the tool ends because of it.
  let code: ExitCode

  init(_ description: String, code: ExitCode = .usage) { (self.description, self.code) = (description, code) }
}

/// How the tool ends.
enum ExitCode: Int32, Sendable {
  /// A final response with a status of 2xx or 3xx.
  case success = 0
  /// The output could not be written, or a step of the demo failed.
  case failure = 1
  /// The command line is wrong; nothing was sent.
  case usage = 2
  /// No response that could be used.
  case noResponse = 3
  /// 4xx.
  case clientError = 4
  /// 5xx.
  case serverError = 5
  /// A time limit passed.
  case timeout = 6
  /// SIGHUP, as shells count it.
  case hungUp = 129
  /// SIGINT, as shells count it.
  case interrupted = 130
  /// The reader of the output went away, as shells count SIGPIPE.
  case brokenPipe = 141
  /// SIGTERM, as shells count it.
  case terminated = 143
}
