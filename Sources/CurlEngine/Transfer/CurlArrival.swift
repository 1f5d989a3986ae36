package import MartletBase

/// A head, and on what connection it came.
struct CurlArrival {
  let head: ResponseHeadReader.Head
  let connection: CurlConnection
  let timing: CurlTiming
}

extension CurlArrival {
  init(_ head: ResponseHeadReader.Head, _ handle: CurlHandle) {
    self.init(head: head, connection: handle.connection, timing: handle.timing)
  }
}

/// What a caller gets: a response whose body is on its way.
package final class CurlAnswer: Sendable {
  package let head: ResponseHeadReader.Head
  package let connection: CurlConnection
  package let body: BodyStream
  /// Whether the body's content codings are undone.
  package let isDecoded: Bool

  init(_ arrival: CurlArrival, _ body: BodyStream, isDecoded: Bool) {
    (head, connection) = (arrival.head, arrival.connection)
    (self.body, self.isDecoded) = (body, isDecoded)
  }
}
