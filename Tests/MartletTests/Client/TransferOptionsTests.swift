import Foundation
import Testing

@testable import Martlet

/// The chained form of the options of downloads and server-sent events.
@Suite struct TransferOptionsTests {
  @Test func `sets the options of the request and its own`() {
    let download: DownloadOptions = .timeout(.seconds(5)).retry(.off).segments(4).tag("a")
    let events: ServerSentEvents.Options = .reconnect(.never).timeout(idle: .seconds(7)).lastEventID("9")

    #expect((download.timeout.total, download.segments, download.tag) == (.seconds(5), 4, "a"))
    #expect(download.request.retry?.maximumAttempts == RetryPolicy.off.maximumAttempts)
    #expect((events.reconnect, events.timeout.idle, events.lastEventID) == (.never, .seconds(7), "9"))
  }

  @Test func `a field of the request is also a field of the options`() {
    let options = DownloadOptions {
      $0.timeout.idle = .seconds(3)
      $0.priority = 2
      $0.request.tag = "a"
    }

    #expect((options.request.timeout.idle, options.request.priority, options.tag) == (.seconds(3), 2, "a"))
  }

  /// The names of a type's members in the list of the public API.
  private static func members(of type: String, _ keyword: String) throws -> Set<String> {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Docs/PublicAPI.txt")
    let lines = try String(contentsOf: page.standardizedFileURL, encoding: .utf8).split(separator: "\n")
    return Set(
      lines.compactMap { line in
        let parts = line.components(separatedBy: "  |  ")
        guard parts.count == 2, parts[0].hasPrefix("\(type)."), parts[1].hasPrefix(keyword) else { return nil }
        return String(parts[0].dropFirst(type.count + 1))
      })
  }

  @Test(arguments: ["static func ", "var "]) func `each option of a request has its form`(keyword: String) throws {
    let expected = try Self.members(of: "RequestOptions", keyword).filter { !$0.contains(".") }

    #expect(expected.count > 20)
    #expect(expected.subtracting(try Self.members(of: "TransferOptions", keyword)).isEmpty)
  }
}
