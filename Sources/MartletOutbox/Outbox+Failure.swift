public import Martlet

extension Outbox {
  /// The reason why a delivery failed.
  @nonexhaustive public enum Failure: Sendable, Hashable, CustomStringConvertible {
    /// The response had this status.
    case status(HTTPStatus)
    /// There was no response: the kind of the error, and its message.
    case error(HTTPError.Kind, String)
    /// A redirect changed the request to this method, which was not intended.
    case redirected(HTTPMethod)
    /// The request or its body is unreadable, for this reason.
    case unreadable(String)
    /// The request has waited longer than ``Options/maximumAge``.
    ///
    /// The time counts from its submission or its last retry.
    case expired
    /// The request was cancelled.
    case cancelled

    /// A one-line description.
    public var description: String {
      switch self {
      case .status(let status): "the server responded with \(status.rawValue)"
      case .error(let kind, let message): "\(kind): \(message)"
      case .redirected(let method): "it was redirected to a \(method.rawValue)"
      case .unreadable(let message): message
      case .expired: "it has waited for longer than maximumAge"
      case .cancelled: "it was cancelled"
      }
    }

    /// The text of the failure in the journal.
    var text: String {
      switch self {
      case .status(let status): "status \(status.rawValue)"
      case .error(let kind, let message): "error \(kind) \(message)"
      case .redirected(let method): "redirected \(method.rawValue)"
      case .unreadable(let message): "unreadable \(message)"
      case .expired: "expired"
      case .cancelled: "cancelled"
      }
    }

    /// Parses the text of a failure in the journal.
    init(text: String) {
      let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
      let rest = words.count > 1 ? String(words[1]) : ""
      switch words.first {
      case "status" where Int(rest) != nil: self = .status(HTTPStatus(rawValue: Int(rest) ?? 0))
      case "error":
        let parts = rest.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        self = .error(HTTPError.Kind(String(parts.first ?? "")), parts.count > 1 ? String(parts[1]) : "")
      case "redirected": self = .redirected(HTTPMethod(rest))
      case "unreadable": self = .unreadable(rest)
      case "expired": self = .expired
      case "cancelled": self = .cancelled
      default: self = .unreadable(text)
      }
    }
  }
}
