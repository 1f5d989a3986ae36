/// The reason why a command failed.
public enum RedisError: Error, Equatable {
  /// The connection could not be established.
  case unreachable
  /// The connection ended before the reply was complete.
  case lost
  /// The server did not reply in time, now or recently.
  case timedOut
  /// The reply is malformed, unexpected or too large.
  case malformed
  /// The server returned an error with this message.
  case refused(String)
}
