public import Martlet
import MartletBase

/// A client of an authorization server: it obtains and refreshes tokens (RFC 6749, with the practices of RFC 9700).
///
/// ```swift
/// let oauth = OAuthClient(
///   at: .init(tokenEndpoint: "https://id.example.com/token"), clientID: "reports", authentication: .secretBasic(secret))
/// let client = HTTPClient {
///   $0.baseURL = "https://api.example.com"
///   $0.authenticators[.baseURL] = .oauth(oauth, .clientCredentials(scope: "read"))
/// }
/// ```
///
/// Endpoints must be https URLs; http is for loopback addresses. Wrong settings make every request throw `HTTPError` of
/// kind `invalidRequest`. Redirects are not followed. `description` and `dump` do not reveal secrets.
public struct OAuthClient: Sendable {
  /// The endpoints of an authorization server.
  public struct Server: Sendable, Hashable {
    /// The issuer identifier (RFC 8414 §2), such as `https://id.example.com`; `nil` if it is unknown.
    ///
    /// With it, the `iss` of an authorization response is verified (RFC 9207). It is the usual audience of assertions.
    public var issuer: String?
    /// The URL that issues tokens.
    public var tokenEndpoint: String
    /// The URL to which a browser is sent, for authorization codes.
    public var authorizationEndpoint: String?
    /// The URL that issues device codes.
    public var deviceEndpoint: String?
    /// Whether authorization responses without `iss` are refused; `false` by default.
    ///
    /// Set it if the server's metadata contain `authorization_response_iss_parameter_supported` (RFC 9207 §2.3).
    public var requiresIssuer = false

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier.
    ///   - tokenEndpoint: The URL that issues tokens.
    ///   - authorizationEndpoint: The URL to which a browser is sent.
    ///   - deviceEndpoint: The URL that issues device codes.
    public init(
      issuer: String? = nil, tokenEndpoint: String, authorizationEndpoint: String? = nil, deviceEndpoint: String? = nil
    ) {
      self.issuer = issuer
      self.tokenEndpoint = tokenEndpoint
      self.authorizationEndpoint = authorizationEndpoint
      self.deviceEndpoint = deviceEndpoint
    }
  }

  /// How the client authenticates to the server.
  public struct Authentication: Sendable {
    enum Method: Sendable {
      case none
      case basic(String)
      case post(String)
      case assertion(OAuthKey, audience: String?)
    }

    let method: Method

    /// Only the client's identifier, for programs that cannot keep a secret.
    public static let none = Authentication(method: .none)

    /// A secret in the `Authorization` field, `client_secret_basic` (RFC 6749 §2.3.1).
    ///
    /// - Parameter secret: The secret.
    /// - Returns: The authentication.
    public static func secretBasic(_ secret: String) -> Authentication { Authentication(method: .basic(secret)) }

    /// A secret in the body, `client_secret_post` (RFC 6749 §2.3.1), for servers that lack `client_secret_basic`.
    ///
    /// - Parameter secret: The secret.
    /// - Returns: The authentication.
    public static func secretPost(_ secret: String) -> Authentication { Authentication(method: .post(secret)) }

    /// An assertion that a key signs for each request, `private_key_jwt` (RFC 7523).
    ///
    /// - Parameters:
    ///   - key: The key, whose public half the server knows.
    ///   - audience: The assertion's audience; by default the server's issuer if it is set, otherwise its token
    ///     endpoint. Some servers with an issuer require the token endpoint.
    /// - Returns: The authentication.
    public static func privateKey(_ key: OAuthKey, audience: String? = nil) -> Authentication {
      Authentication(method: .assertion(key, audience: audience))
    }
  }

  /// The server's endpoints.
  public let server: Server
  /// The client's identifier at the server.
  public let clientID: String
  /// The key for which tokens are requested, or `nil` for bearer tokens.
  public let dpop: OAuthProof?

  let authentication: Authentication
  let client: HTTPClient

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - server: The server's endpoints.
  ///   - clientID: The client's identifier at the server.
  ///   - authentication: How the client authenticates; only with its identifier by default.
  ///   - dpop: The key to which the server binds the tokens (RFC 9449); `nil` for bearer tokens.
  ///   - client: Sends the requests, without its authenticators and its secret default fields, such as `Authorization`
  ///     or `X-Api-Key`; `crossOriginHeaders` allows others. Its middleware, limits, TLS settings and masks apply.
  public init(
    at server: Server, clientID: String, authentication: Authentication = .none, dpop: OAuthProof? = nil,
    through client: HTTPClient = HTTPClient()
  ) {
    self.server = server
    self.clientID = clientID
    self.authentication = authentication
    self.dpop = dpop
    self.client = client.derived {
      $0.authenticators = HTTPClient.Configuration().authenticators
      $0.options.credential = nil
      $0.removeSecretHeaders()
    }
  }

  /// Requests a token for the client itself (RFC 6749 §4.4).
  ///
  /// - Parameters:
  ///   - scope: The scopes, separated by spaces; `nil` for the server's default.
  ///   - parameters: Further parameters of the request, such as `resource` (RFC 8707) or `audience`.
  /// - Returns: The token, without a refresh token: request another one when it expires.
  /// - Throws: `HTTPError`: `authenticationFailed` with an ``OAuthError`` if the server refuses; `decoding` if its
  ///   response is malformed; and the errors of any request. `CancellationError`.
  public func clientCredentials(scope: String? = nil, parameters: Query = [:]) async throws -> OAuthToken {
    if case .none = authentication.method {
      throw HTTPError(.invalidRequest, "client credentials need an authentication other than .none")
    }
    return try await token([("grant_type", "client_credentials"), ("scope", scope)], parameters)
  }

  /// Requests a new token with a refresh token (RFC 6749 §6).
  ///
  /// If the response contains a new refresh token, the old one is probably invalid: store the new one before you use the
  /// access token. `.oauth(_:_:refreshLimit:)` does that, and refreshes once for many requests.
  ///
  /// - Parameters:
  ///   - token: The token with its refresh token.
  ///   - scope: Fewer scopes than were granted; `nil` for the same.
  /// - Returns: The new token. It contains the old refresh token unless the server sent another one.
  /// - Throws: The errors of ``clientCredentials(scope:parameters:)``.
  public func refresh(_ token: OAuthToken, scope: String? = nil) async throws -> OAuthToken {
    guard let refreshToken = token.refreshToken, !refreshToken.isEmpty else {
      throw HTTPError(.invalidRequest, "the token has no refresh token: sign in again")
    }
    var new = try await self.token(
      [("grant_type", "refresh_token"), ("refresh_token", refreshToken), ("scope", scope)], [:])
    new.refreshToken = new.refreshToken ?? refreshToken
    new.scope = new.scope ?? scope ?? token.scope
    new.idToken = new.idToken ?? token.idToken
    return new
  }

  /// Sends a request to the token endpoint.
  func token(_ parameters: [(String, String?)], _ others: Query) async throws -> OAuthToken {
    let response = try await post(parameters, others, to: try endpoint(server.tokenEndpoint, "tokenEndpoint"))
    return try response.token(isProven: dpop != nil, at: client.configuration.now())
  }
}

extension OAuthClient: CustomStringConvertible, CustomReflectable {
  /// The client's identifier, without secrets.
  public var description: String { "OAuthClient(\(Printable.text(clientID)))" }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension OAuthClient.Authentication: CustomStringConvertible, CustomReflectable {
  /// The method, as in the registry of RFC 8414.
  public var description: String {
    switch method {
    case .none: "none"
    case .basic: "client_secret_basic"
    case .post: "client_secret_post"
    case .assertion: "private_key_jwt"
    }
  }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
