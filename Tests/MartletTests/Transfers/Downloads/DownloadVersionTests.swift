import Foundation
import MartletBase
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Downloads of a file that changes on its server.
@Suite(.hangLimit) struct DownloadVersionTests {
  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let later = "Sun, 06 Nov 1994 08:49:38 GMT"
  private static let old = Data(repeating: UInt8(ascii: "o"), count: 200)
  private static let new = Data(repeating: UInt8(ascii: "n"), count: 300)

  private static let settings: ClientSetting = [.cache(.off), .retry(.off)]

  /// Leaves a part file with the first 100 bytes of `old`, from a response with these fields.
  private static func leave(_ fields: HTTPHeaders, at file: URL, url: String = "https://a.test/a") async throws {
    let part = try await PartFile.open(file.path + ".part", url: url, resume: .automatic)
    let dated = fields.replacing(with: ["Date": "Mon, 07 Nov 1994 08:49:37 GMT"])
    try part.start { $0.describe(dated, length: dated.contentLength, isResumable: true) }
    part.change { $0.digest = DigestField.sha256(fields[all: "Repr-Digest"]) }
    _ = try part.write(old.prefix(100), at: 0)
    try part.save()
    part.close()
  }

  /// A server that serves `new`, ignores `If-Range` and sends these fields with its range of `body`.
  private static func server(_ fields: HTTPHeaders, status: HTTPStatus = .partialContent, body: Data) -> StubTransport {
    StubTransport { request in
      guard request.headers.contains("Range") else { return .status(.ok, headers: ["ETag": "\"new\""], body: new) }
      return .status(status, headers: fields, body: body)
    }
  }

  @Test(
    arguments: [
      // The strong tag is not repeated: the range has no tag, another tag, or only a date.
      (["ETag": "\"old\"", "Content-Length": "200"], ["Content-Range": "bytes 100-199/200"]),
      (["ETag": "\"old\"", "Content-Length": "200"], ["Content-Range": "bytes 100-199/200", "ETag": "\"new\""]),
      (["ETag": "\"old\"", "Content-Length": "200"], ["Content-Range": "bytes 100-199/200", "ETag": "W/\"old\""]),
      (
        ["ETag": "\"old\"", "Last-Modified": date, "Content-Length": "200"],
        ["Content-Range": "bytes 100-199/200", "Last-Modified": later]
      ),
      // The date changes, or neither the date nor the size is repeated.
      (
        ["Last-Modified": date, "Content-Length": "200"],
        ["Content-Range": "bytes 100-199/200", "Last-Modified": later]
      ),
      (["Last-Modified": date, "Content-Length": "200"], ["Content-Range": "bytes 100-199/*"]),
      (["Last-Modified": date, "Content-Length": "200"], ["Content-Range": "bytes 100-199/300"]),
      (["Last-Modified": date, "Content-Length": "200"], ["Content-Range": "bytes 100-199/200", "ETag": "\"new\""]),
      (
        ["Last-Modified": date, "ETag": "W/\"old\"", "Content-Length": "200"],
        ["Content-Range": "bytes 100-199/200", "ETag": "W/\"new\""]
      ),
      (["Last-Modified": date], ["Content-Range": "bytes 100-199/200"]),
      // The range ends beyond the known size.
      (["ETag": "\"old\"", "Content-Length": "150"], ["Content-Range": "bytes 100-199/*", "ETag": "\"old\""]),
      // The range has a content coding.
      (
        ["ETag": "\"old\"", "Content-Length": "200"],
        ["Content-Range": "bytes 100-199/200", "ETag": "\"old\"", "Content-Encoding": "br"]
      ),
      // The digest has changed.
      (
        ["ETag": "\"old\"", "Content-Length": "200", "Repr-Digest": DownloadVersionTests.digest(old)],
        ["Content-Range": "bytes 100-199/200", "ETag": "\"old\"", "Repr-Digest": DownloadVersionTests.digest(new)]
      ),
    ] as [(HTTPHeaders, HTTPHeaders)])
  func `restarts if a range may belong to another version`(known: HTTPHeaders, range: HTTPHeaders) async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "a")
    try await Self.leave(known, at: file)
    let transport = Self.server(range, body: Self.new.suffix(100))

    let done = try await HTTPClient(transport, Self.settings).download("https://a.test/a", to: file)

    #expect(try Data(contentsOf: file) == Self.new && done.resumedAt == 0)
    #expect(transport.requests.map { $0.headers["Range"] != nil } == [true, false])
  }

  @Test(
    arguments: [
      (["ETag": "\"old\"", "Content-Length": "200"], ["Content-Range": "bytes 100-199/200", "ETag": "\"old\""]),
      (["ETag": "\"old\""], ["Content-Range": "bytes 100-199/200", "ETag": "\"old\"", "Last-Modified": later]),
      (
        ["Last-Modified": date, "Content-Length": "200"], ["Content-Range": "bytes 100-199/200", "Last-Modified": date]
      ),
      (["Last-Modified": date, "Content-Length": "200"], ["Content-Range": "bytes 100-199/200"]),
      (
        ["ETag": "\"old\"", "Content-Length": "200", "Repr-Digest": DownloadVersionTests.digest(old)],
        ["Content-Range": "bytes 100-199/200", "Repr-Digest": DownloadVersionTests.digest(old)]
      ),
    ] as [(HTTPHeaders, HTTPHeaders)])
  func `resumes if the range belongs to the same version`(known: HTTPHeaders, range: HTTPHeaders) async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "a")
    try await Self.leave(known, at: file)
    let transport = Self.server(range, body: Self.old.suffix(100))

    let done = try await HTTPClient(transport, Self.settings).download("https://a.test/a", to: file)

    #expect(try Data(contentsOf: file) == Self.old && done.resumedAt == 100 && transport.requests.count == 1)
  }

  @Test(
    arguments: [
      (["ETag": "\"old\""], ["ETag": "\"old\""], true), (["ETag": "\"old\""], [:], false),
      (["ETag": "\"old\""], ["ETag": "\"new\""], false), (["Last-Modified": date], ["Last-Modified": date], true),
      (["Last-Modified": date], [:], false),
    ] as [(HTTPHeaders, HTTPHeaders, Bool)])
  func `a 416 completes a file of unknown size only with its validator`(
    known: HTTPHeaders, fields: HTTPHeaders, isComplete: Bool
  ) async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "a")
    try await Self.leave(known, at: file)
    let transport = Self.server(
      fields.replacing(with: ["Content-Range": "bytes */100", "Content-Encoding": "gzip"]),
      status: .rangeNotSatisfiable, body: Data())

    _ = try await HTTPClient(transport, Self.settings).download("https://a.test/a", to: file)

    #expect(try Data(contentsOf: file) == (isComplete ? Self.old.prefix(100) : Self.new))
  }

  @Test(
    arguments: [
      (
        ["ETag": "\"1\"", "Content-Length": "200"], ["Content-Range": "bytes 100-199/200", "ETag": "\"1\""], false, true
      ),
      (
        ["ETag": "\"1\"", "Content-Length": "200"], ["Content-Range": "bytes 100-199/*", "ETag": "\"1\""], false, false
      ),
      (["ETag": "\"1\""], ["Content-Range": "bytes 100-199/200", "ETag": "\"1\""], false, false),
      (["ETag": "\"1\""], ["Content-Range": "bytes 100-199/200", "ETag": "\"1\""], true, true),
      (["ETag": "\"1\""], ["Content-Range": "bytes 100-199/200"], true, false),
      (
        ["Last-Modified": date, "Content-Length": "200"],
        ["Content-Range": "bytes 100-199/200", "Last-Modified": date],
        false, true
      ),
      (["Last-Modified": date, "Content-Length": "200"], ["Content-Range": "bytes 100-199/200"], false, false),
      (["Last-Modified": date, "Content-Length": "200"], ["Content-Range": "bytes 100-199/200"], true, true),
    ] as [(HTTPHeaders, HTTPHeaders, Bool, Bool)])
  func `bytes of another URL need the same size and validator, or a checksum`(
    known: HTTPHeaders, range: HTTPHeaders, hasChecksum: Bool, isResumed: Bool
  ) async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "a")
    try await Self.leave(known, at: file, url: "https://a.test/other")
    let transport = Self.server(range, body: Self.old.suffix(100))
    var options = DownloadOptions()
    options.resume = .fromAnyURL
    let expected = isResumed ? Self.old : Self.new
    if hasChecksum { options.checksum = .sha256(SHA2.sha256(Array(expected)).hexadecimal) }

    let done = try await HTTPClient(transport, Self.settings).download("https://a.test/a", to: file, options: options)

    #expect(try Data(contentsOf: file) == expected && (done.resumedAt == 100) == isResumed)
  }

  @Test func `bytes of another URL are not used without fromAnyURL after a failed resume with it`() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "a")
    try await Self.leave(["Last-Modified": Self.date, "Content-Length": "200"], at: file, url: "https://a.test/other")
    let gone = HTTPClient(StubTransport { _ in throw HTTPError(.connectionLost, "gone") }, Self.settings)
    let options = DownloadOptions { $0.resume = .fromAnyURL }
    await #expect(throws: HTTPError.self) {
      try await gone.download("https://a.test/a", to: file, options: options)
    }
    let transport = Self.server(["Content-Range": "bytes 100-199/200"], body: Self.old.suffix(100))

    let done = try await HTTPClient(transport, Self.settings).download("https://a.test/a", to: file)

    #expect(try Data(contentsOf: file) == Self.new && done.resumedAt == 0)
  }

  @Test func `a digest of the first response covers the resumed file`() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "a")
    try await Self.leave(
      ["ETag": "\"old\"", "Content-Length": "200", "Repr-Digest": Self.digest(Self.old)], at: file)
    let transport = Self.server(
      ["Content-Range": "bytes 100-199/200", "ETag": "\"old\""], body: Self.new.suffix(100))

    let error = await #expect(throws: HTTPError.self) {
      try await HTTPClient(transport, Self.settings).download("https://a.test/a", to: file)
    }

    #expect(error?.kind == .checksumMismatch && folder.names == ["a.part", "a.part.json"])
  }

  @Test func `resumes a download recorded by an earlier version of the library`() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "a")
    let record = """
      {"boot":"\(BootID.current ?? "")","entityTag":"\\"old\\"","isRejected":false,"isSequential":true,\
      "length":200,"partition":"","synced":[],"url":"https://a.test/a","version":2,"written":[]}
      """
    try Self.old.prefix(100).write(to: folder.url.appending(path: "a.part"))
    try PrivateFile.replace(folder.path("a.part.json"), with: Data(record.utf8))
    let transport = Self.server(
      ["Content-Range": "bytes 100-199/200", "ETag": "\"old\""], body: Self.old.suffix(100))

    let done = try await HTTPClient(transport, Self.settings).download("https://a.test/a", to: file)

    #expect(done.resumedAt == 100)
  }

  private static func digest(_ data: Data) -> String {
    "sha-256=:\(Data(SHA2.sha256(Array(data))).base64EncodedString()):"
  }
}
