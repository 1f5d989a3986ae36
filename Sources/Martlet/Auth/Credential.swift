public import Foundation

/// A credential: a user name and password, a token, a domain account, or a ticket.
///
/// `description` and `dump` show nothing of it.
public struct Credential: Sendable, Hashable {
  /// In a box, because options are copied for every request and hardly ever have one.
  private indirect enum Secret: Sendable, Hashable {
    case password(user: String, String)
    case token(String, refresh: String?, expires: Date?)
    case account(user: String, password: String, domain: String, isAllowedWithoutTLS: Bool)
    case ticket(isAllowedWithoutTLS: Bool)
  }

  private let secret: Secret

  /// Whether the credential is sent preemptively, before a challenge.
  ///
  /// `false` by default for a password, which goes out only when a server has asked, and from then on at once; `true`
  /// for a token, for which hardly any server asks first.
  public var isSentUnasked: Bool

  /// A user and a password, for Basic and Digest.
  ///
  /// - Parameters:
  ///   - user: The name; for Basic one without a colon (RFC 7617 §2).
  ///   - password: The password.
  ///   - isSentUnasked: Whether Basic is sent before the server asks.
  /// - Returns: The credential.
  public static func user(_ user: String, password: String, isSentUnasked: Bool = false) -> Credential {
    Credential(secret: .password(user: user, password), isSentUnasked: isSentUnasked)
  }

  /// A token (RFC 6750).
  ///
  /// - Parameters:
  ///   - token: The token: visible ASCII without blanks.
  ///   - refreshToken: What a new one is asked for with (RFC 6749 §1.5).
  ///   - expires: When it ends. From ten seconds before that on, a new one is asked for before a request is sent.
  ///   - isSentUnasked: Whether it is sent before the server asks.
  /// - Returns: The credential.
  public static func token(
    _ token: String, refreshToken: String? = nil, expires: Date? = nil, isSentUnasked: Bool = true
  ) -> Credential {
    Credential(secret: .token(token, refresh: refreshToken, expires: expires), isSentUnasked: isSentUnasked)
  }

  /// An account of a Windows domain, for NTLM and nothing else.
  ///
  /// libcurl knows names in ASCII and passwords in ISO 8859-1 only; requests with others throw
  /// ``HTTPError/Kind/invalidRequest``, as every wrong proof may count against the account.
  ///
  /// - Parameters:
  ///   - user: The name, without the domain.
  ///   - password: The password.
  ///   - domain: The domain, or the name of the server whose account it is; may be empty.
  ///   - isAllowedWithoutTLS: Whether a server may be answered over http, where anybody on the way can use the proof
  ///     for requests of their own, and try passwords on it.
  /// - Returns: The credential.
  public static func user(
    _ user: String, password: String, domain: String, isAllowedWithoutTLS: Bool = false
  ) -> Credential {
    Credential(
      secret: .account(user: user, password: password, domain: domain, isAllowedWithoutTLS: isAllowedWithoutTLS),
      isSentUnasked: false)
  }

  /// The Kerberos ticket that the user of this process has, as from `kinit`, for Negotiate and nothing else.
  ///
  /// - Parameter isAllowedWithoutTLS: Whether a server may be answered over http, where anybody on the way can use the
  ///   connection.
  /// - Returns: The credential.
  public static func ticket(isAllowedWithoutTLS: Bool = false) -> Credential {
    Credential(secret: .ticket(isAllowedWithoutTLS: isAllowedWithoutTLS), isSentUnasked: false)
  }

  /// The user name, or `nil` for a credential without one.
  public var user: String? {
    switch secret {
    case .password(let user, _), .account(let user, _, _, _): user
    case .token, .ticket: nil
    }
  }

  /// The password, or `nil` for a credential without one.
  public var password: String? {
    switch secret {
    case .password(_, let password), .account(_, let password, _, _): password
    case .token, .ticket: nil
    }
  }

  /// The Windows domain, or `nil` for a credential without one.
  public var domain: String? { if case .account(_, _, let domain, _) = secret { domain } else { nil } }

  /// Whether the credential is a Kerberos ticket.
  public var isTicket: Bool { if case .ticket = secret { true } else { false } }

  /// Whether NTLM and Negotiate may be used with it over http.
  public var isAllowedWithoutTLS: Bool {
    switch secret {
    case .account(_, _, _, let isAllowed), .ticket(let isAllowed): isAllowed
    case .password, .token: false
    }
  }

  /// The token, or `nil` for a credential without one.
  public var token: String? { if case .token(let token, _, _) = secret { token } else { nil } }

  /// The refresh token (RFC 6749 §1.5), or `nil`.
  public var refreshToken: String? { if case .token(_, let refresh, _) = secret { refresh } else { nil } }

  /// The expiration date of the token, or `nil`.
  public var expires: Date? { if case .token(_, _, let expires) = secret { expires } else { nil } }

  var schemes: [AuthenticationChallenge.Scheme] {
    switch secret {
    case .password: [.basic, .digest]
    case .token: [.bearer]
    case .account: [.ntlm]
    case .ticket: [.negotiate]
    }
  }

  /// Whether it is a token that has ended, or is about to: a request takes its time.
  func isExpired(at now: Date) -> Bool { expires.map { $0.timeIntervalSince(now) <= 10 } ?? false }
}

extension Credential: CustomStringConvertible, CustomReflectable {
  /// The kind of the credential, without its secrets.
  public var description: String {
    switch secret {
    case .password: "a password"
    case .token: "a token"
    case .account: "an account"
    case .ticket: "a ticket"
    }
  }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
