/// A socket as the system's set knows it, and as libcurl wants it.
struct CurlWatch {
  var registered: CInt = 0
  var wanted: CInt = 0
  /// Whether its end will be told to ``CurlLoop/closed(_:)``; then it may stay in the set while it is idle.
  var isConnection = false
  /// The last handle that wanted something of it.
  var easy: UnsafeMutableRawPointer?
}
