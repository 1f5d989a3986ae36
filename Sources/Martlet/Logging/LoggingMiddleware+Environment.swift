import MartletBase
import Foundation

extension LoggingMiddleware {
  /// The middleware that the environment variable `MARTLET_LOG` asks for, or `nil` if it is not set or empty.
  ///
  /// For tools, whose users want to see what happens without a debugger. Nothing else in the library reads the variable,
  /// and what it turns on is masked like every log. Its value names what to log, separated by commas:
  ///
  /// ```text
  /// MARTLET_LOG=summary              MARTLET_LOG=headers              MARTLET_LOG=bodies
  /// MARTLET_LOG=lifecycle,connection,auth,body,throttle
  /// ```
  ///
  /// A word that is not one of them is named in the log, and the others count.
  ///
  /// - Parameters:
  ///   - redaction: What is hidden; by default what ``HTTPClient/Configuration/redaction`` says.
  ///   - sink: Where the lines go; standard error by default.
  /// - Returns: The middleware, best put into `Configuration.attemptMiddleware`.
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
        sink.write("MARTLET_LOG: '\(InvalidInput.printable(word))' is none of \(all)")
      }
    }
    return detail.isEmpty ? nil : LoggingMiddleware(detail, redaction: redaction, to: sink)
  }
}
