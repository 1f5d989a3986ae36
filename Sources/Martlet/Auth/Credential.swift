public import MartletBase

/// A credential: a user name and password, a token, a domain account, or a ticket.
///
/// `description` and `dump` do not reveal its secrets.
public struct Credential: Sendable, Hashable {
  /// Indirect, because options are copied for every request and rarely have a credential.
  private indirect enum Secret: Sendable, Hashable {
    /// With a domain, an account in it.
    case password(user: String, String, domain: String?, isAllowedWithoutTLS: Bool)
    case token(String, refresh: String?, expires: Date?)
    case ticket(isAllowedWithoutTLS: Bool)
  }

  private let secret: Secret

  /// Whether the credential is sent preemptively, before a challenge.
  ///
  /// `false` by default for a password, which is sent only after a server's first challenge, and preemptively from then
  /// on. `true` by default for a token, because servers rarely challenge for one.
  public var isPreemptive: Bool

  /// A user name and a password, for Basic and Digest.
  ///
  /// - Parameters:
  ///   - user: The user name; for Basic, without a colon (RFC 7617 §2).
  ///   - password: The password.
  ///   - isPreemptive: Whether Basic is sent before a challenge.
  /// - Returns: The credential.
  public static func user(_ user: String, password: String, isPreemptive: Bool = false) -> Credential {
    Credential(
      secret: .password(user: user, password, domain: nil, isAllowedWithoutTLS: false), isPreemptive: isPreemptive)
  }

  /// A bearer token (RFC 6750).
  ///
  /// - Parameters:
  ///   - token: The token: visible ASCII without blanks.
  ///   - refreshToken: The refresh token (RFC 6749 §1.5).
  ///   - expires: The expiration date. From ten seconds before it, the token is refreshed before a request is sent.
  ///   - isPreemptive: Whether the token is sent before a challenge.
  /// - Returns: The credential.
  public static func token(
    _ token: String, refreshToken: String? = nil, expires: Date? = nil, isPreemptive: Bool = true
  ) -> Credential {
    Credential(secret: .token(token, refresh: refreshToken, expires: expires), isPreemptive: isPreemptive)
  }

  /// A Windows domain account, for NTLM only.
  ///
  /// libcurl supports only user names in ASCII and passwords in ISO 8859-1. Requests with others throw
  /// ``HTTPError/Kind/invalidRequest``, because every wrong proof may count against the account.
  ///
  /// - Parameters:
  ///   - user: The user name, without the domain.
  ///   - password: The password.
  ///   - domain: The domain, or the name of the server that hosts the account; may be empty.
  ///   - isAllowedWithoutTLS: Whether to authenticate to a server over http, where an attacker on the path can use the
  ///     proof for their own requests, and guess the password offline.
  /// - Returns: The credential.
  public static func user(
    _ user: String, password: String, domain: String, isAllowedWithoutTLS: Bool = false
  ) -> Credential {
    Credential(
      secret: .password(user: user, password, domain: domain, isAllowedWithoutTLS: isAllowedWithoutTLS),
      isPreemptive: false)
  }

  /// The Kerberos ticket of the process's user, as from `kinit`, for Negotiate only.
  ///
  /// - Parameter isAllowedWithoutTLS: Whether to authenticate to a server over http, where an attacker on the path can
  ///   use the connection.
  /// - Returns: The credential.
  public static func ticket(isAllowedWithoutTLS: Bool = false) -> Credential {
    Credential(secret: .ticket(isAllowedWithoutTLS: isAllowedWithoutTLS), isPreemptive: false)
  }

  /// The user name, or `nil` for a credential without one.
  public var user: String? { if case .password(let user, _, _, _) = secret { user } else { nil } }

  /// The password, or `nil` for a credential without one.
  public var password: String? { if case .password(_, let password, _, _) = secret { password } else { nil } }

  /// The Windows domain, or `nil` for a credential without one.
  public var domain: String? { if case .password(_, _, let domain, _) = secret { domain } else { nil } }

  /// Whether the credential is a Kerberos ticket.
  public var isKerberosTicket: Bool { if case .ticket = secret { true } else { false } }

  /// Whether the credential may be used for NTLM and Negotiate over http.
  public var isAllowedWithoutTLS: Bool {
    switch secret {
    case .password(_, _, _, let isAllowed), .ticket(let isAllowed): isAllowed
    case .token: false
    }
  }

  /// The token, or `nil` for a credential without one.
  public var token: String? { if case .token(let token, _, _) = secret { token } else { nil } }

  /// The refresh token (RFC 6749 §1.5), or `nil`.
  public var refreshToken: String? { if case .token(_, let refresh, _) = secret { refresh } else { nil } }

  /// The expiration date of the token, or `nil`.
  public var expires: Date? { if case .token(_, _, let expires) = secret { expires } else { nil } }

  var schemes: [AuthenticationScheme] {
    switch secret {
    case .password(_, _, nil, _): [.basic, .digest]
    case .password: [.ntlm]
    case .token: [.bearer]
    case .ticket: [.negotiate]
    }
  }

  /// Whether the token has expired or expires within 10 s, which leaves time for the request.
  func isExpired(at now: Date) -> Bool { expires.map { $0.timeIntervalSince(now) <= 10 } ?? false }
}

extension Credential: CustomStringConvertible, CustomReflectable {
  /// The kind of the credential, without its secrets.
  public var description: String {
    switch secret {
    case .password(_, _, nil, _): "a password"
    case .password: "an account"
    case .token: "a token"
    case .ticket: "a ticket"
    }
  }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
