/// Provides credentials for servers.
///
/// An authenticator is kept in ``HTTPClient/Configuration/authenticators`` under its origin pattern. When several
/// requests are challenged at the same time, it is called once for each protection space, and all of them use its
/// result. Requests that the authenticator itself sends, even with the same client, carry none of its credentials.
///
/// Implement a requirement that has a default with exactly its types and effects. The compiler accepts a `signOut()` that
/// throws, but that is another method, which is never called.
public protocol Authenticator: Sendable {
  /// The supported schemes; Digest, Bearer and Basic by default.
  ///
  /// The strongest supported scheme that a server offers is used: Negotiate before Digest before NTLM before Bearer
  /// before Basic. If there are several Digest challenges, the one with the strongest hash is used.
  var schemes: [AuthenticationScheme] { get }

  /// The longest wait for a credential; 30 s by default.
  ///
  /// Requests still waiting after it fail with ``HTTPError/Kind/authenticationFailed``. The time limits of each waiting
  /// request apply as well.
  var timeout: Duration { get }

  /// The credential to send preemptively, before a challenge; none by default.
  ///
  /// Called for each request until a credential has been accepted, so it must return quickly.
  ///
  /// - Parameter space: The protection space; its realm is not known yet.
  /// - Returns: A credential whose ``Credential/isPreemptive`` is true, or `nil`.
  func preemptiveCredential(for space: ProtectionSpace) -> Credential?

  /// Answers a challenge.
  ///
  /// Runs in a separate task, which is not cancelled with a waiting request.
  ///
  /// - Parameter challenge: The challenge, with the rejected credential if there is one.
  /// - Returns: The credential, or `nil` to give up: the waiting requests then receive their 401.
  /// - Throws: Any error. The waiting requests fail with ``HTTPError/Kind/authenticationFailed`` and this underlying
  ///   error.
  func respond(to challenge: AuthenticationChallenge) async throws -> Credential?

  /// Discards all credentials when the user signs out.
  func signOut() async
}

extension Authenticator {
  public var schemes: [AuthenticationScheme] { [.digest, .bearer, .basic] }

  public var timeout: Duration { .seconds(30) }

  public func preemptiveCredential(for space: ProtectionSpace) -> Credential? { nil }

  public func signOut() async {}
}
