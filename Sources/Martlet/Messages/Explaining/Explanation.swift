/// A client's decisions about a request, with reasons.
///
/// ```swift
/// let response = try await client.get("/repos", options: .explains())
/// print(response.explanation)
/// ```
///
/// Each line is one decision: whether a stored response was used, which cookies were omitted, why a redirect lost its
/// credentials, why a request was not repeated. With ``RequestOptions/explains``, up to 256 decisions are recorded.
/// Otherwise the last 32 decisions that go beyond sending a request once are recorded, such as redirects, retries and
/// refusals, for the ``HTTPError/explanation`` of a failed request.
///
/// An explanation contains no header values, no cookie values, no credentials and no bodies. Query values in URLs are
/// masked according to the client's ``HTTPClient/Configuration/redaction``.
public struct Explanation: Sendable, CustomStringConvertible {
  /// A stable identifier of a kind of decision, such as `retry.refused.notIdempotent`.
  ///
  /// <doc:Explaining> lists the codes. Later versions may add codes.
  public struct Code: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The area, the decision and its reason, separated by dots.
    public let rawValue: String

    /// Creates a code from its text.
    ///
    /// - Parameter rawValue: The text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates a code, such as for a comparison.
    ///
    /// - Parameter value: The text.
    public init(stringLiteral value: String) { rawValue = value }

    /// The text of the code.
    public var description: String { rawValue }
  }

  /// A code, and a text for users.
  typealias Wording = (code: String, text: String)

  /// A decision, and the time at which it was made.
  public struct Entry: Sendable, CustomStringConvertible {
    let decision: Decision
    /// The number of redirects that were followed before.
    public let hop: Int
    /// The number of the attempt, from 1 for each hop.
    public let attempt: Int
    /// The time since the start of the call.
    public let time: Duration

    /// The kind of decision, for programs to act on.
    public var code: Code { decision.code }
    /// The decision and its reason in one sentence, without a period.
    public var sentence: String { decision.sentence }
    /// The section of the followed document, such as `RFC 9111 §4.2`.
    ///
    /// It is `nil` if the decision is the client's own.
    public var reference: String? { decision.section }

    /// The time, the sentence and the document.
    public var description: String {
      var place: [String] = []
      if hop > 0 { place.append("redirect \(hop)") }
      if attempt > 1 { place.append("attempt \(attempt)") }
      let prefix = place.isEmpty ? "" : "\(place.joined(separator: ", ")): "
      let reference = reference.map { " (\($0))" } ?? ""
      return "\(time.shown): \(prefix)\(sentence)\(reference)"
    }
  }

  /// The maximum number of decisions, if they are recorded on request.
  static let limit = 256
  /// The maximum number of decisions that are recorded in any case.
  static let ownLimit = 32

  /// The decisions, in order.
  public private(set) var entries: [Entry] = []
  /// The number of earlier decisions that were dropped.
  ///
  /// Only the last ones are kept.
  public private(set) var droppedCount = 0

  /// Whether no decision was recorded.
  public var isEmpty: Bool { entries.isEmpty }

  /// The decisions, without their times.
  var decisions: [Decision] { entries.map(\.decision) }

  /// One line for each decision.
  public var description: String {
    let start = droppedCount > 0 ? ["\(droppedCount) earlier decisions were dropped"] : []
    return (start + entries.map(\.description)).joined(separator: "\n")
  }

  /// The beginning of a peer's text, with secrets masked.
  static func short(_ text: String) -> String { cut(Redaction.standard.text(text)) }

  /// The beginning of a text.
  ///
  /// The length is counted in Unicode scalars, because a character may contain any number of them.
  static func cut(_ text: String) -> String {
    text.utf8.count <= 300 ? text : "\(Substring(text.unicodeScalars.prefix(75)))…"
  }

  mutating func add(_ entry: Entry, limit: Int) {
    if entries.count >= limit {
      entries.removeFirst()
      droppedCount += 1
    }
    entries.append(entry)
  }
}
