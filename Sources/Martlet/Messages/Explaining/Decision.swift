extension Explanation {
  /// A decision: a code, a sentence, and the section of the document that it follows.
  ///
  /// It is created where the decision is made; its text is created when it is read.
  struct Decision: ExplainedReason, Error, Equatable, CustomStringConvertible {
    private let makeWording: @Sendable () -> Wording
    /// The section of the document that the decision follows, such as `RFC 9111 §4.2`; `nil` if it is the client's own.
    let section: String?

    init(_ code: String, _ sentence: @autoclosure @escaping @Sendable () -> String, _ reference: String? = nil) {
      makeWording = { (code, sentence()) }
      section = reference
    }

    /// Creates a decision whose code and sentence end with its reason.
    init(
      _ code: String, _ sentence: @autoclosure @escaping @Sendable () -> String, because reason: some ExplainedReason,
      _ reference: String? = nil
    ) {
      makeWording = {
        let (kind, text) = reason.wording
        return ("\(code).\(kind)", "\(sentence()): \(text)")
      }
      section = reference ?? reason.section
    }

    var wording: Wording { makeWording() }
    var code: Code { Code(rawValue: wording.code) }
    /// The decision and its reason in one sentence, without a period.
    var sentence: String { wording.text }
    /// The ``sentence``.
    var description: String { sentence }

    static func == (first: Self, second: Self) -> Bool { first.wording == second.wording }
  }

  /// A reason that no code of the library acts on; it has the same parts as a decision.
  typealias Reason = Decision

  /// Names as a list: `a, b and c`.
  static func list(_ names: [String]) -> String {
    let names = names.map { InvalidInput.printable($0) }
    guard let last = names.last, names.count > 1 else { return names.first ?? "" }
    return "\(names.dropLast().joined(separator: ", ")) and \(last)"
  }
}

/// The reason for a decision: the last part of its code, and the last part of its sentence.
protocol ExplainedReason: Sendable {
  var wording: Explanation.Wording { get }
  /// The section of the document that the decision follows for this reason.
  var section: String? { get }
}

extension ExplainedReason {
  var section: String? { nil }
}
