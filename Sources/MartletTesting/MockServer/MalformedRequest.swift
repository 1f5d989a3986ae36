public import Foundation

/// Bytes a ``MockServer`` could not read as a request.
///
/// The server answers them with 400 and closes the connection. It is strict where a lenient server would hide a
/// client's mistake: bare line feeds, a missing `Host`, folded fields and contradicting lengths are all refused.
public struct MalformedRequest: Sendable {
  /// What was wrong.
  public let reason: String
  /// The bytes received and not yet used, up to 1 MiB.
  public let rawBytes: Data
  /// The number of the connection, counted from 0 in the order of accepting.
  public let connection: Int
}
