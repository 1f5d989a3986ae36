import Foundation
import Martlet
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Samples from the article on downloads.
extension SamplesTests {
  private static func files() throws -> (HTTPClient, URL) {
    try TemporaryFolder.requireRoom()
    let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-samples-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let client = HTTPClient {
      $0.baseURL = "https://files.example"
      $0.cache = .off
      $0.transport = StubTransport { _ in .text("test", headers: ["Content-Length": "4"]) }
    }
    return (client, folder)
  }

  @Test func `downloads a file`() async throws {
    let (client, folder) = try Self.files()
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "big.iso")

    let done = try await client.download("/big.iso", to: file) { progress in
      print(progress.fraction ?? 0)
    }
    print(done.byteCount, done.resumedAt)

    #expect(try Data(contentsOf: file) == Data("test".utf8))
  }

  @Test func `retries a download over an unreliable network`() async throws {
    let (client, folder) = try Self.files()
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "big.iso")

    let done = try await client.download("/big.iso", to: file, options: .retry(.backoff(attempts: 10)))

    #expect(done.byteCount == 4)
  }

  @Test func `lists and resumes unfinished downloads`() async throws {
    let (client, folder) = try Self.files()
    defer { try? FileManager.default.removeItem(at: folder) }
    let pieces = Mutex([Data("te".utf8)])
    let cut = client.derived {
      $0.transport = StubTransport { _ in
        .streamed(headers: ["Content-Length": "4", "Accept-Ranges": "bytes", "ETag": "\"a\""]) {
          guard let piece = pieces.withLock({ $0.popLast() }) else { throw HTTPError(.connectionLost, "cut") }
          return piece
        }
      }
    }
    await #expect(throws: HTTPError.self) {
      try await cut.download("/big.iso", to: folder.appending(path: "big.iso"), options: .init { $0.retry = .off })
    }
    #expect(try UnfinishedDownload.all(in: folder).map(\.received) == [2])

    for unfinished in try UnfinishedDownload.all(in: folder) {
      print(unfinished.url, unfinished.received)
      try await client.download(continuing: unfinished)
    }

    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["big.iso"])
  }

  @Test func `downloads with options`() async throws {
    let (client, folder) = try Self.files()
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "big.iso")

    let options = DownloadOptions {
      $0.segments = 4
      $0.checksum = .sha256("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
      $0.maximumBytes = 5_000_000_000
      $0.overwrite = .fail
    }
    let done = try await client.download("/big.iso", to: file, options: options)

    #expect(done.byteCount == 4)
  }

  @Test func `sends many requests through a queue`() async throws {
    let (client, folder) = try Self.files()
    defer { try? FileManager.default.removeItem(at: folder) }
    let names = ["a", "b", "c"]

    let queue = RequestQueue(client: client, limits: .concurrent(4, perHost: 2), progress: .accurate)
    let index = queue.add(.get("/index"))
    for name in names { queue.download(.get("/files/\(name)"), to: folder, after: [index.id]) }
    for await progress in queue.progress.prefix(1) { print(progress.fraction) }
    let summary = await queue.finish()
    print(summary.succeeded, summary.failed)

    #expect(summary.succeeded == 4)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == names)
  }
}
