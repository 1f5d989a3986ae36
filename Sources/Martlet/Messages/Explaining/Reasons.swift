// The reasons that rules return. Other reasons are created where they are found.

extension Explanation {
  /// The peer that requests credentials.
  enum Party: String, Sendable {
    case server, proxy

    /// The first part of codes about the peer.
    var area: String { self == .server ? "authentication" : "proxyAuthentication" }
    var section: String { self == .server ? "RFC 9110 §11.6" : "RFC 9110 §11.7" }
  }

  /// The reason why a redirect was not followed.
  struct RedirectReason: ExplainedReason {
    let wording: Wording
    var kind = HTTPError.Kind.redirectRefused
    /// Whether the decision is the client's own, not a document's.
    var isOwn = false

    static let off = Self(wording: ("off", "the policy follows no redirects"), isOwn: true)
    static let noLocation = Self(wording: ("noLocation", "the response has no Location"))
    static let stopped = Self(wording: ("stopped", "the redirect policy's closure stopped here"), isOwn: true)
    static let differentLocations = Self(
      wording: ("differentLocations", "it has Location fields with different values"))
    static let bodyNotReplayable = Self(
      wording: ("bodyNotReplayable", "it needs the body again, which can be sent only once"), kind: .bodyNotReplayable)

    static func invalidLocation(_ message: String) -> Self { Self(wording: ("invalidLocation", message)) }
    static func tooLong(maximum: Int) -> Self {
      Self(wording: ("tooLong", "its URL is longer than \(maximum) bytes"), isOwn: true)
    }
    static func downgrade(to url: String) -> Self {
      Self(wording: ("downgrade", "it leads from https to http (\(url))"), isOwn: true)
    }
    static func tooMany(maximum: Int) -> Self {
      Self(wording: ("tooMany", "the maximum of \(maximum) is reached"), kind: .tooManyRedirects, isOwn: true)
    }
  }

  /// The reason why a stored cookie for the host, or for its domain, was not sent.
  enum CookieWithholding: Sendable, Hashable, ExplainedReason {
    case secureOnly, sameSite, partition
    case hostOnly(String)
    case path(String)
    case fieldFull(maximum: Int)

    var wording: Wording {
      switch self {
      case .secureOnly: ("secureOnly", "it is for https only")
      case .hostOnly(let host): ("hostOnly", "it is for \(host) only")
      case .path(let path): ("path", "it is for paths below \(InvalidInput.printable(path))")
      case .sameSite: ("sameSite", "SameSite forbids it after a redirect from another site or scheme")
      case .partition:
        ("partition", "a client with other TLS or address settings has received it")
      case .fieldFull(let maximum): ("fieldFull", "the Cookie field would be longer than \(maximum) bytes")
      }
    }

    var section: String? {
      switch self {
      case .partition, .fieldFull: nil
      default: "RFC 6265bis §5.8"
      }
    }
  }

  /// The reason why a request was not sent to an origin.
  enum LoadReason: Sendable, Hashable, ExplainedReason {
    /// The circuit is open for this time; zero while another request is the probe.
    case circuitOpen(retryAfter: Duration)
    /// This many requests are already waiting.
    case queueFull(waiting: Int)
    /// The server requested a longer pause than the request may wait.
    case pause(Duration, maximum: Duration)
    /// The request waited for the maximum time.
    case waitedTooLong(maximum: Duration)
    /// The remaining time of the request is shorter than the origin's usual latency.
    case tooLate(latency: Duration)

    var wording: Wording {
      switch self {
      case .circuitOpen(.zero): ("circuitOpen", "its last requests failed, and another request is testing it now")
      case .circuitOpen(let time): ("circuitOpen", "its last requests failed; the next one is tried in \(time.shown)")
      case .queueFull(let waiting): ("queueFull", "\(waiting) requests are already waiting, which is the maximum")
      case .pause(let time, let maximum):
        ("pause", "it requested a pause that lasts another \(time.shown); a request waits at most \(maximum.shown)")
      case .waitedTooLong(let maximum):
        ("waitedTooLong", "it waited \(maximum.shown) for its turn, which is the maximum")
      case .tooLate(let latency):
        ("tooLate", "the remaining time is shorter than the usual response time of \(latency.shown)")
      }
    }
  }

  /// The reason why the cache used a stored response, or sent a request to the server.
  enum CacheReason: String, Sendable {
    case fresh, preferred, staleAllowed, staleWhileRevalidate, nothing, noVariant, otherBytes, incomplete, neverRead
    case requestForbids, ownCondition, alwaysRevalidate, responseForbids, stale, tooOld, notFreshEnough, confirmed
    case replaced, unreachable, notStored

    var text: String {
      switch self {
      case .fresh: "it is fresh"
      case .preferred: "the policy prefers it regardless of its age"
      case .staleAllowed: "it is stale, which the request allows (max-stale)"
      case .staleWhileRevalidate: "it is stale, and may be used in the meantime (stale-while-revalidate)"
      case .nothing: "nothing is stored"
      case .noVariant: "the stored responses are for other header fields (Vary)"
      case .otherBytes: "the requested bytes are not the stored ones"
      case .incomplete: "only a part is stored"
      case .neverRead: "the policy is neverRead"
      case .requestForbids: "the request has no-store or no-cache"
      case .ownCondition: "the request has its own condition"
      case .alwaysRevalidate: "the policy is alwaysRevalidate"
      case .responseForbids: "the stored response has no-cache"
      case .stale: "it is stale"
      case .tooOld: "it is older than the request allows (max-age)"
      case .notFreshEnough: "it is not fresh for as long as the request wants (min-fresh)"
      case .confirmed: "the server confirmed the stored response"
      case .replaced: "the server sent a new response"
      case .unreachable: "the server could not be reached, or failed"
      case .notStored: "only a stored response was allowed, and none can be used"
      }
    }

    /// The reason as a sentence.
    var statement: String { Self.statement(text) }

    static func statement(_ text: String) -> String {
      text.hasPrefix("it ") ? "the stored response \(text.dropFirst(3))" : text
    }
  }
}

extension Explanation.Decision {
  /// The connection that an exchange has used.
  static func connection(_ connection: HTTPResponse.Connection, _ version: HTTPVersion?) -> Self {
    let address = connection.remoteAddress.map { address in
      let host = address.contains(":") ? "[\(address)]" : address
      return connection.remotePort.map { "\(host):\($0)" } ?? host
    }
    let place = address.map { " to \($0)" } ?? ""
    let version = version.map { " (HTTP/\($0))" } ?? ""
    return connection.isReused
      ? .init("connection.reused", "the open connection\(place) was used\(version)")
      : .init("connection.opened", "a connection\(place) was opened\(version)")
  }
}

// The reasons why an attempt was repeated.
extension Explanation.Reason {
  static let staleConnection = Self(
    "staleConnection", "the reused connection ended before a response began", "RFC 9112 §9.3.1")
  static let timeout = Self("timeout", "the attempt timed out", "RFC 9110 §9.2.2")
  static let backoff = Self("backoff", "the failure may be temporary", "RFC 9110 §9.2.2")
  static let retryAfter = Self("retryAfter", "the server requested this delay (Retry-After)", "RFC 9110 §10.2.3")
  static let closure = Self("closure", "the retry policy's closure decided this", "RFC 9110 §9.2.2")
  static let unprocessed = Self("unprocessed", "the server reported that it did not process it", "RFC 9113 §8.7")
  static let otherServer = Self("otherServer", "another server of the cluster is left", "RFC 9110 §9.2.2")
  static let needsHTTP11 = Self("needsHTTP11", "the server requires HTTP/1.1", "RFC 9113 §7")
}

extension HTTPResponse.Attempt.RetryRefusal: ExplainedReason {
  var wording: Explanation.Wording {
    switch self {
    case .bodyNotReplayable: ("bodyNotReplayable", "the body can be sent only once; HTTPBody.spooled keeps a copy")
    case .notIdempotent(let method):
      (
        "notIdempotent",
        "\(method) is not idempotent and may have reached the server; if it may be sent twice, "
          + "set an Idempotency-Key field or RequestOptions.isIdempotent"
      )
    case .exceedsTotalLimit(let delay, let limit):
      ("exceedsTotalLimit", "a delay of \(delay.shown) would exceed the total limit of \(limit.shown)")
    case .exceedsDeadline(let delay, let remaining):
      ("exceedsDeadline", "a delay of \(delay.shown) would exceed the deadline, which is \(remaining.shown) away")
    case .budgetExhausted: ("budgetExhausted", "the retry budget of the client is used up")
    }
  }

  var section: String? { if case .notIdempotent = self { "RFC 9110 §9.2.2" } else { nil } }
}
