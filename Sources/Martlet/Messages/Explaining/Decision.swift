extension Explanation {
  /// A decision, with its reason.
  ///
  /// ``sentence`` says it in plain words, and ``reference`` names the document that it follows.
  public enum Decision: Sendable, Hashable {
    /// What the client changed before a request was sent.
    case request(RequestChange)
    /// Whether a ``RequestGuard`` admitted the destination.
    case guards(Admission)
    /// HTTP Strict Transport Security.
    case transportSecurity(TransportSecurity)
    /// Whether a redirect was followed, and what it changed.
    case redirect(Redirect)
    /// Whether a failed attempt was repeated.
    case retry(Retry)
    /// Which credential was sent, or why none was.
    case authentication(Authentication)
    /// Which cookies were sent and stored.
    case cookies(Cookies)
    /// How the cache served and stored a response.
    case cache(Cache)
    /// Which connection carried a request.
    case connection(Connection)
    /// Whether the body waited for `100 Continue`.
    case expectation(Expectation)
    /// Whether a body was decoded.
    case contentCoding(ContentCoding)
    /// Whether a request waited for a limit on the load of its server.
    case load(Load)
    /// Whether a request that took long was sent a second time.
    case hedging(Hedging)
    /// Which limit ended a request.
    case limit(Limit)
    /// Whether the status was accepted.
    case status(StatusJudgement)
  }

  /// A change of a request before it was sent.
  public enum RequestChange: Sendable, Hashable {
    /// User name and password of the URL became a credential.
    case movedURLCredential(host: String)
    /// Default header fields with credentials were left out, because the request is for another origin.
    case withheldDefaults([String], host: String)
  }

  /// The judgement of the guards.
  public enum Admission: Sendable, Hashable {
    /// All guards admitted the destination.
    case admitted(host: String)
    /// A guard refused it, with its message.
    case refused(String)
  }

  /// A decision by HTTP Strict Transport Security (RFC 6797).
  public enum TransportSecurity: Sendable, Hashable {
    /// The URL was changed to https.
    case upgraded(host: String)
    /// The policy of a host was noted.
    case noted(host: String, seconds: Int64, includesSubdomains: Bool)
    /// The host was forgotten, because its `max-age` is 0.
    case forgotten(host: String)
    /// The field was ignored.
    case ignored(host: String, Reason)

    /// Why a field was ignored.
    public enum Reason: Sendable, Hashable {
      /// The response did not come over https.
      case notSecure
      /// The host is an IP address.
      case address
      /// The value is malformed.
      case malformed
      /// The client does not check the servers' certificates or names.
      case unverified
    }
  }

  /// A decision about a redirect.
  public enum Redirect: Sendable, Hashable {
    /// It was followed to this URL, without credentials.
    case followed(HTTPStatus, to: String)
    /// The closure of the policy replaced the next request.
    case replaced(to: String)
    /// The next request has another method, and no body.
    case methodChanged(HTTPStatus, from: HTTPMethod, to: HTTPMethod)
    /// The credential of the request is not used for the next one, which goes to another origin.
    case credentialDropped(from: String, to: String)
    /// Header fields were removed, because the next request goes to another origin.
    case fieldsDropped([String], from: String, to: String)
    /// It was not followed.
    case notFollowed(HTTPStatus, Reason)

    /// Why a redirect was not followed.
    public enum Reason: Sendable, Hashable {
      /// ``RedirectPolicy/off``.
      case off
      /// The response has no `Location`.
      case noLocation
      /// The closure of the policy stopped.
      case stopped
      /// There are `Location` fields with different values.
      case differentLocations
      /// `Location` is not a usable URL.
      case invalidLocation(String)
      /// The URL is longer than the maximum.
      case tooLong(maximum: Int)
      /// It leads from https to http.
      case downgrade(to: String)
      /// The body is needed again, but can be sent only once.
      case bodyNotReplayable
      /// The maximum number of redirects was reached.
      case tooMany(maximum: Int)
    }
  }

  /// A decision about a failed attempt.
  public enum Retry: Sendable, Hashable {
    /// It was repeated after a delay.
    case repeated(after: Duration, Cause)
    /// The policy asked for another attempt, which was not allowed.
    case refused(HTTPResponse.Attempt.RetryRefusal)
    /// The policy did not ask for another attempt.
    case ended(Reason)

    /// Why an attempt was repeated.
    public enum Cause: Sendable, Hashable {
      /// A reused connection was closed before the response began.
      case staleConnection
      /// A time limit passed.
      case timeout
      /// The failure may be temporary; the delay is random, with exponential growth.
      case backoff
      /// The server asked for the delay (`Retry-After`).
      case retryAfter
      /// The closure of the policy decided.
      case closure
      /// The server said that it had not processed the request.
      case unprocessed
      /// The server requires HTTP/1.1.
      case needsHTTP11
    }

    /// Why no further attempt was made.
    public enum Reason: Sendable, Hashable {
      /// ``RetryPolicy/off``.
      case off
      /// The policy does not repeat requests after such an outcome.
      case outcome
      /// All attempts of the policy were made.
      case attemptsUsed(maximum: Int)
      /// The server asked for a longer delay than the policy allows.
      case retryAfterTooLong(Duration, maximum: Duration)
      /// The closure of the policy decided.
      case closure
    }
  }

  /// A decision about credentials.
  public enum Authentication: Sendable, Hashable {
    /// Who asks for credentials.
    public enum Party: Sendable, Hashable {
      /// The server.
      case server
      /// A proxy.
      case proxy
    }

    /// A credential was added to the request before any challenge.
    case addedAtOnce(AuthenticationScheme, Party)
    /// A challenge was answered, with the scheme and the realm that it named.
    case answered(AuthenticationScheme, realm: String?, Party)
    /// A challenge was not answered.
    case unanswered(Reason, Party)

    /// Why a challenge was not answered.
    public enum Reason: Sendable, Hashable {
      /// No credential is known for the origin, or the challenge is answered by the program itself.
      case noCredential
      /// The credential of the request is for another origin, or the request has left its origin.
      case otherOrigin(String)
      /// The request has an `Authorization` field already.
      case ownField
      /// None of the offered schemes can be used, or each was tried before.
      case noScheme([AuthenticationScheme])
      /// The challenge cannot be read, or not enough of it; the texts say what.
      case unreadable([String])
      /// The only credential was rejected.
      case rejected(AuthenticationScheme)
      /// The maximum number of exchanges was reached.
      case tooManyExchanges(maximum: Int)
    }
  }

  /// A decision about cookies.
  public enum Cookies: Sendable, Hashable {
    /// These cookies were added to the request, by name.
    case added([String])
    /// A stored cookie for the host, or for its domain, was left out.
    case withheld(name: String, Withholding)
    /// The request has a `Cookie` field already.
    case ownField
    /// ``CookiePolicy/off``.
    case off
    /// The response set these cookies, by name.
    case stored([String])
    /// The response removed these cookies, by name.
    case removed([String])
    /// A cookie of the response was refused.
    case refused(name: String, Refusal)

    /// Why a cookie was not sent.
    public enum Withholding: Sendable, Hashable {
      /// It is for https only.
      case secureOnly
      /// It is for this host only.
      case hostOnly(String)
      /// It is for other paths.
      case path(String)
      /// `SameSite` forbids it after a redirect from another site.
      case sameSite
      /// It is of clients that trust other servers.
      case partition
      /// The `Cookie` field would be too long.
      case fieldFull(maximum: Int)
    }

    /// Why a cookie was refused.
    public enum Refusal: Error, Sendable, Hashable {
      /// The line is malformed or too long.
      case malformed
      /// The response has too many cookies.
      case tooMany(maximum: Int)
      /// Its domain is not the host, or one above it.
      case foreignDomain(String)
      /// Its domain is a public suffix, or above the domain that can be registered.
      case publicSuffix(String)
      /// It has `Secure`, but did not come over https.
      case notSecure
      /// It has `SameSite=None`, but not `Secure`.
      case unrestricted
      /// Its name promises attributes that it does not have (`__Secure-`, `__Host-`).
      case prefix
      /// It would replace a secure cookie, but did not come over https.
      case hidesSecure
    }
  }

  /// A decision of the cache.
  public enum Cache: Sendable, Hashable {
    /// ``CachePolicy/off``.
    case off
    /// A stored response was used without asking the server.
    case used(Reason, Freshness)
    /// A stored response was used, and is revalidated in the background.
    case usedAndRefreshed(Reason, Freshness)
    /// The server was asked whether the stored response is still valid.
    case revalidated(Reason, Freshness)
    /// The server confirmed the stored response.
    case confirmed
    /// The server sent a new response in its place.
    case replaced
    /// The missing part of a stored response was requested.
    case completed
    /// The request was sent without conditions; the stored response that it selected, if any, could not be used.
    case fetched(Reason, Freshness?)
    /// The request failed, because only a stored response was wanted.
    case failed(Reason)
    /// The request waited for an equal one.
    case shared
    /// The response is stored while its body is read.
    case stored(Freshness, isPermanent: Bool)
    /// The response was not stored.
    case notStored(Refusal)
    /// A stored response replaced a failure.
    case fallback(Freshness)

    /// The reason for a decision.
    public enum Reason: Sendable, Hashable {
      /// The stored response is fresh.
      case fresh
      /// The policy prefers a stored response, however old.
      case preferred
      /// The request allows the staleness (`max-stale`).
      case staleAllowed
      /// The response may be used while it is revalidated (`stale-while-revalidate`).
      case staleWhileRevalidate
      /// Nothing is stored for the URL.
      case nothing
      /// What is stored is for other header fields (`Vary`).
      case noVariant
      /// Other bytes are stored than the request asks for.
      case otherBytes
      /// Only a part is stored.
      case incomplete
      /// ``CachePolicy/neverRead``.
      case neverRead
      /// The request has `no-store` or `no-cache`.
      case requestForbids
      /// The request has a condition of its own.
      case ownCondition
      /// ``CachePolicy/alwaysRevalidate``.
      case alwaysRevalidate
      /// The stored response has `no-cache`.
      case responseForbids
      /// The stored response is stale.
      case stale
      /// It is older than the request allows (`max-age`).
      case tooOld
      /// It is not fresh for as long as the request wants (`min-fresh`).
      case notFreshEnough
      /// The server confirmed it.
      case confirmed
      /// The server sent a new response.
      case replaced
      /// The server could not be reached, or failed.
      case unreachable
      /// Only a stored response was wanted, and none can be used.
      case notStored
    }

    /// Why a response was not stored.
    public enum Refusal: Error, Sendable, Hashable {
      /// ``CachePolicy/neverWrite``.
      case neverWrite
      /// Its status is not final, or not understood.
      case status
      /// The request has `no-store`.
      case requestForbids
      /// The response has `no-store`.
      case responseForbids
      /// It varies by everything (`Vary: *`).
      case variesByEverything
      /// Nothing says that it may be stored.
      case saysNothing
      /// Nothing could be done with it: it has neither a lifetime nor a validator.
      case useless
      /// A partial response without a usable `Content-Range`.
      case unknownPart
      /// It was truncated, too large, or could not be written.
      case failure
      /// A larger part of the same representation is stored.
      case lessThanStored
    }
  }

  /// The age and the lifetime of a stored response (RFC 9111 §4.2), in seconds.
  public struct Freshness: Sendable, Hashable {
    /// The source of the lifetime.
    public enum Basis: Sendable, Hashable {
      /// ``RequestOptions/cacheFor``.
      case program
      /// `max-age`.
      case maximumAge
      /// `Expires` minus `Date`.
      case expires
      /// A tenth of the time from `Last-Modified` to `Date`.
      case heuristic
      /// There is no lifetime: the response is revalidated each time.
      case missing
    }

    /// The age; `Int.max` if it is unknown, because the clock was set back.
    public let age: Int
    /// The lifetime.
    public let lifetime: Int
    /// The source of the lifetime.
    public let basis: Basis

    /// Whether the response is fresh.
    public let isFresh: Bool
  }

  /// The connection of an exchange.
  public enum Connection: Sendable, Hashable {
    /// It was opened for this request.
    case opened(to: String?, HTTPVersion?)
    /// It had served another request, or serves several at the same time.
    case reused(to: String?, HTTPVersion?)
  }

  /// A decision about `Expect: 100-continue`.
  public enum Expectation: Sendable, Hashable {
    /// The body waited for the server's leave.
    case sent(Reason)
    /// It did not.
    case notSent(Refusal)
    /// The server refused the expectation, and the request was sent again without it.
    case refused

    /// Why the expectation was sent.
    public enum Reason: Sendable, Hashable {
      /// ``RequestOptions/expectsContinue``.
      case option
      /// The body is larger than this many bytes.
      case largeBody(minimum: Int64)
    }

    /// Why the expectation was not sent.
    public enum Refusal: Sendable, Hashable {
      /// ``RequestOptions/expectsContinue``.
      case option
      /// The server has let the second pass before, or has refused the field.
      case silentServer
      /// The idle limit is shorter than the wait may be.
      case shortIdleLimit(Duration)
    }
  }

  /// A decision about the content coding of a response.
  public enum ContentCoding: Sendable, Hashable {
    /// The body is decoded.
    case decoded
    /// The body is delivered as it came.
    case kept(String, Reason)

    /// Why a body was not decoded.
    public enum Reason: Sendable, Hashable {
      /// ``RequestOptions/Decompression/off``.
      case off
      /// A part of a coded body cannot be decoded.
      case partialContent
    }
  }

  /// A limit that ended a request, or truncated a body.
  public enum Limit: Sendable, Hashable {
    /// A time limit passed, with its message.
    case time(String)
    /// The body of a response has more bytes than the maximum.
    case bodyBytes(maximum: Int)
    /// The body of a response that is not accepted was truncated.
    case errorBodyBytes(maximum: Int)
    /// The ``DataBudget`` has not enough left until the next period.
    case dataBudget(left: Int64, until: Duration)
  }

  /// The judgement of a status.
  public enum StatusJudgement: Sendable, Hashable {
    /// It is accepted by ``RequestOptions/accepts``.
    case accepted(HTTPStatus)
    /// It is an error.
    case refused(HTTPStatus)
  }
}
