import Foundation
import TestSupport
import Testing

@testable import Martlet

@Suite struct DownloadRulesTests {
  private static let whole = DownloadWork()
  private static let rest = DownloadWork(start: 100, isRange: true, validator: "\"a\"")
  private static let piece = DownloadWork(start: 100, end: 200, isRange: true, validator: "\"a\"")

  private static var record: PartRecord {
    var record = PartRecord(url: "http://a.test/")
    record.entityTag = "\"a\""
    record.length = 1000
    return record
  }

  private static func judge(
    _ status: Int, _ headers: HTTPHeaders = [:], _ work: DownloadWork = rest
  ) -> DownloadRules.Verdict {
    DownloadRules.judge(HTTPStatus(rawValue: status), headers, asked: work, record: record)
  }

  @Test(arguments: [("http://a.test:80", true), ("http://b.test:80", false), (nil, false)])
  func `another server of a cluster repeats the size`(_ server: String?, _ isPart: Bool) {
    var record = Self.record
    record.server = "http://a.test:80"
    func verdict(hasChecksum: Bool) -> DownloadRules.Verdict {
      DownloadRules.judge(
        206, ["Content-Range": "bytes 100-999/*", "ETag": "\"a\""], asked: Self.rest, record: record,
        hasChecksum: hasChecksum, server: server)
    }

    #expect(verdict(hasChecksum: true) == .part(100..<1000, size: nil))
    #expect(verdict(hasChecksum: false) == (isPart ? .part(100..<1000, size: nil) : .restart("the size is missing")))
  }

  @Test func `requests the missing range with If-Range`() {
    #expect(Self.whole.headers(from: [:]) == ["Accept-Encoding": "identity"])
    let rest = Self.rest.headers(from: [:])
    #expect(rest["Range"] == "bytes=100-" && rest["If-Range"] == "\"a\"")
    #expect(Self.piece.headers(from: [:])["Range"] == "bytes=100-199")
    #expect(Self.whole.headers(from: ["Accept-Encoding": "gzip"]) == ["Accept-Encoding": "gzip"])
  }

  @Test func `accepts 200, 203 and 204 as the whole file`() {
    #expect(Self.judge(200, ["Content-Length": "5"]) == .whole(length: 5))
    #expect(Self.judge(200, ["Content-Length": "x"]) == .whole(length: nil))
    #expect(Self.judge(203, [:], Self.whole) == .whole(length: nil))
    #expect(Self.judge(204, [:], Self.whole) == .whole(length: 0))
  }

  @Test func `accepts the requested range`() {
    func verdict(_ range: String, _ work: DownloadWork = Self.rest) -> DownloadRules.Verdict {
      Self.judge(206, ["Content-Range": range, "ETag": "\"a\""], work)
    }
    #expect(verdict("bytes 100-999/1000") == .part(100..<1000, size: 1000))
    #expect(verdict("bytes 100-149/*") == .part(100..<150, size: nil))
    #expect(verdict("bytes 100-199/1000", Self.piece) == .part(100..<200, size: 1000))
    #expect(verdict("bytes 100-120/1000", Self.piece) == .part(100..<121, size: 1000))
  }

  @Test(
    arguments: [
      [:], ["Content-Range": "bytes */1000"], ["Content-Range": "bytes 0-999/1000"],
      ["Content-Range": "bytes 101-999/1000"], ["Content-Range": "bytes 100-99/1000"],
      ["Content-Range": "bytes 100-999/900"], ["Content-Range": "items 100-999/1000"],
      ["Content-Range": "bytes 100-998/999"], ["Content-Range": "bytes 100-999/1000", "ETag": "\"b\""],
      ["Content-Range": "bytes 100-999/1000", "Content-Length": "899"],
      ["Content-Range": "bytes 100-99999999999999999999/*"],
    ] as [HTTPHeaders])
  func `restarts after a mismatched partial response`(headers: HTTPHeaders) {
    let tag: HTTPHeaders = ["ETag": "\"a\""]
    let headers = tag.replacing(with: headers)
    guard case .restart = Self.judge(206, headers) else {
      Issue.record("\(Self.judge(206, headers))")
      return
    }
  }

  @Test func `rejects excess ranges, unrequested ranges and repeated Content-Range fields`() {
    let excess: HTTPHeaders = ["Content-Range": "bytes 100-200/1000", "ETag": "\"a\""]
    guard case .restart = Self.judge(206, excess, Self.piece) else {
      Issue.record("more than asked")
      return
    }
    guard case .violation = Self.judge(206, ["Content-Range": "bytes 0-999/1000"], Self.whole) else {
      Issue.record("a part of nothing")
      return
    }
    var two: HTTPHeaders = ["Content-Range": "bytes 100-999/1000", "ETag": "\"a\""]
    two.append("bytes 0-9/1000", for: "Content-Range")
    guard case .restart = Self.judge(206, two) else {
      Issue.record("two ranges")
      return
    }
  }

  @Test func `compares the version of a response without the range`() {
    func isOther(_ status: Int, _ headers: HTTPHeaders, _ record: PartRecord = Self.record) -> Bool {
      DownloadRules.isOfOtherVersion(HTTPStatus(rawValue: status), headers, record: record)
    }
    #expect(!isOther(200, ["ETag": "\"a\"", "Content-Length": "1000"]) && !isOther(200, ["ETag": "\"a\""]))
    #expect(isOther(200, ["ETag": "\"b\"", "Content-Length": "1000"]) && isOther(200, ["Content-Length": "1000"]))
    #expect(isOther(200, ["ETag": "\"a\"", "Content-Length": "999"]))
    #expect(!isOther(206, ["ETag": "\"a\"", "Content-Range": "bytes 0-9/1000", "Content-Length": "10"]))
    #expect(isOther(206, ["ETag": "\"a\"", "Content-Range": "bytes 0-9/999"]))
    var dated = PartRecord(url: "http://a.test/")
    dated.lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"
    #expect(!isOther(200, ["Last-Modified": "Sunday, 06-Nov-94 08:49:37 GMT"], dated))
    #expect(isOther(200, ["Last-Modified": "Sun, 06 Nov 1994 08:49:38 GMT"], dated) && isOther(200, [:], dated))
  }

  @Test func `accepts a 416 as completion only if the length matches`() {
    let all = DownloadWork(start: 1000, isRange: true, validator: "\"a\"")
    let complete: HTTPHeaders = ["Content-Range": "bytes */1000", "ETag": "\"a\""]
    #expect(Self.judge(416, complete, all) == .complete(1000))
    let first = DownloadWork(start: 0, end: 10, isRange: true)
    for (range, work) in [("bytes */999", all), ("*", all), ("bytes */1000", Self.piece), ("bytes */0", first)] {
      guard case .restart = Self.judge(416, complete.replacing(with: ["Content-Range": range]), work) else {
        Issue.record("\(range)")
        continue
      }
    }
    #expect(Self.judge(416, [:], Self.whole) == .other)
    for status in [301, 304, 404, 500] { #expect(Self.judge(status) == .other) }
  }
}

@Suite struct PartRecordTests {
  private static var record: PartRecord {
    var record = PartRecord(url: "http://a.test/")
    record.entityTag = "\"a\""
    record.length = 1000
    record.boot = "now"
    record.written = ByteSpans(upTo: 500)
    record.synced = ByteSpans(upTo: 300)
    return record
  }

  @Test func `relies on written bytes within one boot, and on synced bytes after it`() {
    #expect(Self.record.reliable(size: 700, boot: "now").spans == [0..<700])
    #expect(Self.record.reliable(size: 700, boot: "later").spans == [0..<300])
    #expect(Self.record.reliable(size: 700, boot: nil).spans == [0..<300])
    #expect(Self.record.reliable(size: 200, boot: "later").spans == [0..<200])
    #expect(Self.record.reliable(size: 5000, boot: "now").spans == [0..<1000])
  }

  @Test func `relies on no bytes without a validator or after a checksum mismatch`() {
    var record = Self.record
    record.isRejected = true
    #expect(record.reliable(size: 700, boot: "now").isEmpty)
    record = Self.record
    record.entityTag = nil
    #expect(record.reliable(size: 700, boot: "now").isEmpty)
  }

  @Test func `relies on the recorded spans if the file has gaps`() {
    var record = Self.record
    record.isSequential = false
    record.written.insert(800..<900)
    #expect(record.reliable(size: 1000, boot: "now").spans == [0..<500, 800..<900])
    #expect(record.reliable(size: 850, boot: "now").spans == [0..<500, 800..<850])
  }

  @Test func `accepts only strong validators`() {
    for (tag, strong) in [
      ("\"a\"", true), ("W/\"a\"", false), ("a", false), ("\"", false), ("\"\"", true), ("\"a\u{7F}\"", false),
      ("\"a b\"", false), (" \"a\" ", true),
    ] { #expect((Validators.strongTag(["ETag": tag]) != nil) == strong, "\(tag)") }
    let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
    for (date, strong) in [
      ("Sun, 06 Nov 1994 08:49:38 GMT", true), (modified, false), ("Sun, 06 Nov 1994 08:49:36 GMT", false),
      ("x", false), (nil, false),
    ] as [(String?, Bool)] {
      var headers: HTTPHeaders = ["Last-Modified": modified]
      headers["Date"] = date
      #expect((Validators.strongDate(headers) != nil) == strong, "\(date ?? "none")")
    }
  }

  @Test func `parses the SHA-256 of a digest field`() {
    let digits = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    let text = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    #expect(DigestField.sha256(["sha-256=:\(text):"]) == digits)
    #expect(DigestField.sha256(["sha-512=:AAAA:", "md5=:AA==:, SHA-256=:\(text):;x=1"]) == digits)
    let other = "sha-256=:\(String(repeating: "A", count: 43))=:"
    #expect(DigestField.sha256(["\(other), sha-256=:\(text):"]) == digits)
    #expect(DigestField.sha256([other, "SHA-256=:\(text):"]) == digits)
    #expect(DigestField.sha256(["sha-256=:\(text):;x=\"a, \(other)\""]) == digits)
    #expect(DigestField.sha256(["sha-256=:\(text):, sha-256=:AAAA:"]) == nil)
    for field in ["", "sha-256", "sha-256=\(text)", "sha-256=:AAAA:", "sha-256=:::", "sha-1=:\(text):"] {
      #expect(DigestField.sha256([field]) == nil, "\(field)")
    }
  }

  @Test func `SHA-256 of chunks equals SHA-256 of the whole`() {
    var generator = SeededGenerator(seed: 3)
    for count in [0, 1, 55, 56, 63, 64, 65, 119, 128, 1000] {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let (stream, expected) = (SHA256Stream(), SHA2.sha256(bytes).hexadecimal)
      var own = SHA2.Running256()
      var rest = bytes[...]
      while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 1...100, using: &generator))
        stream.update(Data(piece))
        own.update(piece)
        rest = rest.dropFirst(piece.count)
      }
      #expect(stream.digits() == expected && own.value().hexadecimal == expected)
    }
  }
}
