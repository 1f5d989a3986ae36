#if os(Linux)
  /// A head, and on what connection it came.
  final class CurlArrival {
    let head: ResponseHeadReader.Head
    let connection: ConnectionInfo
    let timing: RequestTiming

    init(_ head: ResponseHeadReader.Head, _ handle: CurlHandle) {
      (self.head, connection, timing) = (head, handle.connection, handle.timing)
    }
  }
#endif
