import MartletBase

/// An authentication scheme (RFC 9110 §11.1), compared ignoring case.
public struct AuthenticationScheme: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The name in lower case.
  public let rawValue: String

  /// A user name and password in clear text (RFC 7617).
  public static let basic = AuthenticationScheme("basic")
  /// A token in clear text (RFC 6750).
  public static let bearer = AuthenticationScheme("bearer")
  /// A proof of a password that does not reveal it (RFC 7616).
  public static let digest = AuthenticationScheme("digest")
  /// NTLM (MS-NTHT), which authenticates a connection with a Windows account.
  ///
  /// A server or interceptor that receives the proof can guess the password offline. Available on Linux, with
  /// libcurl.
  public static let ntlm = AuthenticationScheme("ntlm")
  /// Negotiate (RFC 4559), which authenticates a connection with a Kerberos ticket.
  ///
  /// Available on Linux, with libcurl.
  public static let negotiate = AuthenticationScheme("negotiate")

  /// Creates a scheme from its name.
  ///
  /// - Parameter rawValue: The name, in any case.
  public init(rawValue: String) { self.rawValue = FieldSyntax.lowercased(rawValue) }

  init(_ name: String) { self.init(rawValue: name) }

  /// The name as spelled in the IANA registry of authentication schemes.
  public var description: String {
    switch self {
    case .basic: "Basic"
    case .bearer: "Bearer"
    case .digest: "Digest"
    case .negotiate: "Negotiate"
    case .ntlm: "NTLM"
    default: rawValue
    }
  }
}
