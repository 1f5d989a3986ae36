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
  case webSocket(WebSocketCommand)
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
struct ExitCode: RawRepresentable, Hashable, Sendable {
  let rawValue: Int32

  /// A final response with a status of 2xx or 3xx.
  static let success = ExitCode(rawValue: 0)
  /// The output could not be written, the input is invalid, or a step of the demo failed.
  static let failure = ExitCode(rawValue: 1)
  /// The command line is wrong; nothing was sent.
  static let usage = ExitCode(rawValue: 2)
  /// There was no usable response.
  static let noResponse = ExitCode(rawValue: 3)
  /// The status was 4xx.
  static let clientError = ExitCode(rawValue: 4)
  /// The status was 5xx.
  static let serverError = ExitCode(rawValue: 5)
  /// The request timed out.
  static let timeout = ExitCode(rawValue: 6)
  /// The server closed the WebSocket with a code from 3000 to 4999.
  static let closed = ExitCode(rawValue: 7)
  /// SIGHUP, with the shells' number.
  static let hungUp = ExitCode(rawValue: 129)
  /// SIGINT, with the shells' number.
  static let interrupted = ExitCode(rawValue: 130)
  /// The reader has closed the output (SIGPIPE, with the shells' number).
  static let brokenPipe = ExitCode(rawValue: 141)
  /// SIGTERM, with the shells' number.
  static let terminated = ExitCode(rawValue: 143)
}
