import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletBase
@testable import MartletOutbox

@Suite(.hangLimit) struct WireTextTests {
  /// ASCII, UTF-8, ISO 8859-1, other octets, and the UTF-8 of scalars that wire text itself uses.
  static let values: [[UInt8]] = [
    [], Array("plain".utf8), Array("\u{E9}\u{1F600}".utf8), [0x63, 0xE9], [0xE9, 0x22, 0xFF, 0x80],
    Array("\u{F7E9}".utf8), Array("\u{F7E9}".utf8) + [0xE9], Array("\u{F77F}\u{F800}".utf8), Array(0x80...0xFF),
  ]

  @Test(arguments: values) func `keeps octets, and shows them as UTF-8 or ISO 8859-1`(octets: [UInt8]) {
    let text = WireText.make(octets)

    #expect(WireText.octets(text) == octets)
    #expect(WireText.readable(text) == ReceivedFields.text(octets))
    #expect(WireText.octets("<\(text)>") == [0x3C] + octets + [0x3E])
  }

  @Test(arguments: values) func `a field keeps octets and shows readable text`(octets: [UInt8]) {
    var headers: HTTPHeaders = ["A": "old", "a": "older"]
    headers[octets: "A"] = octets
    var other: HTTPHeaders = [:]
    other[wire: "A"] = headers[wire: "a"]

    #expect(headers[octets: "a"] == octets && headers[all: "A"] == [ReceivedFields.text(octets)])
    #expect(headers.first?.octets == octets)
    #expect(other == headers && other[octets: "A"] == octets)
    #expect(HTTPHeaders(Array(headers)) == headers)
  }

  @Test func `a value that is set is sent as UTF-8`() {
    var field = HTTPHeaders.Field(name: "A", octets: [0xE9])
    #expect(field.value == "\u{E9}" && field != HTTPHeaders.Field(name: "A", value: "\u{E9}"))

    field.value = "\u{F7E9}"

    #expect(field.octets == Array("\u{F7E9}".utf8) && WireText.octets(field.wire) == field.octets)
  }

  // MARK: Stored fields

  private static let field = HTTPHeaders.Field(name: "ETag", octets: [0x22, 0xE9, 0x22])

  @Test func `a cache record keeps octets`() throws {
    var record = CacheRecord.sample()
    record.entry?.headers = [:]
    record.entry?.headers.append(Self.field)
    let found = try #require(CacheRecordCoding.encode(record, .sample("a")).flatMap { CacheRecordCoding.decode($0) })

    #expect(found.record.entry?.headers[octets: "ETag"] == Self.field.octets)
  }

  @Test func `an outbox line keeps octets`() throws {
    let line = try OutboxLine.sample(nil, headers: HTTPHeaders([Self.field]))
    guard case .submitted(let entry)? = line.change else { return _ = Issue.record("no submission") }

    #expect(try #require(line.reread()?.request).request(entry, in: "/").headers.map(\.octets) == [Self.field.octets])
  }

  @Test func `a download record keeps the octets of a strong entity tag`() throws {
    var record = PartRecord(url: "http://a.test/")
    record.describe(HTTPHeaders([Self.field]), length: 9, isResumable: true)
    let stored = try JSONDecoder().decode(PartRecord.self, from: JSONEncoder().encode(record))
    var work = DownloadWork(isRange: true)
    work.validator = stored.validator

    #expect(work.headers(from: [:])[octets: "If-Range"] == Self.field.octets)
  }

  @Test(arguments: [
    ("\"\"", true), ("\"a\u{80}\"", true), ("\"\u{301}\"", true), ("W/\"a\"", false), ("\"a b\"", false),
    ("\"\u{7F}\"", false), ("\"", false),
  ]) func `an entity tag may have octets from 0x80 on`(tag: String, isStrong: Bool) {
    #expect((Validators.strongTag(["ETag": tag]) != nil) == isStrong)
  }

  @Test func `a cookie file keeps octets, and a changed value is text`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appending(path: "cookies")
    var headers: HTTPHeaders = [:]
    headers[octets: "Set-Cookie"] = Array("n".utf8) + [0xEF, 0x3D, 0xE9] + Array("; Max-Age=60".utf8)
    let fields = headers
    let transport = StubTransport { _ in .status(.ok, headers: fields) }
    try await HTTPClient.stubbed(transport) { $0.cookies = .file(url) }.get("/")
    let other = HTTPClient.stubbed(transport) { $0.cookies = .file(url) }

    try await other.get("/")
    var cookie = try #require(await other.cookies.all.first)

    #expect(transport.requests.last?.headers[octets: "Cookie"] == [0x6E, 0xEF, 0x3D, 0xE9])
    #expect(cookie.name == "n\u{EF}" && cookie.value == "\u{E9}")
    #expect(await !other.cookies.netscape.contains("\u{E9}"))
    cookie.value = "\u{E9}"
    #expect(WireText.octets(Cookie.field([cookie]) ?? "") == [0x6E, 0xEF, 0x3D, 0xC3, 0xA9])
  }

  @Test func `a cassette keeps octets`() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "x.har")
    let fields = HTTPHeaders([Self.field])
    let live = StubTransport { _ in .status(.ok, headers: fields) }
    let cassette = Cassette(file, mode: .recordAll, recording: live)
    try await HTTPClient.stubbed(live) { $0.transport = cassette }.get("/")

    let replayed = try await HTTPClient.stubbed(live) { $0.transport = Cassette(file, mode: .replay) }.get("/")

    #expect(replayed.headers[octets: "ETag"] == Self.field.octets)
    #expect(replayed.headers["ETag"] == "\"\u{E9}\"")
  }

  @Test func `a curl command sends the octets`() throws {
    var request = HTTPRequest.get("http://a.test/")
    request.headers[octets: "X-A"] = [0xE9]

    #expect(try request.curlCommand().contains(#"--header "$(printf 'X\055A: \351')""#))
  }
}
