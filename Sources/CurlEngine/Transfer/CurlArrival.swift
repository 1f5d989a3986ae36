package import MartletBase

/// A head, and on what connection it came.
struct CurlArrival {
  let head: ResponseHeadReader.Head
  let connection: CurlConnection
  let timing: CurlTiming

  init(_ head: ResponseHeadReader.Head, _ handle: CurlHandle) {
    (self.head, connection, timing) = (head, handle.connection, handle.timing)
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
