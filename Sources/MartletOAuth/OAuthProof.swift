public import Martlet
import MartletBase

/// Proofs that the sender of a token owns the key to which the token is bound: DPoP (RFC 9449).
///
/// ```swift
/// let proof = try OAuthProof(.generate(), for: ["https://api.example.com"])
/// let oauth = OAuthClient(at: server, clientID: "app", dpop: proof)
/// let client = HTTPClient {
///   $0.authenticators[.origin("https://api.example.com")] = .oauth(oauth, .stored(in: store))
///   $0.exchangeMiddleware.append(proof)
/// }
/// ```
///
/// As middleware in `exchangeMiddleware`, it sends the bearer tokens of requests to its origins as `DPoP` tokens, each
/// with a new proof. It uses the nonces of both servers, and repeats a request once if a server requires a nonce. A
/// request that cannot be repeated throws `bodyNotReplayable`; sent again, it has the nonce.
/// Tokens in a store are bound to the key, so keep the key as long as the tokens.
public final class OAuthProof: Middleware {
  /// The maximum number of bytes to read of a response that requires a nonce.
  private static let refusalBodyBytes = 64 << 10

  /// The key.
  public let key: OAuthKey

  /// A server with its own nonces; both kinds may have the same origin.
  struct Issuer: Hashable {
    enum Kind { case authorization, resource }

    let kind: Kind
    let origin: Origin
  }

  private let origins: Set<Origin>
  private let nonces = Locked(RecentTable<Issuer, String>(limit: 64))

  /// Creates proofs.
  ///
  /// - Parameters:
  ///   - key: The key; use ES256, which all servers support.
  ///   - origins: The origins whose requests it proves, such as `https://api.example.com`: https, or http on a loopback
  ///     address. The authorization server need not be among them. The origin of the base URL covers the servers of a
  ///     cluster that is one service.
  /// - Throws: `HTTPError` of kind `invalidRequest` if an origin is malformed.
  public init(_ key: OAuthKey, for origins: [String]) throws {
    self.key = key
    self.origins = try Set(
      origins.map { text in
        do {
          let url = try AbsoluteURL.parse(text)
          guard url.isSecure || OAuthClient.isLoopback(url.host) else {
            throw InvalidInput("http would show the token to the network: use https")
          }
          return url.origin
        } catch let problem as InvalidInput {
          throw HTTPError(.invalidRequest, "origin '\(Printable.text(URLText.origin(text)))': \(problem.message)")
        }
      })
  }

  /// Proves a request with a bearer token to one of the origins; passes other requests on.
  public func intercept(
    _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
  ) async throws -> StreamedResponse {
    guard let field = request.headers["Authorization"], field.lowercased().hasPrefix("bearer "),
      let url = request.absoluteURL, origins.contains(url.origin) || origins.contains(context.service(of: url))
    else { return try await next(request) }
    let token = String(field.dropFirst(7))
    let issuer = Issuer(kind: .resource, origin: url.origin)
    let response = try await next(proven(request, token, url, nonce: nonce(of: issuer), context))
    guard let renewed = await required(by: response, from: issuer) else { return response }
    // The authenticator would take the 401 for a rejected token, and spend a refresh token.
    guard request.isReplayable else {
      throw HTTPError(
        .bodyNotReplayable,
        "the server requires a DPoP nonce, which is now known, but the body can be sent only once: send it again")
    }
    let repeated = try await next(proven(request, token, url, nonce: renewed, context))
    guard await required(by: repeated, from: issuer) == nil else {
      throw HTTPError(.authenticationFailed, "the server requires another DPoP nonce each time")
    }
    return repeated
  }

  /// Keeps the nonce of a response, and returns it if the response is a refusal that requires it.
  private func required(by response: StreamedResponse, from issuer: Issuer) async -> String? {
    guard let nonce = take(response.headers, from: issuer), response.status == .unauthorized,
      response.headers[all: "WWW-Authenticate"].contains(where: { $0.contains("use_dpop_nonce") })
    else { return nil }
    // The connection can be used again if the body is read to its end.
    _ = try? await response.body.collect(upTo: Self.refusalBodyBytes)
    return nonce
  }

  private func proven(
    _ request: HTTPRequest, _ token: String, _ url: AbsoluteURL, nonce: String?, _ context: RequestContext
  ) throws -> HTTPRequest {
    var request = request
    request.headers["Authorization"] = "DPoP \(token)"
    request.headers["DPoP"] = try proof(request.method.rawValue, url, token: token, nonce: nonce, at: context.now)
    return request
  }

  /// The nonce for the next request to a server, or `nil`.
  func nonce(of issuer: Issuer) -> String? { nonces.withLock { $0[issuer] } }

  /// Keeps the nonce of a response, and returns it.
  func take(_ headers: HTTPHeaders, from issuer: Issuer) -> String? {
    // RFC 9449 §8.1; a proof is a header field, so it must not become too long.
    guard let nonce = headers["DPoP-Nonce"], 1...1024 ~= nonce.utf8.count,
      nonce.utf8.allSatisfy({ $0 == 0x21 || 0x23...0x5B ~= $0 || 0x5D...0x7E ~= $0 })
    else { return nil }
    nonces.withLock { $0[issuer] = nonce }
    return nonce
  }

  /// A proof for one request (RFC 9449 §4.2).
  func proof(
    _ method: String, _ url: AbsoluteURL, token: String? = nil, nonce: String?, at now: Date
  ) throws -> String {
    let claims = Self.claims(
      method, url, token: token, nonce: nonce, seconds: Int(now.timeIntervalSince1970), id: Base64URL.random(16))
    return try key.token(claims, type: "dpop+jwt", header: ["jwk": key.publicKey.jwk])
  }

  /// The claims of a proof; `url` loses its query and fragment.
  static func claims(
    _ method: String, _ url: AbsoluteURL, token: String?, nonce: String?, seconds: Int, id: String
  ) -> JSONValue {
    var claims: [String: JSONValue] = [
      "jti": .string(id), "htm": .string(method), "iat": .integer(seconds),
      "htu": .string("\(url.scheme)://\(url.host)\(url.port.map { ":\($0)" } ?? "")\(url.path)"),
    ]
    if let token { claims["ath"] = .string(Base64URL.encode(SHA2.sha256(Array(token.utf8)))) }
    if let nonce { claims["nonce"] = .string(nonce) }
    return .object(claims)
  }
}

extension OAuthProof: CustomStringConvertible, CustomReflectable {
  /// The algorithm of the key.
  public var description: String { "OAuthProof(\(key.algorithm))" }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
