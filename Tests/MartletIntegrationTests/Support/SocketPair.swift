#if os(Linux)
  import Foundation
  import Testing

  /// Makes a pair of sockets that child processes inherit, as libcurl does.
  func makeSocketPair() throws -> [CInt] {
    #if canImport(Glibc)
      let stream = CInt(SOCK_STREAM.rawValue)
    #else
      let stream = SOCK_STREAM
    #endif
    var pair: [CInt] = [-1, -1]
    try #require(socketpair(AF_UNIX, stream, 0, &pair) == 0)
    return pair
  }
#endif
