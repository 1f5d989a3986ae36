public import Martlet
public import MartletBase

/// Signs requests with AWS Signature Version 4.
///
/// ```swift
/// let signer = SigV4(.origin("https://bucket.s3.eu-central-1.amazonaws.com"), region: "eu-central-1", service: "s3") {
///   try await keys.current()
/// }
/// let client = HTTPClient { $0.exchangeMiddleware = [signer] }
/// ```
///
/// As exchange middleware it signs each attempt and each hop separately, with the date of the client's clock
/// (`HTTPClient.Configuration.now`). It signs only requests to its origins, so no signature and no session token follows
/// a redirect to another server. Requests with a presigned URL are sent as they are.
///
/// Signed are the method, the path, the query, the body, and the fields `Host`, `Content-Type`, `Content-MD5`, `Date`,
/// `Range`, those that begin with `X-Amz-`, and ``additionalFields``. An `Authorization` field of the request is
/// replaced.
public struct SigV4: Middleware {
  /// Returns the current credentials.
  ///
  /// It is called for each attempt, so it keeps temporary credentials until they expire. An error that it throws ends
  /// the call and is thrown unchanged.
  public typealias CredentialSource = @Sendable () async throws -> Credentials

  /// Whether the signature covers the body; `true` by default.
  ///
  /// The body is then read once for its digest, before it is sent, so it must be replayable. With `false`, the
  /// signature declares `UNSIGNED-PAYLOAD`: any body can be sent, TLS alone protects it, and requests over http throw
  /// `HTTPError.Kind.invalidRequest`. S3 supports it; most other services do not. A request with its own
  /// `X-Amz-Content-Sha256` field is signed with that value, and its body is not read.
  public var isBodySigned = true

  /// The names of further header fields to sign; none by default.
  ///
  /// Intermediaries must not change signed fields. `Authorization` is never signed.
  public var additionalFields: [String] = []

  let origins: Authenticators.OriginPattern
  let scope: SigningScope
  private let credentials: CredentialSource

  /// Creates a signer with credentials from a closure, which may change.
  ///
  /// - Parameters:
  ///   - origins: The servers that receive signatures; not `.everywhere` and not a proxy.
  ///   - region: The region, such as `us-east-1`.
  ///   - service: The name of the service in signatures, such as `s3`, `sts` or `execute-api`.
  ///   - credentials: Returns the current credentials.
  public init(
    _ origins: Authenticators.OriginPattern, region: String, service: String,
    credentials: @escaping CredentialSource
  ) {
    self.origins = origins
    scope = SigningScope(region: region, service: service)
    self.credentials = credentials
  }

  /// Creates a signer with fixed credentials.
  ///
  /// - Parameters:
  ///   - origins: The servers that receive signatures; not `.everywhere` and not a proxy.
  ///   - region: The region, such as `us-east-1`.
  ///   - service: The name of the service in signatures, such as `s3`, `sts` or `execute-api`.
  ///   - credentials: The credentials.
  public init(
    _ origins: Authenticators.OriginPattern, region: String, service: String, credentials: Credentials
  ) {
    self.init(origins, region: region, service: service) { credentials }
  }

  /// Signs a request to one of the origins, and passes other requests on.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - context: The context of the call.
  ///   - next: Passes the signed request to the next step.
  /// - Returns: The response.
  /// - Throws: `HTTPError.Kind.invalidRequest` for an invalid region, service or credential, and for an unsigned body
  ///   over http; `HTTPError.Kind.bodyNotReplayable` for a signed body that can be sent only once; the errors of the
  ///   body, of the credentials' source, and of `next`.
  public func intercept(
    _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
  ) async throws -> StreamedResponse {
    guard let url = request.absoluteURL else { return try await next(request) }
    let isOwn = try matches(url, serving: context.service(of: url), base: context.baseOrigin)
    guard isOwn, !CanonicalRequest.isPresigned(url) else { return try await next(request) }
    return try await next(signed(request, url, at: context.now))
  }

  /// Returns a signed copy of a request, to be sent within 15 minutes.
  ///
  /// Not necessary for requests of a client with this middleware.
  ///
  /// - Parameters:
  ///   - request: The request, with a full URL. The origin pattern is not examined.
  ///   - date: The date of the signature; now by default.
  /// - Returns: The signed request.
  /// - Throws: `HTTPError.Kind.invalidRequest` for a relative or invalid URL, and the errors of
  ///   ``intercept(_:context:next:)``.
  public func signed(_ request: HTTPRequest, at date: Date = Date()) async throws -> HTTPRequest {
    guard let url = request.absoluteURL else { throw Self.incomplete }
    return try await signed(request, url, at: date)
  }

  static let incomplete = HTTPError(.invalidRequest, "a signature requires a full URL: write its scheme and host")

  /// Whether the origins include a URL, or the service that it belongs to.
  func matches(_ url: AbsoluteURL, serving service: Origin? = nil, base: Origin?) throws(HTTPError) -> Bool {
    do throws(InvalidInput) {
      if try origins.includes(url.origin, base: base) { return true }
      return try service.map { origin throws(InvalidInput) in try origins.includes(origin, base: base) } ?? false
    } catch {
      throw HTTPError(.invalidRequest, "the origins of SigV4: \(error.message)")
    }
  }

  /// Returns the current credentials, checked.
  func current() async throws -> Credentials {
    let credentials = try await credentials()
    if let problem = scope.problem ?? credentials.problem { throw HTTPError(.invalidRequest, problem) }
    return credentials
  }

  private func signed(_ request: HTTPRequest, _ url: AbsoluteURL, at date: Date) async throws -> HTTPRequest {
    let credentials = try await current()
    var request = request
    let time = SigningScope.time(date)
    request.headers["X-Amz-Date"] = time
    request.headers["X-Amz-Security-Token"] = credentials.sessionToken
    let digest = try await digest(of: request, url)
    if scope.isStorage || digest == Self.unsignedBody { request.headers["X-Amz-Content-Sha256"] = digest }
    let canonical = CanonicalRequest(
      request, url, query: CanonicalRequest.items(of: url.query), digest: digest, scope,
      additionalFields: additionalFields)
    let signature = scope.signature(of: canonical.text, at: time, key: credentials.secretAccessKey)
    request.headers["Authorization"] =
      "\(SigningScope.algorithm) Credential=\(credentials.accessKeyID)/\(scope.text(at: time)), "
      + "SignedHeaders=\(canonical.names), Signature=\(signature)"
    return request
  }

  static let unsignedBody = "UNSIGNED-PAYLOAD"

  /// Returns the digest of a request's body that the signature covers.
  private func digest(of request: HTTPRequest, _ url: AbsoluteURL) async throws -> String {
    if let own = request.headers["X-Amz-Content-Sha256"] { return own }
    guard let body = request.body else { return SHA2.sha256([]).hexadecimal }
    guard isBodySigned else {
      guard url.isSecure else {
        throw HTTPError(.invalidRequest, "isBodySigned is false, but nothing protects a body over http: use https")
      }
      return Self.unsignedBody
    }
    guard body.isReplayable else {
      throw HTTPError(
        .bodyNotReplayable,
        "reading the body for its signature would use it up: send a replayable body, or set isBodySigned to false")
    }
    let hash = SHA256Stream()
    try await body.write(upTo: .max) { hash.update($0) }
    return hash.digits()
  }
}

extension SigV4: CustomStringConvertible, CustomReflectable {
  /// The region and the service, without credentials.
  public var description: String { "SigV4(\(Printable.text(scope.region))/\(Printable.text(scope.service)))" }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
