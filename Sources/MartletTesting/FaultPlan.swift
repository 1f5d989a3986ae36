/// What a ``MockServer`` does with one connection, apart from its answers.
///
/// A server asks ``MockServer/Options/onConnect`` for a plan each time it accepts.
public enum ConnectionPlan: Sendable {
  /// Reads requests and answers them.
  case serve
  /// Closes in order (FIN) right after accepting.
  case closeAtOnce
  /// Resets (RST) right after accepting.
  case resetAtOnce
  /// Accepts and never reads; the connection ends when the client or the server ends it.
  case acceptAndStall
  /// Closes without announcing it after this many answers, as a server does with a connection that was idle too long.
  case closeAfter(requests: Int)
  /// Serves, and closes in order this long after accepting, even in the middle of an answer.
  case delayedClose(after: Duration)
  /// Serves, and closes in order once the connection has been without a request for this long.
  case closeWhenIdle(for: Duration)
  /// Serves, and receives at most so many bytes at a time with a pause after each.
  case slowReading(bytes: Int, every: Duration)
  /// Plays these steps before anything is read, and then serves.
  ///
  /// With a raw text this is a server that speaks out of turn.
  case greet([MockResponse.Step])
}
