import MartletBase
import Foundation

/// What is asked of a server next.
struct DownloadWork: Sendable, Equatable {
  /// The first byte wanted.
  var start: Int64 = 0
  /// The byte after the last one wanted; `nil` for all that come.
  var end: Int64?
  var isRange = false
  /// The version that the part must be of; `nil` if there is none to hold on to yet.
  var validator: String?

  /// The request for it (RFC 9110 §14.2, §13.1.5).
  func request(from request: HTTPRequest) -> HTTPRequest {
    var request = request
    // A part of a coded file is of no use.
    if !request.headers.contains("Accept-Encoding") { request.headers["Accept-Encoding"] = "identity" }
    guard isRange else { return request }
    request.headers["Range"] = "bytes=\(start)-\(end.map { String($0 - 1) } ?? "")"
    request.headers["If-Range"] = validator
    return request
  }
}

/// What a response is to a download: a pure function of what was asked and what came.
enum DownloadRules {
  enum Verdict: Equatable {
    /// The body is the whole file.
    case whole(length: Int64?)
    /// The body is a part, of a file of that size if it is known.
    case part(Range<Int64>, size: Int64?)
    /// All bytes are there already: the file has this size.
    case complete(Int64)
    /// The bytes that are there, or this answer, are of no use; the text says why.
    case restart(String)
    /// Not an answer for a file.
    case other
    /// The server contradicts itself.
    case violation(String)
  }

  /// Judges the head of a response.
  static func judge(
    _ status: HTTPStatus, _ headers: HTTPHeaders, asked: DownloadWork, record: PartRecord
  ) -> Verdict {
    switch status.rawValue {
    case 206: return judgePart(headers, asked, record)
    case 204, 205: return .whole(length: 0)
    case 200...299: return .whole(length: headers.contentLength)
    case 416 where asked.isRange:
      // Of a file of unknown size everything was there.
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
      let tag = headers["ETag"].map { String(FieldSyntax.trimmed($0)) }
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
