import MartletBase
import Foundation

/// The next request of a download.
struct DownloadWork: Sendable, Equatable {
  var start: Int64 = 0
  /// The byte after the last requested one, or `nil` for the rest of the file.
  var end: Int64?
  var isRange = false
  /// The validator of the version that the part must belong to, or `nil` if there is none yet.
  var validator: String?

  /// The request for this work (RFC 9110 §14.2, §13.1.5).
  func request(from request: HTTPRequest) -> HTTPRequest {
    var request = request
    // A part of an encoded file is useless.
    if !request.headers.contains("Accept-Encoding") { request.headers["Accept-Encoding"] = "identity" }
    guard isRange else { return request }
    request.headers["Range"] = "bytes=\(start)-\(end.map { String($0 - 1) } ?? "")"
    request.headers[wire: "If-Range"] = validator
    return request
  }
}

/// Decides what a response means for a download, from the request and the head alone.
enum DownloadRules {
  enum Verdict: Equatable {
    /// The body is the whole file.
    case whole(length: Int64?)
    /// The body is a part of a file, whose size may be known.
    case part(Range<Int64>, size: Int64?)
    /// All bytes exist already; the file has this size.
    case complete(Int64)
    /// The existing bytes, or this response, are unusable, for the given reason.
    case restart(String)
    /// The response is not for the file.
    case other
    /// The server contradicts itself.
    case violation(String)
  }

  static func judge(
    _ status: HTTPStatus, _ headers: HTTPHeaders, asked: DownloadWork, record: PartRecord
  ) -> Verdict {
    switch status.rawValue {
    case 206: return judgePart(headers, asked, record)
    case 204, 205: return .whole(length: 0)
    case 200...299: return .whole(length: headers.contentLength)
    case 416 where asked.isRange:
      // All bytes of a file of unknown size exist already.
      let range = headers["Content-Range"].flatMap { ContentRange($0) }
      if asked.end == nil, asked.validator != nil, let size = range?.size, size == asked.start {
        return .complete(size)
      }
      return .restart("the server has no such range")
    default: return .other
    }
  }

  private static func judgePart(_ headers: HTTPHeaders, _ asked: DownloadWork, _ record: PartRecord) -> Verdict {
    guard asked.isRange else { return .violation("a part (206) came, and none was asked for") }
    let fields = headers[all: "Content-Range"]
    guard fields.count == 1, let content = ContentRange(fields[0]), let bytes = content.range else {
      return .restart("a part (206) came without a Content-Range that says which one")
    }
    guard bytes.lowerBound == asked.start else {
      return .restart("the part begins at \(bytes.lowerBound), and \(asked.start) was asked for")
    }
    if let end = asked.end, bytes.upperBound >= end {
      return .restart("the part ends at \(bytes.upperBound), and \(end - 1) was asked for")
    }
    if let length = headers.contentLength, length != content.length {
      return .restart("the part has \(content.length) bytes by its Content-Range, and \(length) by its Content-Length")
    }
    if asked.validator != nil {
      if let size = content.size, let length = record.length, size != length {
        return .restart("the file has \(size) bytes now, and had \(length)")
      }
      let tag = headers[wire: "ETag"].map { String(FieldSyntax.trimmed($0)) }
      if let tag, let known = record.entityTag, tag != known { return .restart("the file has changed") }
      if record.entityTag == nil, let known = record.lastModified,
        let date = headers["Last-Modified"].map({ String(FieldSyntax.trimmed($0)) }), date != known
      {
        return .restart("the file has changed")
      }
    }
    return .part(bytes.lowerBound..<(bytes.upperBound + 1), size: content.size)
  }
}
