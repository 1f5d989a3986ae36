import MartletBase

/// How the cache serves and stores a response.
extension Explanation.Decision {
  /// A decision about a stored response, with its age and its lifetime if they matter.
  static func cache(_ decision: CacheDecision, _ freshness: Freshness?) -> Self {
    func made(_ code: String, _ start: String, _ reason: CacheDecision.Reason, _ reference: String?) -> Self {
      Self("\(code).\(reason.rawValue)", start + reason.phrase(freshness), reference)
    }
    switch decision {
    case .use(_, let reason): return made("cache.used", "the stored response was used: ", reason, reason.section)
    case .useAndRefresh(_, let reason):
      let start = "the stored response was used, and is revalidated in the background: "
      return made("cache.usedAndRefreshed", start, reason, "RFC 5861 §3")
    case .revalidate(_, let reason):
      let start = "the stored response was revalidated: "
      return made("cache.revalidated", start, reason, reason.section)
    case .complete:
      return Self("cache.completed", "the missing part of the stored response was requested", "RFC 9111 §3.4")
    case .fetch(_, let reason):
      return Self(
        "cache.fetched.\(reason.rawValue)",
        "the request was sent to the server: " + CacheDecision.Reason.statement(reason.phrase(freshness)),
        reason.fetchSection)
    case .fail(let reason):
      return made("cache.failed", "the request failed without being sent: ", reason, "RFC 9111 §4")
    }
  }
}

extension CacheDecision.Reason {
  fileprivate func phrase(_ freshness: Freshness?) -> String {
    guard let freshness else { return text }
    switch self {
    case .fresh, .stale: return "it is \(freshness.text)"
    case .staleAllowed, .staleWhileRevalidate, .tooOld, .notFreshEnough, .preferred:
      return "\(text); it is \(freshness.text)"
    default: return text
    }
  }

  /// The section that says whether a stored response may be used.
  fileprivate var section: String? {
    switch self {
    case .preferred, .alwaysRevalidate: nil
    case .fresh, .stale: "RFC 9111 §4.2"
    case .staleAllowed: "RFC 9111 §4.2.4"
    case .tooOld: "RFC 9111 §5.2.1.1"
    case .notFreshEnough: "RFC 9111 §5.2.1.3"
    case .requestForbids: "RFC 9111 §5.2.1.4"
    case .responseForbids: "RFC 9111 §5.2.2.4"
    default: "RFC 9111 §4.3"
    }
  }

  /// The section with the reason why the request is sent without conditions.
  fileprivate var fetchSection: String? {
    switch self {
    case .neverRead: nil
    case .noVariant: "RFC 9111 §4.1"
    case .requestForbids: "RFC 9111 §5.2.1.5"
    default: "RFC 9111 §4"
    }
  }
}

extension Freshness {
  /// The arithmetic: `stale by 12 s: max-age=60, age 72`.
  var text: String {
    let (age, lifetime) = (Self.seconds(age), Self.seconds(lifetime))
    guard age < .max else { return "of unknown age, because the clock was set back" }
    let source =
      switch basis {
      case .program: "the program's lifetime is \(lifetime) s"
      case .maximumAge: "max-age=\(lifetime)"
      case .expires: "Expires gives \(lifetime) s"
      case .heuristic: "its lifetime is estimated from Last-Modified as \(lifetime) s"
      case .none: ""
      }
    guard basis != .none else { return "to be revalidated each time: it has no lifetime, age \(age)" }
    let (difference, _) = lifetime.subtractingReportingOverflow(age)
    let state = isFresh ? "fresh for \(max(0, difference)) s" : "stale by \(min(0, difference).magnitude) s"
    return "\(state): \(source), age \(age)"
  }

  private static func seconds(_ time: TimeInterval) -> Int { Int(exactly: time.rounded(.down)) ?? .max }
}
