extension Explanation.Decision: CustomStringConvertible {
  /// The ``sentence``.
  public var description: String { sentence }

  /// The decision and its reason in one sentence, without a full stop.
  public var sentence: String {
    switch self {
    case .request(.movedURLCredential(let host)):
      "the user name and the password of the URL are a credential for \(host), and are not sent in the URL"
    case .request(.withheldDefaults(let names, let host)):
      "the client's \(Self.list(names)) is for the server of its base URL only, and is not sent to \(host)"
    case .guards(.admitted(let host)): "the guards admit \(host)"
    case .guards(.refused(let message)): message
    case .transportSecurity(let decision): decision.sentence
    case .redirect(let redirect): redirect.sentence
    case .retry(let retry): retry.sentence
    case .authentication(let decision): decision.sentence
    case .cookies(let decision): decision.sentence
    case .cache(let decision): decision.sentence
    case .connection(.opened(let address, let version)):
      "a connection\(Self.place(address)) was opened\(Self.text(version))"
    case .connection(.reused(let address, let version)):
      "the open connection\(Self.place(address)) was used\(Self.text(version))"
    case .expectation(.sent(.option)): "the body waits for 100 Continue, as the option expectsContinue says"
    case .expectation(.sent(.largeBody(let minimum))):
      "the body waits for 100 Continue, because it is larger than \(minimum) bytes"
    case .expectation(.notSent(let reason)): "the body does not wait for 100 Continue: \(reason.text)"
    case .expectation(.refused):
      "the server refused the expectation (417), so the request is sent again without it"
    case .contentCoding(.decoded): "the body is decoded, and Content-Encoding and Content-Length are removed"
    case .contentCoding(.kept(let coding, .off)):
      "the body stays encoded (\(InvalidInput.printable(coding))): decompression is off"
    case .contentCoding(.kept(let coding, .partialContent)):
      "the body stays encoded (\(InvalidInput.printable(coding))): a part of a coded body cannot be decoded"
    case .load(let decision): decision.sentence
    case .hedging(let decision): decision.sentence
    case .limit(.time(let message)): message
    case .limit(.bodyBytes(let maximum)): "the body has more than \(maximum) bytes"
    case .limit(.errorBodyBytes(let maximum)): "only the first \(maximum) bytes of the body were kept"
    case .limit(.dataBudget(let left, let time)):
      "the data budget has \(left) bytes left for the next \(time.shown), which is not enough"
    case .status(.accepted(let status)): "the status \(status.rawValue) is accepted"
    case .status(.refused(let status)): "the status \(status.rawValue) is an error"
    }
  }

  /// The section of the document that the decision follows, such as `RFC 9111 §4.2`; `nil` if it is the client's own.
  public var reference: String? {
    switch self {
    case .request(.movedURLCredential): "RFC 3986 §3.2.1"
    case .request(.withheldDefaults), .guards: nil
    case .transportSecurity(.upgraded): "RFC 6797 §8.3"
    case .transportSecurity: "RFC 6797 §8.1"
    case .redirect(let redirect): redirect.reference
    case .retry(.repeated(_, .unprocessed)): "RFC 9113 §8.7"
    case .retry(.repeated(_, .needsHTTP11)): "RFC 9113 §7"
    case .retry(.repeated(_, .retryAfter)), .retry(.ended(.retryAfterTooLong)): "RFC 9110 §10.2.3"
    case .retry(.repeated(_, .staleConnection)): "RFC 9112 §9.3.1"
    case .retry(.repeated), .retry(.refused(.notIdempotent)): "RFC 9110 §9.2.2"
    case .retry: nil
    case .authentication(.addedAtOnce(_, let party)), .authentication(.answered(_, _, let party)),
      .authentication(.unanswered(_, let party)):
      party == .server ? "RFC 9110 §11.6" : "RFC 9110 §11.7"
    case .cookies(let decision): decision.reference
    case .cache(let decision): decision.reference
    case .expectation(.notSent(.option)), .contentCoding(.kept(_, .off)), .connection, .limit, .load, .hedging: nil
    case .expectation: "RFC 9110 §10.1.1"
    case .contentCoding: "RFC 9110 §8.4"
    case .status: nil
    }
  }

  private static func place(_ address: String?) -> String { address.map { " to \($0)" } ?? "" }
  private static func text(_ version: HTTPVersion?) -> String { version.map { " (HTTP/\($0))" } ?? "" }

  /// Names as a list: `a, b and c`.
  fileprivate static func list(_ names: [String]) -> String {
    let names = names.map { InvalidInput.printable($0) }
    guard let last = names.last, names.count > 1 else { return names.first ?? "" }
    return "\(names.dropLast().joined(separator: ", ")) and \(last)"
  }
}

extension Explanation.TransportSecurity {
  fileprivate var sentence: String {
    switch self {
    case .upgraded(let host): "the URL was changed to https, because \(host) is a known HSTS host"
    case .noted(let host, let seconds, let includesSubdomains):
      "\(host)\(includesSubdomains ? " and its subdomains use" : " uses") https only for \(seconds) s"
    case .forgotten(let host): "\(host) is no HSTS host any more: its max-age is 0"
    case .ignored(let host, let reason): "Strict-Transport-Security of \(host) was ignored: \(reason.text)"
    }
  }
}

extension Explanation.TransportSecurity.Reason {
  fileprivate var text: String {
    switch self {
    case .notSecure: "the response did not come over https"
    case .address: "the host is an IP address"
    case .malformed: "the value is malformed"
    case .unverified: "the client does not check servers"
    }
  }
}

extension Explanation.Redirect {
  fileprivate var sentence: String {
    switch self {
    case .followed(let status, let url): "the redirect (\(status.rawValue)) to \(url) was followed"
    case .replaced(let url): "the closure of the redirect policy sent the request to \(url) instead"
    case .methodChanged(let status, let old, let new):
      "after \(status.rawValue), the request is a \(new) without a body instead of a \(old)"
    case .credentialDropped(let old, let new): "the credential for \(old) is not used for \(new)"
    case .fieldsDropped(let names, let old, let new):
      "\(Explanation.Decision.list(names)) \(names.count == 1 ? "was" : "were") removed, "
        + "because the redirect leads from \(old) to \(new)"
    case .notFollowed(let status, let reason): "the redirect (\(status.rawValue)) was not followed: \(reason.text)"
    }
  }

  fileprivate var reference: String? {
    switch self {
    case .replaced, .notFollowed(_, .off), .notFollowed(_, .stopped), .notFollowed(_, .tooLong),
      .notFollowed(_, .tooMany), .notFollowed(_, .downgrade):
      nil
    case .methodChanged(let status, _, _), .followed(let status, _), .notFollowed(let status, _):
      switch status.rawValue {
      case 301: "RFC 9110 §15.4.2"
      case 302: "RFC 9110 §15.4.3"
      case 303: "RFC 9110 §15.4.4"
      case 307: "RFC 9110 §15.4.8"
      case 308: "RFC 9110 §15.4.9"
      default: "RFC 9110 §15.4"
      }
    case .fieldsDropped, .credentialDropped: "RFC 9110 §15.4"
    }
  }
}

extension Explanation.Redirect.Reason {
  fileprivate var text: String {
    switch self {
    case .off: "the policy follows none"
    case .noLocation: "the response has no Location"
    case .stopped: "the closure of the redirect policy stopped"
    case .differentLocations: "it has Location fields with different values"
    case .invalidLocation(let message): message
    case .tooLong(let maximum): "its URL is longer than \(maximum) bytes"
    case .downgrade(let url): "it leads from https to http (\(url))"
    case .bodyNotReplayable: "it needs the body again, which can be sent only once"
    case .tooMany(let maximum): "the maximum of \(maximum) is reached"
    }
  }
}

extension Explanation.Retry {
  fileprivate var sentence: String {
    switch self {
    case .repeated(let delay, let cause):
      delay == .zero
        ? "the request is repeated at once: \(cause.text)"
        : "the request is repeated after \(delay.shown): \(cause.text)"
    case .refused(let refusal): "the request is not repeated: \(refusal)"
    case .ended(let reason): "the request is not repeated: \(reason.text)"
    }
  }
}

extension Explanation.Retry.Cause {
  fileprivate var text: String {
    switch self {
    case .staleConnection: "the reused connection ended before a response began"
    case .timeout: "a time limit passed"
    case .backoff: "the failure may be temporary"
    case .retryAfter: "the server asked for that delay (Retry-After)"
    case .closure: "the closure of the retry policy decided so"
    case .unprocessed: "the server said that it had not processed it"
    case .needsHTTP11: "the server requires HTTP/1.1"
    }
  }
}

extension Explanation.Retry.Reason {
  fileprivate var text: String {
    switch self {
    case .off: "the policy is off"
    case .outcome: "the retry policy does not repeat it after this outcome"
    case .attemptsUsed(let maximum): "the maximum number of attempts (\(maximum)) is reached"
    case .retryAfterTooLong(let delay, let maximum):
      "the server asked for a delay of \(delay.shown); the policy waits at most \(maximum.shown)"
    case .closure: "the closure of the retry policy decided so"
    }
  }
}

extension Explanation.Authentication {
  fileprivate var sentence: String {
    switch self {
    case .addedAtOnce(let scheme, let party): "a credential for the \(party) was added to the request (\(scheme))"
    case .answered(let scheme, let realm, let party):
      "the challenge of the \(party) was answered (\(scheme)"
        + "\(realm.map { ", realm \"\(InvalidInput.printable($0))\"" } ?? ""))"
    case .unanswered(let reason, let party): "the challenge of the \(party) was not answered: \(reason.text)"
    }
  }
}

extension Explanation.Authentication.Reason {
  fileprivate var text: String {
    switch self {
    case .noCredential: "there is no credential for it"
    case .otherOrigin(let origin): "the credential is for \(origin), and is not used after a redirect to another origin"
    case .ownField: "the request has an Authorization field already"
    case .noScheme(let schemes):
      schemes.isEmpty
        ? "it names no scheme"
        : "\(Explanation.Decision.list(schemes.map(\.description))) cannot be used, or was tried before"
    case .unreadable(let gaps): "the challenge cannot be read: \(Explanation.Decision.list(gaps))"
    case .rejected(let scheme): "the credential was rejected (\(scheme)), and there is no other one"
    case .tooManyExchanges(let maximum): "at most \(maximum) exchanges are made for one request"
    }
  }
}

extension Explanation.Cookies {
  fileprivate var sentence: String {
    switch self {
    case .added(let names): "cookies were added to the request: \(Explanation.Decision.list(names))"
    case .withheld(let name, let reason): "the cookie \(Self.quoted(name)) was left out: \(reason.text)"
    case .ownField: "no cookies were added: the request has a Cookie field already"
    case .off: "the cookie jar is not used: the policy is off"
    case .stored(let names): "cookies were stored: \(Explanation.Decision.list(names))"
    case .removed(let names): "cookies were removed: \(Explanation.Decision.list(names))"
    case .refused("", let reason): "a cookie was refused: \(reason.text)"
    case .refused(let name, let reason): "the cookie \(Self.quoted(name)) was refused: \(reason.text)"
    }
  }

  private static func quoted(_ name: String) -> String { "'\(InvalidInput.printable(name))'" }

  fileprivate var reference: String? {
    switch self {
    case .ownField, .off, .withheld(_, .partition), .withheld(_, .fieldFull), .refused(_, .tooMany): nil
    case .added, .withheld: "RFC 6265bis §5.8"
    case .stored, .removed, .refused: "RFC 6265bis §5.7"
    }
  }
}

extension Explanation.Cookies.Withholding {
  fileprivate var text: String {
    switch self {
    case .secureOnly: "it is for https only"
    case .hostOnly(let host): "it is for \(host) only"
    case .path(let path): "it is for paths below \(InvalidInput.printable(path))"
    case .sameSite: "SameSite forbids it after a redirect from another site or scheme"
    case .partition: "a client that trusts other servers, by its TLS or address settings, has received it"
    case .fieldFull(let maximum): "the Cookie field would be longer than \(maximum) bytes"
    }
  }
}

extension Explanation.Cookies.Refusal {
  fileprivate var text: String {
    switch self {
    case .malformed: "the line is malformed or too long"
    case .tooMany(let maximum): "only \(maximum) cookies of a response are processed"
    case .foreignDomain(let domain): "its domain \(InvalidInput.printable(domain)) is not that of the host"
    case .publicSuffix(let domain): "others can register names below its domain \(InvalidInput.printable(domain))"
    case .notSecure: "it has Secure, but did not come over https"
    case .unrestricted: "it has SameSite=None, but not Secure"
    case .prefix: "its name begins with __Secure- or __Host-, but it lacks what that requires"
    case .hidesSecure: "it would replace a secure cookie, but did not come over https"
    }
  }
}

extension Explanation.Expectation.Refusal {
  fileprivate var text: String {
    switch self {
    case .option: "the option expectsContinue says so"
    case .silentServer: "the server did not answer Expect: 100-continue before, or refused it"
    case .shortIdleLimit(let limit): "the idle limit of \(limit.shown) could pass meanwhile"
    }
  }
}
