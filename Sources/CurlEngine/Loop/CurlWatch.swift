/// A socket: the events registered with the system, and those that libcurl wants.
struct CurlWatch {
  /// A bit of ``registered`` for a socket whose write events are paused.
  static let pausedWrites: CInt = 8

  var registered: CInt = 0
  var wanted: CInt = 0
  /// Whether its closing is reported to ``CurlLoop/closed(_:)``.
  ///
  /// It may then stay in the poll set while it is idle.
  var isConnection = false
  /// The last handle that wanted events of the socket.
  var easy: UnsafeMutableRawPointer?
}
