import MartletBase

extension LoggingMiddleware {
  /// The middleware that `MARTLET_LOG` configures, or `nil` if the variable is empty or not set.
  ///
  /// For tools whose users want diagnostics without a debugger. Nothing else in the library reads this environment
  /// variable, and its log is masked like every other. The value lists what to log, separated by commas:
  ///
  /// ```text
  /// MARTLET_LOG=summary              MARTLET_LOG=headers              MARTLET_LOG=bodies
  /// MARTLET_LOG=lifecycle,connection,auth,body,throttle
  /// ```
  ///
  /// An unknown word is reported in the log; the others apply.
  ///
  /// - Parameters:
  ///   - redaction: The secrets to mask; by default ``HTTPClient/Configuration/redaction``.
  ///   - sink: The destination of the lines; standard error by default.
  /// - Returns: The middleware, best used in `Configuration.exchangeMiddleware`.
  public static func fromEnvironment(
    redaction: Redaction? = nil, to sink: LogSink = .standardError
  ) -> LoggingMiddleware? {
    from(ProcessInfo.processInfo.environment["MARTLET_LOG"], redaction, sink)
  }

  private static let words: [(String, Detail)] = [
    ("summary", .summary), ("headers", .headers), ("bodies", .bodies), ("lifecycle", .lifecycle),
    ("connection", .connection), ("auth", .auth), ("body", .body), ("throttle", .throttle),
  ]

  static func from(_ value: String?, _ redaction: Redaction?, _ sink: LogSink) -> LoggingMiddleware? {
    guard let value, !value.isEmpty else { return nil }
    var detail: Detail = []
    for piece in value.split(separator: ",") {
      let word = FieldSyntax.lowercased(FieldSyntax.trimmed(piece))
      if let known = words.first(where: { $0.0 == word }) {
        detail.formUnion(known.1)
      } else {
        let all = words.map(\.0).joined(separator: ", ")
        sink.write("MARTLET_LOG: '\(InvalidInput.printable(word))' is not one of \(all)")
      }
    }
    return detail.isEmpty ? nil : LoggingMiddleware(detail, redaction: redaction, to: sink)
  }
}
