import Foundation
import MartletTesting
import Testing

@testable import Martlet

/// RFC 9111 §3 and §4.1 as tables.
@Suite struct CacheRulesTests {
  @Test(
    arguments: [
      (200, [:], [:], nil), (200, ["Cache-Control": "no-store"], [:], .responseForbids),
      (200, ["Cache-Control": "NO-STORE, max-age=9"], [:], .responseForbids),
      (200, ["Cache-Control": "no-store, must-understand"], [:], nil),
      (299, ["Cache-Control": "max-age=9, must-understand"], [:], .status),
      (200, [:], ["Cache-Control": "no-store"], .requestForbids), (304, ["Cache-Control": "max-age=9"], [:], .status),
      (100, ["Cache-Control": "max-age=9"], [:], .status), (299, [:], [:], .notExplicitlyCacheable),
      (299, ["Cache-Control": "max-age=9"], [:], nil), (302, [:], [:], .notExplicitlyCacheable),
      (302, ["Expires": "x"], [:], nil),
      (500, ["Cache-Control": "public"], [:], nil), (404, [:], [:], nil),
      (200, ["Vary": "*"], [:], .variesByEverything),
      (200, ["Vary": "a, *"], [:], .variesByEverything), (200, ["Vary": "a b"], [:], .variesByEverything),
      (200, ["Cache-Control": "private"], ["Authorization": "x"], nil),
    ] as [(Int, HTTPHeaders, HTTPHeaders, CacheRules.Refusal?)])
  func `decides which responses may be stored`(
    status: Int, response: HTTPHeaders, request: HTTPHeaders, refusal: CacheRules.Refusal?
  ) {
    #expect(CacheRules.refusal(toStore: status, response, of: request, ignoresServer: false) == refusal)
  }

  @Test func `ignoring server directives overrides no-store in responses, but not in requests`() {
    let headers: HTTPHeaders = ["Cache-Control": "no-store"]

    #expect(CacheRules.refusal(toStore: 200, headers, of: [:], ignoresServer: true) == nil)
    #expect(CacheRules.refusal(toStore: 200, headers, of: headers, ignoresServer: true) == .requestForbids)
  }

  @Test func `does not store connection-specific fields and fields named by no-cache`() {
    let headers: HTTPHeaders = [
      "Connection": "close, X-Own", "X-Own": "1", "Keep-Alive": "x", "TE": "x", "Transfer-Encoding": "chunked",
      "Upgrade": "x", "Proxy-Authenticate": "x", "Proxy-Authorization": "x", "Proxy-Authentication-Info": "x",
      "Proxy-Connection": "x", "X-Other": "2", "Set-Cookie": "a=1", "Cache-Control": "no-cache=\"x-secret\"",
      "X-Secret": "3",
    ]

    #expect(CacheRules.storable(headers).map(\.name) == ["X-Other", "Set-Cookie", "Cache-Control"])
  }

  @Test func `a 304 updates the stored fields except those that describe the content`() {
    let stored: HTTPHeaders = ["A": "1", "B": "1", "Content-Length": "5", "Content-Type": "text/plain"]
    let new: HTTPHeaders = ["b": "2", "C": "3", "Content-Length": "0", "Content-Type": "x/y", "Connection": "close"]

    let updated = CacheRules.updated(stored, by: new)

    #expect(updated["A"] == "1" && updated["B"] == "2" && updated["C"] == "3")
    #expect(updated["Content-Length"] == "5" && updated["Content-Type"] == "text/plain")
    #expect(!updated.contains("Connection"))
  }

  @Test(
    arguments: [
      (["ETag": "\"a\""], [0]), (["ETag": "\"b\""], [1]), (["ETag": "W/\"a\""], [0, 2]), (["ETag": "\"z\""], []),
      ([:], []),
    ] as [(HTTPHeaders, [Int])]) func `a 304 confirms the stored responses with its validator`(
      headers: HTTPHeaders, confirmed: [Int]
    )
  {
    let entries = ["\"a\"", "\"b\"", "W/\"a\""].map { FreshnessTests.entry(["ETag": $0]) }

    #expect(CacheRules.confirmed(by: headers, entries, asked: 1) == confirmed)
    #expect(CacheRules.confirmed(by: [:], [entries[0]], asked: 0) == [0])
  }

  @Test func `revalidates a response without a tag by its date alone`() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    let entries = [FreshnessTests.entry(["ETag": "\"a\""]), FreshnessTests.entry(["Last-Modified": date])]
    func confirmed(_ headers: HTTPHeaders) -> [Int] { CacheRules.confirmed(by: headers, entries, asked: 1) }

    #expect(CacheRules.conditions(entries, asked: 0) == ["\"a\""] && CacheRules.conditions(entries, asked: 1) == [])
    #expect(confirmed([:]) == [1] && confirmed(["Last-Modified": date]) == [1])
    #expect(confirmed(["Last-Modified": "Sunday, 06-Nov-94 08:49:37 GMT"]) == [1])
    #expect(confirmed(["Last-Modified": "Sun, 06 Nov 1994 08:49:38 GMT"]) == [])
    #expect(confirmed(["ETag": "\"a\""]) == [0])
  }

  @Test func `a validator with different values is ignored`() {
    let two = HTTPHeaders([.init(name: "ETag", value: "\"a\""), .init(name: "ETag", value: "\"b\"")])
    let entry = FreshnessTests.entry(["ETag": "\"a\""])

    #expect(CacheRules.confirmed(by: two, [entry], asked: 0) == [])
    #expect(FreshnessTests.entry(two).entityTag == nil && !FreshnessTests.entry(two).hasValidator)
  }

  @Test func `tags with different octets differ, even if their characters are the same`() {
    let entry = FreshnessTests.entry(["ETag": "\"\u{E9}\""])

    #expect(CacheRules.confirmed(by: ["ETag": "\"e\u{301}\""], [entry], asked: 0) == [])
    #expect(CacheRules.confirmed(by: ["ETag": "\"\u{E9}\""], [entry], asked: 0) == [0])
  }

  @Test(
    arguments: [
      ("Accept-Language", "en, de", "de,en", true), ("Accept-Language", "en, de", "EN, DE", true),
      ("Accept-Language", "en;q=0.5, de", "de, en; q=0.5", true), ("Accept-Language", "en", "de", false),
      ("Foo", "1, 2", "1,2", true), ("Foo", "1, 2", "2, 1", false), ("Foo", "a", "A", false),
      ("Accept-Encoding", "gzip, br", "br, gzip", true),
    ] as [(String, String, String, Bool)])
  func `equivalent field values select the same variant`(name: String, first: String, second: String, isSame: Bool) {
    let names = [name.lowercased()]

    let left = Selection.selectors(names, of: HTTPHeaders([HTTPHeaders.Field(name: name, value: first)]))
    let right = Selection.selectors(names, of: HTTPHeaders([HTTPHeaders.Field(name: name, value: second)]))

    #expect((left == right) == isSame)
  }

  @Test func `combines field lines, and distinguishes a missing field from an empty one`() {
    #expect(Selection.selectors(["foo"], of: [:]) == [:])
    #expect(Selection.selectors(["foo"], of: ["Foo": ""]) == ["foo": ""])
    let lines = HTTPHeaders([HTTPHeaders.Field(name: "Foo", value: "1"), HTTPHeaders.Field(name: "foo", value: "2")])
    #expect(Selection.selectors(["foo"], of: lines) == ["foo": "1,2"])
  }

  @Test func `treats too many names in Vary as a wildcard`() {
    let many = (0..<40).map { "x\($0)" }.joined(separator: ",")

    #expect(Selection.names(["Vary": many]) == nil)
    #expect(Selection.names(["Vary": "B, a,b"]) == ["a", "b"])
  }

  @Test(
    arguments: [
      ("bytes=0-4", 10, 0...4), ("bytes=5-", 10, 5...9), ("bytes=-3", 10, 7...9), ("bytes=-30", 10, 0...9),
      ("bytes=0-99", 10, 0...9), ("bytes=10-", 10, nil), ("BYTES=1-1", 10, 1...1), ("bytes=-3", 0, nil),
    ] as [(String, Int64, ClosedRange<Int64>?)])
  func `resolves a byte range against a size`(text: String, size: Int64, bytes: ClosedRange<Int64>?) throws {
    #expect(try #require(ByteRange([text])).bytes(of: size) == bytes)
  }

  @Test(arguments: [
    "bytes=", "bytes=-", "bytes=a-b", "bytes=1-0", "bytes=-0", "bytes=0-1,2-3", "0-1", "bytes=+1-2", "bytes 0-1",
  ])
  func `rejects malformed and multiple ranges`(text: String) { #expect(ByteRange([text]) == nil) }
}
