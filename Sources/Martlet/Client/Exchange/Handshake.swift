import MartletBase

/// The input of connection-based authentication (NTLM, Negotiate).
///
/// It applies to one exchange, on a new connection that is not reused.
struct Handshake: Sendable {
  let scheme: AuthenticationScheme
  let origin: Origin
  /// The user name in libcurl's format.
  ///
  /// The text before the first backslash is the domain, which may be empty.
  let user: String
  let password: String
}

extension Handshake: CustomStringConvertible, CustomReflectable {
  /// The scheme, without the account.
  var description: String { "\(scheme)" }

  /// A mirror that shows nothing, because contexts may be dumped.
  var customMirror: Mirror { Mirror(self, children: []) }
}

/// A transport that supports connection-based authentication.
protocol HandshakeTransport: Transport {
  /// The reason why a scheme is unsupported, or `nil`.
  func handshakeProblem(_ scheme: AuthenticationScheme) -> String?
}

extension AuthenticationScheme {
  /// Whether the scheme authenticates connections instead of requests.
  var bindsConnection: Bool { self == .ntlm || self == .negotiate }
}

extension Call {
  /// Prepares connection-based authentication for an authorization.
  ///
  /// Throws `unsupported` if the transport does not support it, `authenticationFailed` for http without permission, and
  /// `invalidRequest` for an account that cannot be sent.
  func handshake(for answer: Answer, to origin: Origin, _ request: HTTPRequest) throws -> Handshake {
    let (scheme, credential) = (answer.scheme, answer.credential)
    guard origin.scheme == "https" || credential.isAllowedWithoutTLS else {
      let message = "\(scheme) over http is not allowed: use https, or a credential with isAllowedWithoutTLS"
      throw HTTPError(.authenticationFailed, message, request: request)
    }
    guard let transport = settings.transport as? any HandshakeTransport else {
      let message = "this transport does not support \(scheme); on Linux, use .curl or .urlSession"
      throw HTTPError(.unsupported, message, request: request)
    }
    if let problem = transport.handshakeProblem(scheme) { throw HTTPError(.unsupported, problem, request: request) }
    let (domain, user, password) = (credential.domain ?? "", credential.user ?? "", credential.password ?? "")
    guard !(domain + user + password).utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }), !domain.contains("\\") else {
      let message = "the account contains control characters, or its domain contains a backslash"
      throw HTTPError(.invalidRequest, message, request: request)
    }
    guard scheme == .ntlm else { return Handshake(scheme: scheme, origin: origin, user: "", password: "") }
    let composed = password.composed
    // libcurl would send a wrong proof, which counts as a failed attempt and may lock the account.
    guard (domain + user).utf8.allSatisfy({ $0 < 0x80 }), composed.unicodeScalars.allSatisfy({ $0.value <= 0xFF })
    else {
      let message = "libcurl's NTLM supports only ASCII names, and only ISO 8859-1 (Western European) passwords"
      throw HTTPError(.invalidRequest, message, request: request)
    }
    return Handshake(scheme: scheme, origin: origin, user: "\(domain)\\\(user)", password: composed)
  }
}
