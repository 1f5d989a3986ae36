import MartletBase

/// The version of a representation, as header fields identify it (RFC 9110 §8.8).
struct RepresentationVersion: Sendable, Equatable {
  /// The entity tag, strong or weak.
  var entityTag: String?
  var lastModified: String?
  /// The number of bytes of the whole representation, if it is known.
  var size: Int64?
  /// The content codings in lower case, joined by commas; empty without a coding.
  var coding = ""
  /// The SHA-256 of the whole encoded representation (RFC 9530 §3), in hexadecimal digits.
  var digest: String?
}

extension RepresentationVersion {
  init(_ headers: HTTPHeaders, size: Int64?) {
    entityTag = Validators.tag(headers)
    lastModified = Validators.date(headers)
    self.size = size
    coding = Self.coding(headers)
    digest = DigestField.sha256(headers[all: "Repr-Digest"])
  }

  static func coding(_ headers: HTTPHeaders) -> String {
    headers.values(of: "Content-Encoding").map { FieldSyntax.lowercased($0) }.filter { $0 != "identity" }
      .joined(separator: ",")
  }
}

/// Decides whether ranges of a representation may be combined (RFC 9110 §15.3.7.3, RFC 9111 §3.4).
///
/// A pure function of the header fields, for everything that joins bytes of several responses.
enum RangeRules {
  /// The evidence that two responses have bytes of the same version.
  enum Evidence: Sendable, CaseIterable {
    /// The same strong entity tag and the same size in both responses (RFC 9111 §3.4).
    case tagAndSize
    /// The validator that was sent in `If-Range`.
    ///
    /// A strong entity tag must be repeated (RFC 9110 §15.3.7). A date need not be: then both sizes must be known and
    /// equal, and no field may contradict.
    case condition
    /// The same validator and the same size, both repeated: the URL of the bytes was another one.
    case repetition
  }

  enum Verdict: Sendable, Equatable {
    case range(Range<Int64>, size: Int64?)
    case mismatch(String)
  }

  /// The range of a 206 response, if it is the requested one and belongs to the version.
  ///
  /// Without a version, the range is the first one. It must have no content coding, because it could not be decoded.
  static func judge(
    _ headers: HTTPHeaders, from start: Int64, to end: Int64? = nil, of version: RepresentationVersion?,
    by evidence: Evidence
  ) -> Verdict {
    guard let content = headers.contentRange, let bytes = content.range else {
      return .mismatch("the 206 response has no valid Content-Range")
    }
    guard bytes.lowerBound == start else {
      return .mismatch("the range begins at \(bytes.lowerBound); the request was for \(start)")
    }
    if let end, bytes.upperBound >= end {
      return .mismatch("the range ends at \(bytes.upperBound); the request was for \(end - 1)")
    }
    if let length = headers.contentLength, length != content.length {
      return .mismatch(
        "the range has \(content.length) bytes according to Content-Range, but \(length) according to Content-Length")
    }
    if let size = version?.size, bytes.upperBound >= size {
      return .mismatch("the range ends at \(bytes.upperBound), beyond the \(size) bytes of the file")
    }
    let new = RepresentationVersion(headers, size: content.size)
    if let version {
      if let difference = difference(of: new, from: version, by: evidence) { return .mismatch(difference) }
    } else if !new.coding.isEmpty {
      return .mismatch("the range has the content coding \(InvalidInput.printable(new.coding))")
    }
    return .range(bytes.lowerBound..<(bytes.upperBound + 1), size: content.size)
  }

  /// The reason why two responses may not be combined; `nil` if they have bytes of the same version.
  static func difference(
    of new: RepresentationVersion, from known: RepresentationVersion, by evidence: Evidence
  ) -> String? {
    guard new.coding == known.coding else { return "the content coding has changed" }
    if let size = new.size, let old = known.size, size != old {
      return "the file now has \(size) bytes instead of \(old)"
    }
    if let digest = new.digest, let old = known.digest {
      guard digest == old else { return "the digest has changed" }
      // A digest identifies the bytes better than any validator.
      if evidence != .tagAndSize { return nil }
    }
    let haveSameSize = new.size != nil && new.size == known.size
    if let tag = known.entityTag, EntityTag.isStrong(tag) {
      guard let repeated = new.entityTag else { return "the ETag is missing" }
      guard EntityTag.isIdentical(repeated, tag) else { return "the ETag has changed" }
      switch evidence {
      case .condition: return nil
      case .tagAndSize: return new.size == known.size ? nil : "the size is missing"
      case .repetition: return haveSameSize ? nil : "the size is missing"
      }
    }
    guard evidence != .tagAndSize, let date = known.lastModified else { return "there is no strong validator" }
    if let repeated = new.lastModified {
      guard isSame(repeated, date) else { return "Last-Modified has changed" }
      if let tag = new.entityTag, let old = known.entityTag, !EntityTag.isSame(tag, old) {
        return "the ETag has changed"
      }
      return evidence == .condition || haveSameSize ? nil : "the size is missing"
    }
    guard evidence == .condition else { return "Last-Modified is missing" }
    guard haveSameSize else { return "Last-Modified and the size are missing" }
    if let tag = new.entityTag, !EntityTag.isSame(tag, known.entityTag ?? "") { return "the ETag has changed" }
    return nil
  }

  /// Whether fields of both responses show different versions; absent fields show nothing.
  static func contradicts(_ new: RepresentationVersion, _ known: RepresentationVersion) -> Bool {
    func differs<Value>(
      _ field: KeyPath<RepresentationVersion, Value?>, _ isSame: (_ new: Value, _ known: Value) -> Bool
    ) -> Bool {
      guard let new = new[keyPath: field], let known = known[keyPath: field] else { return false }
      return !isSame(new, known)
    }
    let differsInCoding = !new.coding.isEmpty && !known.coding.isEmpty && new.coding != known.coding
    return differsInCoding || differs(\.size, ==) || differs(\.digest, ==) || differs(\.lastModified, isSame)
      || differs(\.entityTag, EntityTag.identifies)
  }

  private static func isSame(_ left: String, _ right: String) -> Bool {
    left == right || HTTPDate(left).map { $0 == HTTPDate(right) } ?? false
  }
}
