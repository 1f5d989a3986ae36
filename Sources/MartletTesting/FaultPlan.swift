/// How a ``MockServer`` treats one connection, apart from its responses.
///
/// A server calls ``MockServer/Options/onConnect`` for each connection that it accepts.
@nonexhaustive public enum ConnectionPlan: Sendable {
  /// Reads requests and responds to them.
  case serve
  /// Closes gracefully (FIN) right after accepting.
  case closeAtOnce
  /// Resets (RST) right after accepting.
  case resetAtOnce
  /// Accepts and never reads; the connection ends when the client or the server ends it.
  case acceptAndStall
  /// Closes after this many responses without announcing it.
  ///
  /// Servers with an idle limit behave like that.
  case closeAfter(requests: Int)
  /// Serves, and closes gracefully this long after accepting.
  ///
  /// It closes even in the middle of a response.
  case delayedClose(after: Duration)
  /// Serves, and closes gracefully after this long without a request.
  case closeWhenIdle(for: Duration)
  /// Serves, and reads slowly.
  ///
  /// It receives at most this many bytes at a time, with a pause after each read.
  case slowReading(bytes: Int, every: Duration)
  /// Plays these steps before reading anything, then serves.
  ///
  /// With raw text, the server speaks out of turn.
  case greet([MockResponse.Step])
}
