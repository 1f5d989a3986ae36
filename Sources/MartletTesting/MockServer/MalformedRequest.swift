public import Foundation

/// Bytes that a ``MockServer`` could not parse as a request.
///
/// The server responds with 400 and closes the connection. It is strict where a lenient server would hide a client's
/// mistake: it rejects bare line feeds, a missing `Host`, folded fields and contradicting lengths.
public struct MalformedRequest: Sendable {
  /// The reason for the rejection.
  public let reason: String
  /// The received bytes that have not been consumed yet, up to 1 MiB.
  public let rawBytes: Data
  /// The index of the connection, from 0 in the order in which connections are accepted.
  public let connection: Int
}
