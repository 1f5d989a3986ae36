import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletHAR

/// Files that several processes share, and files beside a cassette.
extension CassetteTests {
  @Test(
    arguments: [
      ("a", ["a"]), ("a/b", ["a", "b"]), ("..a/b..", ["..a", "b.."]), ("a b/é", ["a b", "é"]), ("", nil), ("/a", nil),
      ("a/", nil), ("a//b", nil), ("..", nil), ("a/../b", nil), (".", nil), ("./a", nil), ("a\0", nil),
      ("../\u{301}a", nil),
      ("a/..\u{301}", ["a", "..\u{301}"]), ("a/\u{301}b", ["a", "\u{301}b"]),
    ] as [(String, [String]?)])
  func `a path in a file stays below its folder`(_ path: String, _ segments: [String]?) {
    #expect(
      SharedFile.segments(of: path).map { $0.map { Array($0.utf8) } } == segments.map { $0.map { Array($0.utf8) } })
  }

  @Test func `trailers are replayed with their secrets masked`() async throws {
    try await HTTPClient(
      recording { _ in
        var response = StubResponse.text("x")
        response.trailers = ["Content-Digest": "abc", "X-Auth-Token": "canary"]
        return response
      }.0, Self.settings
    ).get("/a")

    let response = try await HTTPClient(replaying(), Self.settings).get("/a")
    #expect(response.trailers == ["Content-Digest": "abc", "X-Auth-Token": "***"])
  }

  @Test func `entries of another process stay in the file`() async throws {
    let (cassette, _) = recording { request in .text(request.url?.path() ?? "") }
    let live = HTTPClient(cassette, Self.settings)
    try await live.get("/a")
    func record(_ path: String) throws {
      var other = try HARFile(at: file.path())
      var entry = try #require(other.entries.first)
      entry.request.url = "http://example.test\(path)"
      other.entries.append(entry)
      try other.data().write(to: file, options: .atomic)
    }

    try record("/b")
    try await live.get("/c")
    try record("/d")
    try await live.get("/e")

    let urls = try HARFile(at: file.path()).entries.map(\.request.url)
    #expect(urls == ["a", "b", "c", "d", "e"].map { "http://example.test/\($0)" })
    #expect(cassette.entryCount == 3)
  }

  /// The two paths of the file have separate states and separate locks, as in two processes.
  @Test func `keeps the recordings of several concurrent writers to one file`() async throws {
    try folder.write("", to: "c/y")
    let link = folder.url.appending(path: "link")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.url.appending(path: "c"))
    let clients = [file, link.appending(path: "x.har")].map { file in
      HTTPClient(
        Cassette(file, mode: .recordMissing, recording: StubTransport { .text($0.url?.path() ?? "") }), Self.settings)
    }

    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask { try await clients[number % 2].get(RequestTarget("/\(number)")) }
      }
      try await group.waitForAll()
    }

    let urls = try HARFile(at: file.path()).entries.map(\.request.url)
    #expect(urls.count == 100 && Set(urls) == Set((0..<100).map { "http://example.test/\($0)" }))
  }

  @Test func `a new recording in a file that another process changes is an error`() async throws {
    try folder.write(#"{"log":{"version":"1.2","creator":{"name":"Martlet"},"entries":[]}}"#, to: "c/x.har")
    let (cassette, _) = recording(.recordAll) { _ in .text("x") }
    let live = HTTPClient(cassette, Self.settings)
    try await live.get("/a")
    var other = try HARFile(at: file.path())
    other.entries += other.entries
    try other.data().write(to: file, options: .atomic)

    let error = try await #require(throws: HTTPError.self) { try await live.get("/b") }

    #expect(
      error.kind == .fileFailed
        && error.message.hasSuffix("was changed by another process: record to a separate file"))
    #expect(try HARFile(at: file.path()).entries.count == 2)
  }
}
