package import Foundation

/// An entry of a HAR file: a request, its response, and when what happened.
///
/// HTTP Archive 1.2. Members whose names begin with an underscore are Martlet's own.
package struct HAREntry: Sendable {
  /// A body, or its beginning.
  package struct Body: Sendable, Hashable {
    package enum Content: Sendable, Hashable {
      case text(String)
      case bytes(Data)
      /// Not recorded.
      case none
      /// Bytes in a file beside the HAR file.
      case file(String)
    }

    package var mimeType: String
    package var content: Content
    /// The number of bytes of the whole body, decoded.
    package var size: Int64
    /// Whether `content` is the whole body.
    package var isWhole = true
    /// Why the content is missing or not whole.
    package var comment: String?
  }

  package struct Request: Sendable {
    package var method: String
    package var url: String
    package var httpVersion = ""
    package var headers: HTTPHeaders = [:]
    package var body: Body?
    /// The number of bytes that were sent of the body, or -1.
    package var bodySize: Int64 = -1
  }

  package struct Response: Sendable {
    /// The status; 0 without a response.
    package var status: Int
    package var statusText = ""
    package var httpVersion = ""
    package var headers: HTTPHeaders = [:]
    /// The trailer fields, if they are recorded.
    package var trailers: HTTPHeaders = [:]
    package var body: Body?
    /// The number of bytes that were received of the body, before decoding, or -1.
    package var bodySize: Int64 = -1
  }

  /// The phases, one after the other; `nil` does not apply.
  package struct Timings: Sendable, Hashable {
    package var blocked: Duration?
    package var dns: Duration?
    /// Includes `ssl`.
    package var connect: Duration?
    package var ssl: Duration?
    package var send = Duration.zero
    package var wait = Duration.zero
    package var receive = Duration.zero

    package init() {}

    /// The phases that follow each other.
    private var parts: [Duration] { [blocked, dns, connect, send, wait, receive].compactMap(\.self) }

    package var total: Duration { parts.reduce(.zero, +) }

    /// The sum of the whole microseconds of each phase, which are what is written of them.
    var writtenTotal: Duration { parts.reduce(.zero) { $0 + .microseconds($1.wholeMicroseconds) } }
  }

  package var startedAt: Date
  package var request: Request
  package var response: Response
  package var timings = Timings()
  package var remoteAddress: String?
  /// An identifier of the connection.
  package var connection: String?
  /// Why there is no response, or why its body is not complete.
  package var failure: String?
  /// The decisions about the request, in sentences.
  package var explanation: [String] = []
  /// The codes of these decisions.
  package var codes: [String] = []
  /// The number of the call, which several entries may share.
  package var call: String?
  package var attempt = 1
  package var hop = 0
  package var tag: String?
  /// Whether a stored response was used without an exchange.
  package var isFromCache = false
}
