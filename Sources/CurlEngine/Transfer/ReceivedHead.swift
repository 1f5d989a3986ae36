package import MartletBase

/// A response head, and the connection on which it arrived.
struct ReceivedHead {
  let head: ResponseHeadReader.Head
  let connection: CurlConnection
  let timing: CurlTiming
}

/// A response in the form that the caller receives, while its body is still arriving.
package final class CurlResponse: Sendable {
  package let status: Int
  package let reason: String?
  package let version: String
  package let fields: ReceivedFields
  package let body: BodyStream
  package let connection: CurlConnection
  package let isDecoded: Bool
  /// Sends bytes over the upgraded connection; `nil` for other responses.
  package let writer: CurlUpload?

  init(_ arrival: ReceivedHead, _ body: BodyStream, isDecoded: Bool, writer: CurlUpload?) {
    (status, reason) = (arrival.head.status, arrival.head.reason)
    (version, fields) = (arrival.head.version, arrival.head.fields)
    (self.body, connection, self.isDecoded, self.writer) = (body, arrival.connection, isDecoded, writer)
  }
}
