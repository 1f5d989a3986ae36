/// Provides credentials for servers.
///
/// It is kept in ``HTTPClient/Configuration/authenticators`` under the place that it is for. However many requests are
/// refused at the same time, it is asked once for each protection space, and all of them go on with what it says. A
/// request that it makes itself, with the same client too, is sent without its credentials.
public protocol Authenticator: Sendable {
  /// The schemes that it may be asked for; Digest, Bearer and Basic by default.
  ///
  /// Of those that a server offers the strongest is chosen: Negotiate before Digest before NTLM before Bearer before
  /// Basic, and of Digest the one with the best hash.
  var schemes: [AuthenticationChallenge.Scheme] { get }

  /// The longest wait for an answer, 30 s by default; who waits for it then gets
  /// ``HTTPError/Kind/authenticationFailed``.
  ///
  /// The limits of the waiting requests hold as well, each for its own.
  var answerLimit: Duration { get }

  /// What is sent to a place before it asks; nothing by default.
  ///
  /// Called for each request until there is a credential that was accepted, so it has to be quick.
  ///
  /// - Parameter space: The place; its realm is not known yet.
  /// - Returns: A credential whose ``Credential/isSentUnasked`` is true.
  func unaskedCredential(for space: ProtectionSpace) -> Credential?

  /// Answers a challenge.
  ///
  /// It runs in a task of its own, which no waiting request cancels.
  ///
  /// - Parameter challenge: Who asks, for what, and what was refused before.
  /// - Returns: The credential, or `nil` to give up: the waiting requests then end with their 401.
  /// - Throws: Any error. The waiting requests fail with ``HTTPError/Kind/authenticationFailed`` and this underneath.
  func respond(to challenge: AuthenticationChallenge) async throws -> Credential?

  /// Forgets what it knows, because the user signs out.
  func signOut() async
}

extension Authenticator {
  public var schemes: [AuthenticationChallenge.Scheme] { [.digest, .bearer, .basic] }

  public var answerLimit: Duration { .seconds(30) }

  public func unaskedCredential(for space: ProtectionSpace) -> Credential? { nil }

  public func signOut() async {}
}
