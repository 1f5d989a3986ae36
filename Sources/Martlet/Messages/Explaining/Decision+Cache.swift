import Foundation

extension Explanation.Cache {
  var sentence: String {
    switch self {
    case .off: "the cache is not used: the policy is off"
    case .used(let reason, let freshness): "the stored response was used: \(reason.text(freshness))"
    case .usedAndRefreshed(let reason, let freshness):
      "the stored response was used, and is revalidated in the background: \(reason.text(freshness))"
    case .revalidated(let reason, let freshness):
      "the server was asked whether the stored response is still valid: \(reason.text(freshness))"
    case .confirmed: "the server confirmed the stored response (304)"
    case .replaced: "the server sent a new response in place of the stored one"
    case .completed: "the missing part of the stored response was requested"
    case .fetched(let reason, let freshness): "the server was asked: \(Reason.statement(reason.text(freshness)))"
    case .failed(let reason): "the request failed without being sent: \(reason.text(nil))"
    case .shared: "the request waited for an equal one, to share its response"
    case .stored(let freshness, let isPermanent):
      "the response is stored with its body\(isPermanent ? "" : ", until the process ends"); it is \(freshness.text)"
    case .notStored(let reason): "the response was not stored: \(reason.text)"
    case .fallback(let freshness): "the stored response replaced the failure; it is \(freshness.text)"
    }
  }

  var reference: String? {
    switch self {
    case .used(.fresh, _), .revalidated(.stale, _): "RFC 9111 §4.2"
    case .used(.staleAllowed, _): "RFC 9111 §4.2.4"
    case .usedAndRefreshed: "RFC 5861 §3"
    case .used, .revalidated(.alwaysRevalidate, _), .fetched(.neverRead, _), .off, .notStored(.neverWrite),
      .notStored(.failure):
      nil
    case .revalidated(.tooOld, _): "RFC 9111 §5.2.1.1"
    case .revalidated(.notFreshEnough, _): "RFC 9111 §5.2.1.3"
    case .revalidated(.requestForbids, _): "RFC 9111 §5.2.1.4"
    case .revalidated(.responseForbids, _): "RFC 9111 §5.2.2.4"
    case .revalidated, .confirmed, .replaced: "RFC 9111 §4.3"
    case .completed: "RFC 9111 §3.4"
    case .fetched(.noVariant, _): "RFC 9111 §4.1"
    case .fetched(.requestForbids, _): "RFC 9111 §5.2.1.5"
    case .fetched, .failed, .shared: "RFC 9111 §4"
    case .stored, .notStored: "RFC 9111 §3"
    case .fallback: "RFC 5861 §4"
    }
  }
}

extension Explanation.Cache.Reason {
  /// The reason, with the age and the lifetime if they matter.
  func text(_ freshness: Explanation.Freshness?) -> String {
    guard let freshness else { return phrase }
    switch self {
    case .fresh, .stale: return "it is \(freshness.text)"
    case .staleAllowed, .staleWhileRevalidate, .tooOld, .notFreshEnough, .preferred:
      return "\(phrase); it is \(freshness.text)"
    default: return phrase
    }
  }

  /// The reason as a statement of its own.
  var statement: String { Self.statement(phrase) }

  fileprivate static func statement(_ text: String) -> String {
    text.hasPrefix("it ") ? "the stored response \(text.dropFirst(3))" : text
  }

  var phrase: String {
    switch self {
    case .fresh: "it is fresh"
    case .preferred: "it is preferred by the policy, however old it is"
    case .staleAllowed: "it is stale, which the request allows (max-stale)"
    case .staleWhileRevalidate: "it is stale, and may be used meanwhile (stale-while-revalidate)"
    case .nothing: "nothing is stored"
    case .noVariant: "what is stored is for other header fields (Vary)"
    case .otherBytes: "other bytes are stored than the request asks for"
    case .incomplete: "only a part is stored"
    case .neverRead: "the policy is neverRead"
    case .requestForbids: "the request has no-store or no-cache"
    case .ownCondition: "the request has a condition of its own"
    case .alwaysRevalidate: "the policy is alwaysRevalidate"
    case .responseForbids: "the stored response has no-cache"
    case .stale: "it is stale"
    case .tooOld: "it is older than the request allows (max-age)"
    case .notFreshEnough: "it is not fresh for as long as the request wants (min-fresh)"
    case .confirmed: "the server confirmed the stored response"
    case .replaced: "the server sent a new response"
    case .unreachable: "the server could not be reached, or failed"
    case .notStored: "only a stored response was wanted, and none can be used"
    }
  }
}

extension Explanation.Cache.Refusal {
  fileprivate var text: String {
    switch self {
    case .neverWrite: "the policy is neverWrite"
    case .status: "its status is not final, or has caching rules that this cache does not know"
    case .requestForbids: "the request has no-store"
    case .responseForbids: "it has no-store"
    case .variesByEverything: "it varies by everything (Vary: *)"
    case .saysNothing: "nothing says that it may be stored"
    case .useless: "it has neither a lifetime nor a validator"
    case .unknownPart: "it is partial, without a usable Content-Range"
    case .failure: "it was truncated, too large, or could not be written"
    case .lessThanStored: "more of the same representation is stored already"
    }
  }
}

extension Explanation.Freshness {
  /// The arithmetic: `stale by 12 s: max-age=60, age 72`.
  var text: String {
    guard age < .max else { return "of unknown age, because the clock was set back" }
    guard basis != .missing else { return "to be revalidated each time: it has no lifetime, age \(age)" }
    let source =
      switch basis {
      case .program: "the program's lifetime is \(lifetime) s"
      case .maximumAge: "max-age=\(lifetime)"
      case .expires: "Expires gives \(lifetime) s"
      case .heuristic: "its lifetime is estimated from Last-Modified as \(lifetime) s"
      case .missing: ""
      }
    let (difference, _) = lifetime.subtractingReportingOverflow(age)
    let state = isFresh ? "fresh for \(max(0, difference)) s" : "stale by \(min(0, difference).magnitude) s"
    return "\(state): \(source), age \(age)"
  }
}
