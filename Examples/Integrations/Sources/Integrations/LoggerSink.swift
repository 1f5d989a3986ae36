public import Logging
public import Martlet

extension LogSink {
  /// A sink that passes lines to a logger of swift-log.
  ///
  /// ```swift
  /// let logger = Logger(label: "http")
  /// let client = HTTPClient { $0.middleware = [LoggingMiddleware(.summary, to: LogSink(logger))] }
  /// ```
  ///
  /// - Parameters:
  ///   - logger: The logger.
  ///   - level: The level of the lines; `debug` by default.
  public init(_ logger: Logger, level: Logger.Level = .debug) {
    self.init { line in logger.log(level: level, "\(line)") }
  }
}
