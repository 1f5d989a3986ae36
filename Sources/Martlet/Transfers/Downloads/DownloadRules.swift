import MartletBase

/// The next request of a download.
struct DownloadWork: Sendable, Equatable {
  var start: Int64 = 0
  /// The byte after the last requested one, or `nil` for the rest of the file.
  var end: Int64?
  var isRange = false
  /// The validator of the version that the part must belong to, or `nil` if there is none yet.
  var validator: String?

  /// The header fields of the request for this work (RFC 9110 §14.2, §13.1.5).
  func headers(from headers: HTTPHeaders) -> HTTPHeaders {
    var headers = headers
    // A part of an encoded file is useless.
    if !headers.contains("Accept-Encoding") { headers["Accept-Encoding"] = "identity" }
    guard isRange else { return headers }
    headers["Range"] = "bytes=\(start)-\(end.map { String($0 - 1) } ?? "")"
    headers[wire: "If-Range"] = validator
    return headers
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

  /// Judges a response to a request for `asked`.
  ///
  /// A checksum of the caller shows whether bytes from another URL or another server of a cluster belong to the file.
  /// Their validator and size then need no repetition. `server` is the server that has responded.
  static func judge(
    _ status: HTTPStatus, _ headers: HTTPHeaders, asked: DownloadWork, record: PartRecord, hasChecksum: Bool = false,
    server: String? = nil
  ) -> Verdict {
    let isFromOther = record.isFromOtherURL == true || record.server != server
    let evidence: RangeRules.Evidence = isFromOther && !hasChecksum ? .repetition : .condition
    switch status.rawValue {
    case 206:
      guard asked.isRange else { return .violation("unexpected 206 Partial Content: no range was requested") }
      let version = asked.validator == nil ? nil : record.knownVersion
      switch RangeRules.judge(headers, from: asked.start, to: asked.end, of: version, by: evidence) {
      case .range(let range, let size): return .part(range, size: size)
      case .mismatch(let reason): return .restart(reason)
      }
    case 204, 205: return .whole(length: 0)
    case 200...299: return .whole(length: headers.contentLength)
    case 416 where asked.isRange:
      return isComplete(headers, asked, record, evidence)
        ? .complete(asked.start) : .restart("the server does not have the range")
    default: return .other
    }
  }

  /// Whether a response without the requested range is of another version of the file.
  ///
  /// No bytes depend on this, so a date without a size is enough.
  static func isOfOtherVersion(_ status: HTTPStatus, _ headers: HTTPHeaders, record: PartRecord) -> Bool {
    let size = status == .ok ? headers.contentLength : headers["Content-Range"].flatMap { ContentRange($0)?.size }
    let version = RepresentationVersion(headers, size: size)
    return RangeRules.difference(of: version, from: record.knownVersion, by: .condition) != nil
  }

  /// Whether a 416 shows that all bytes of a file of unknown size exist already.
  ///
  /// A server that ignores `If-Range` may mean another version, so the validator must be repeated.
  private static func isComplete(
    _ headers: HTTPHeaders, _ asked: DownloadWork, _ record: PartRecord, _ evidence: RangeRules.Evidence
  ) -> Bool {
    guard asked.end == nil, asked.validator != nil,
      headers["Content-Range"].flatMap({ ContentRange($0) })?.size == asked.start
    else { return false }
    // The other fields describe the text of the error.
    let version = RepresentationVersion(
      entityTag: Validators.tag(headers), lastModified: Validators.date(headers), size: asked.start,
      coding: record.coding ?? "")
    return RangeRules.difference(of: version, from: record.knownVersion, by: evidence) == nil
  }
}
