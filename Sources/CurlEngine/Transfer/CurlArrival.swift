package import MartletBase

/// A response head, and the connection on which it arrived.
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

/// A response whose body is on its way, as the caller gets it.
package final class CurlAnswer: Sendable {
  package let head: ResponseHeadReader.Head
  package let connection: CurlConnection
  package let body: BodyStream
  package let isDecoded: Bool

  init(_ arrival: CurlArrival, _ body: BodyStream, isDecoded: Bool) {
    (head, connection) = (arrival.head, arrival.connection)
    (self.body, self.isDecoded) = (body, isDecoded)
  }
}
