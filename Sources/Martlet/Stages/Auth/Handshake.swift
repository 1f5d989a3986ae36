import MartletBase
import Foundation

/// What a transport needs in order to prove who the client is to the end of a connection (NTLM, Negotiate).
///
/// It is for one exchange, on a connection that nothing has used before and nothing uses after.
final class Handshake: Sendable {
  let scheme: AuthenticationChallenge.Scheme
  let origin: Origin
  /// The user as libcurl takes it: what stands before the first backslash is the domain, also if that is nothing.
  let user: String
  let password: String

  init(scheme: AuthenticationChallenge.Scheme, origin: Origin, user: String, password: String) {
    self.scheme = scheme
    self.origin = origin
    self.user = user
    self.password = password
  }
}

extension Handshake: CustomStringConvertible, CustomReflectable {
  /// The scheme, and nothing of the account.
  var description: String { "\(scheme)" }

  /// A mirror that shows nothing: a context with it may be dumped.
  var customMirror: Mirror { Mirror(self, children: []) }
}

/// A transport that does such handshakes.
protocol HandshakeTransport: Transport {
  /// Why it cannot do one, or `nil`.
  func handshakeProblem(_ scheme: AuthenticationChallenge.Scheme) -> String?
}

extension AuthenticationChallenge.Scheme {
  /// Whether what it proves holds for a connection and not for a request.
  var bindsConnection: Bool { self == .ntlm || self == .negotiate }
}

extension Call {
  /// Prepares the handshake for an answer; throws `unsupported` if the transport cannot do it, `authenticationFailed`
  /// if it would have to be done in the open, `invalidRequest` for an account that cannot be sent.
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
      let message = "the account has control characters, or its domain a backslash"
      throw HTTPError(.invalidRequest, message, request: request)
    }
    guard scheme == .ntlm else { return Handshake(scheme: scheme, origin: origin, user: "", password: "") }
    let composed = password.precomposedStringWithCanonicalMapping
    // A proof that cannot be right would count as a wrong password, and some of those lock the account.
    guard (domain + user).utf8.allSatisfy({ $0 < 0x80 }), composed.unicodeScalars.allSatisfy({ $0.value <= 0xFF })
    else {
      let message = "libcurl's NTLM takes names in ASCII only, and passwords in ISO 8859-1 (Western Europe)"
      throw HTTPError(.invalidRequest, message, request: request)
    }
    return Handshake(scheme: scheme, origin: origin, user: "\(domain)\\\(user)", password: composed)
  }
}
