import Testing

@testable import Martlet

/// RFC 9110 §15.3.7.3 and RFC 9111 §3.4 as a table.
@Suite struct RangeRulesTests {
  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let later = "Sun, 06 Nov 1994 08:49:38 GMT"
  private static let digest = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
  private static let otherDigest = "AAAAQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

  /// A version with 100 of 200 bytes present.
  private static func version(
    _ tag: String? = nil, date: String? = nil, size: Int64? = 200, coding: String = "", digest: String? = nil
  ) -> RepresentationVersion {
    RepresentationVersion(
      entityTag: tag, lastModified: date, size: size, coding: coding,
      digest: digest.flatMap { DigestField.sha256(["sha-256=:\($0):"]) })
  }

  struct Row: Sendable {
    var range: String
    var fields: HTTPHeaders
    var version: RepresentationVersion
    /// The kinds of evidence that suffice: `T` for ``RangeRules/Evidence/tagAndSize``, `C` for `condition`, `R` for
    /// `repetition`.
    var enough: String

    init(_ range: String, _ fields: HTTPHeaders, _ version: RepresentationVersion, _ enough: String) {
      (self.range, self.fields, self.version, self.enough) = (range, fields, version, enough)
    }
  }

  private static let whole = "bytes 100-199/200"
  private static let strong = version("\"a\"")

  static let rows: [Row] = [
    // A strong tag is known; the response's tag is equal, absent, different, weak or malformed.
    Row(whole, ["ETag": "\"a\""], strong, "TCR"),
    Row(whole, [:], strong, ""),
    Row(whole, ["ETag": "\"b\""], strong, ""),
    Row(whole, ["ETag": "W/\"a\""], strong, ""),
    Row(whole, ["ETag": "a"], strong, ""),
    Row(whole, ["ETag": "\"A\""], strong, ""),
    Row(whole, ["ETag": " \"a\" "], strong, "TCR"),
    Row(whole, HTTPHeaders([.init(name: "ETag", value: "\"a\""), .init(name: "ETag", value: "\"b\"")]), strong, ""),
    Row(whole, HTTPHeaders([.init(name: "ETag", value: "\"a\""), .init(name: "ETag", value: "\"a\"")]), strong, "TCR"),
    // A strong tag is known; dates are ignored beside it.
    Row(whole, ["ETag": "\"a\"", "Last-Modified": later], version("\"a\"", date: date), "TCR"),
    Row(whole, ["Last-Modified": date], version("\"a\"", date: date), ""),
    Row(whole, ["Last-Modified": later], version("\"a\"", date: date), ""),
    Row(whole, ["Last-Modified": date], version("\"a\""), ""),
    // No strong tag is known.
    Row(whole, [:], version(), ""),
    Row(whole, ["ETag": "\"a\""], version(), ""),
    Row(whole, ["ETag": "W/\"a\""], version("W/\"a\""), ""),
    Row(whole, ["ETag": "a"], version("a"), ""),
    Row(whole, ["ETag": "\"a b\""], version("\"a b\""), ""),
    Row(whole, ["ETag": "\"a\"b\""], version("\"a\"b\""), ""),
    Row(whole, ["ETag": ""], version(""), ""),
    // A date is known; the response's date is equal, absent, later, in another format or invalid.
    Row(whole, ["Last-Modified": date], version(date: date), "CR"),
    Row(whole, [:], version(date: date), "C"),
    Row(whole, ["Last-Modified": later], version(date: date), ""),
    Row(whole, ["Last-Modified": "Sunday, 06-Nov-94 08:49:37 GMT"], version(date: date), "CR"),
    Row(whole, ["Last-Modified": "x"], version(date: date), "C"),
    // A date is known; the response has tags.
    Row(whole, ["ETag": "\"a\""], version(date: date), ""),
    Row(whole, ["ETag": "\"a\"", "Last-Modified": date], version(date: date), "CR"),
    Row(whole, ["ETag": "W/\"a\""], version("W/\"a\"", date: date), "C"),
    Row(whole, ["ETag": "W/\"b\""], version("W/\"a\"", date: date), ""),
    Row(whole, ["ETag": "W/\"b\"", "Last-Modified": date], version("W/\"a\"", date: date), ""),
    Row(whole, ["ETag": "\"a\"", "Last-Modified": date], version("W/\"a\"", date: date), "CR"),
    Row(whole, ["Last-Modified": date], version("W/\"a\"", date: date), "CR"),
    Row(whole, [:], version("W/\"a\"", date: date), "C"),
    // The sizes differ, or one or both are unknown.
    Row("bytes 100-199/201", ["ETag": "\"a\""], strong, ""),
    Row("bytes 100-199/300", ["ETag": "\"a\""], strong, ""),
    Row("bytes 100-149/150", ["ETag": "\"a\""], strong, ""),
    Row("bytes 100-199/*", ["ETag": "\"a\""], strong, "C"),
    Row("bytes 100-199/200", ["ETag": "\"a\""], version("\"a\"", size: nil), "C"),
    Row("bytes 100-199/*", ["ETag": "\"a\""], version("\"a\"", size: nil), "TC"),
    Row("bytes 100-199/*", ["Last-Modified": date], version(date: date), "C"),
    Row("bytes 100-199/*", [:], version(date: date), ""),
    Row("bytes 100-199/200", [:], version(date: date, size: nil), ""),
    Row("bytes 100-199/200", ["Last-Modified": date], version(date: date, size: nil), "C"),
    Row("bytes 100-199/*", [:], version(date: date, size: nil), ""),
    Row("bytes 100-199/300", ["Last-Modified": date], version(date: date), ""),
    // The range is shorter, shifted, wider, beyond the size, absent or repeated.
    Row("bytes 100-149/200", ["ETag": "\"a\""], strong, "TCR"),
    Row("bytes 99-199/200", ["ETag": "\"a\""], strong, ""),
    Row("bytes 101-199/200", ["ETag": "\"a\""], strong, ""),
    Row("bytes 0-199/200", ["ETag": "\"a\""], strong, ""),
    Row("bytes 100-200/*", ["ETag": "\"a\""], strong, ""),
    Row("bytes 100-299/*", ["ETag": "\"a\""], strong, ""),
    Row("bytes 100-200/200", ["ETag": "\"a\""], strong, ""),
    Row("bytes */200", ["ETag": "\"a\""], strong, ""),
    Row("items 100-199/200", ["ETag": "\"a\""], strong, ""),
    Row("", ["ETag": "\"a\""], strong, ""),
    Row(whole, ["ETag": "\"a\"", "Content-Range": "bytes 100-199/200"], strong, ""),
    Row(whole, ["ETag": "\"a\"", "Content-Length": "100"], strong, "TCR"),
    Row(whole, ["ETag": "\"a\"", "Content-Length": "99"], strong, ""),
    // The content codings are equal or different.
    Row(whole, ["ETag": "\"a\"", "Content-Encoding": "gzip"], strong, ""),
    Row(whole, ["ETag": "\"a\"", "Content-Encoding": "identity"], strong, "TCR"),
    Row(whole, ["ETag": "\"a\"", "Content-Encoding": "GZIP"], version("\"a\"", coding: "gzip"), "TCR"),
    Row(whole, ["ETag": "\"a\""], version("\"a\"", coding: "gzip"), ""),
    Row(whole, ["ETag": "\"a\"", "Content-Encoding": "br"], version("\"a\"", coding: "gzip"), ""),
    Row(whole, ["ETag": "\"a\"", "Content-Encoding": "gzip, br"], version("\"a\"", coding: "gzip"), ""),
    // A digest of the whole representation decides, except in a cache, which also needs the tag.
    Row(whole, ["Repr-Digest": "sha-256=:\(digest):"], version("\"a\"", digest: digest), "CR"),
    Row(whole, ["Repr-Digest": "sha-256=:\(digest):", "ETag": "\"b\""], version("\"a\"", digest: digest), "CR"),
    Row(whole, ["Repr-Digest": "sha-256=:\(digest):", "ETag": "\"a\""], version("\"a\"", digest: digest), "TCR"),
    Row(whole, ["Repr-Digest": "sha-256=:\(otherDigest):", "ETag": "\"a\""], version("\"a\"", digest: digest), ""),
    Row(whole, ["Repr-Digest": "sha-256=:\(digest):"], version(digest: digest), "CR"),
    Row(whole, ["Content-Digest": "sha-256=:\(digest):"], version("\"a\"", digest: digest), ""),
    Row("bytes 100-199/300", ["Repr-Digest": "sha-256=:\(digest):"], version("\"a\"", digest: digest), ""),
  ]

  @Test(arguments: rows.indices) func `combines ranges of the same version only`(index: Int) {
    let row = Self.rows[index]
    var headers = row.fields
    if !row.range.isEmpty { headers.append(row.range, for: "Content-Range") }

    for (evidence, letter) in [(RangeRules.Evidence.tagAndSize, "T"), (.condition, "C"), (.repetition, "R")] {
      let verdict = RangeRules.judge(headers, from: 100, of: row.version, by: evidence)

      var isRange = false
      if case .range(let range, let size) = verdict {
        isRange = true
        #expect(range.lowerBound == 100 && size == ContentRange(row.range)?.size)
      }
      #expect(isRange == row.enough.contains(letter), "\(row), \(evidence): \(verdict)")
    }
  }

  @Test func `a range may be shorter than the requested one, but not longer`() {
    for (last, isRange) in [(148, true), (149, true), (150, false), (199, false)] {
      let headers: HTTPHeaders = ["Content-Range": "bytes 100-\(last)/200", "ETag": "\"a\""]
      let verdict = RangeRules.judge(headers, from: 100, to: 150, of: Self.strong, by: .condition)
      #expect((verdict == .range(100..<Int64(last + 1), size: 200)) == isRange, "\(last): \(verdict)")
    }
  }

  @Test func `a first range needs no validator and must not have a content coding`() {
    let range: HTTPHeaders = ["Content-Range": "bytes 0-9/20"]
    func verdict(_ headers: HTTPHeaders) -> RangeRules.Verdict {
      RangeRules.judge(headers, from: 0, to: 10, of: nil, by: .condition)
    }
    #expect(verdict(range) == .range(0..<10, size: 20))
    #expect(verdict(range.replacing(with: ["Content-Encoding": "gzip"])) != .range(0..<10, size: 20))
    #expect(verdict(["Content-Range": "bytes 0-10/20"]) != .range(0..<11, size: 20))
  }
}
