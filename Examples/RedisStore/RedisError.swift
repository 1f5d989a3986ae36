/// Why a command came to nothing.
public enum RedisError: Error, Equatable {
  /// There is no connection to be had.
  case unreachable
  /// The connection ended before the reply did.
  case lost
  /// The server did not answer in time, now or a moment ago.
  case timedOut
  /// What came is no reply, not the one that was expected, or larger than is allowed.
  case malformed
  /// The server says what is wrong.
  case refused(String)
}
