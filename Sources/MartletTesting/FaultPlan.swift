/// How a ``MockServer`` treats one connection, apart from its responses.
///
/// A server asks ``MockServer/Options/onConnect`` for a plan for each connection that it accepts.
@nonexhaustive public enum ConnectionPlan: Sendable {
  /// Reads requests and answers them.
  case serve
  /// Closes in order (FIN) right after accepting.
  case closeAtOnce
  /// Resets (RST) right after accepting.
  case resetAtOnce
  /// Accepts and never reads; the connection ends when the client or the server ends it.
  case acceptAndStall
  /// Closes after this many responses without announcing it, like a server with an idle limit.
  case closeAfter(requests: Int)
  /// Serves, and closes in order this long after accepting, even in the middle of a response.
  case delayedClose(after: Duration)
  /// Serves, and closes in order after this long without a request.
  case closeWhenIdle(for: Duration)
  /// Serves, and receives at most this many bytes at a time, with a pause after each read.
  case slowReading(bytes: Int, every: Duration)
  /// Plays these steps before reading anything, then serves.
  ///
  /// With raw text, the server speaks out of turn.
  case greet([MockResponse.Step])
}
