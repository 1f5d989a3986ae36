#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Ranges from real servers, which must not cause a restart.
  @Suite(.ownThreads, .hangLimit) struct RangeServerTests {
    enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
      case nginx, nginxWithoutTags, apache, s3
      var testDescription: String { rawValue }
    }

    /// A running server with an old file, whose date is a strong validator.
    private struct Site {
      let target: RequestTarget
      let bytes: Data
      var origin: RequestTarget?
      var credential: Credential?
      /// Keeps the server alive.
      let server: Any
    }

    private static func site(_ kind: Kind, _ bytes: Data) async throws -> Site {
      func age(_ path: String) throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
      }
      switch kind {
      case .nginx, .nginxWithoutTags:
        let server = try await NginxServer(kind == .nginx ? "" : "etag off;")
        try bytes.write(to: URL(filePath: server.path("file.bin")))
        try age(server.path("file.bin"))
        return Site(target: "\(raw: server.url)/file.bin", bytes: bytes, server: server)
      case .apache:
        let server = try await ApacheServer()
        try bytes.write(to: URL(filePath: server.path("www/file.bin")))
        try age(server.path("www/file.bin"))
        let credential = Credential.user("ada", password: "s3cret")
        return Site(
          target: "\(raw: server.url)/file.bin", bytes: bytes, origin: "\(raw: server.url)", credential: credential,
          server: server)
      case .s3:
        let server = try FileServer(
          .init(
            bytes: bytes, entityTag: "\"5eb63bbbe01eeed093cb22bb8f5acdc3\"",
            lastModified: "Tue, 14 Nov 2023 22:13:20 GMT"))
        return Site(target: server.target, bytes: bytes, server: server)
      }
    }

    private static func client(_ lane: Lane, _ site: Site, _ cache: ResponseCache = .off) -> HTTPClient {
      lane.client { [credential = site.credential, origin = site.origin] in
        $0.cache = cache
        $0.baseURL = origin
        if let credential { $0.options = .credential(credential) }
      }
    }

    @Test(.needs(.nginx, .apache), arguments: Lane.engines, Kind.allCases)
    func `resumes a download without a restart`(lane: Lane, kind: Kind) async throws {
      let site = try await Self.site(kind, FileServer.bytes(200_000))
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "a")
      let client = Self.client(lane, site)
      let head = try await client.head(site.target)
      let part = try await PartFile.open(
        file.path + ".part", url: try #require(head.finalRequest.url).absoluteString, resume: .automatic)
      try part.start { $0.describe(head.headers, length: 200_000, isResumable: true) }
      _ = try part.write(site.bytes.prefix(70_000), at: 0)
      try part.save()
      part.close()

      let done = try await client.download(.get(site.target), to: file)

      #expect(done.resumedAt == 70_000 && done.response.status == 206)
      #expect(try Data(contentsOf: file) == site.bytes)
    }

    @Test(.needs(.nginx, .apache), arguments: Lane.engines, Kind.allCases)
    func `downloads segments without a restart`(lane: Lane, kind: Kind) async throws {
      let site = try await Self.site(kind, FileServer.bytes(13 << 20))
      let folder = try TemporaryFolder()

      let done = try await Self.client(lane, site).download(
        .get(site.target), to: folder.url.appending(path: "a"), options: DownloadOptions { $0.segments = 3 })

      let isRight = try Data(contentsOf: done.url) == site.bytes
      #expect(isRight && done.response.status == 206)
    }

    @Test(arguments: Lane.engines, [503, 429, 403, 200])
    func `downloads a file whose server refuses additional connections`(lane: Lane, status: Int) async throws {
      let bytes = FileServer.bytes(18 << 20)
      let seen = Shared(0)
      let server = try FileServer(
        .init(bytes: bytes) { head, _ in
          let number = seen.withLock { seen in
            seen += 1
            return seen
          }
          guard 3...4 ~= number else { return head }
          return status == 200
            ? .init(status: 200, fields: ["ETag": "\"1\"", "Content-Length": "\(bytes.count)"], body: 0..<bytes.count)
            : .init(status: status, fields: ["Content-Length": "4"], body: 0..<4)
        })
      let folder = try TemporaryFolder()

      let done = try await lane.client().download(
        .get(server.target), to: folder.url.appending(path: "a"), options: DownloadOptions { $0.segments = 3 })

      let isRight = try Data(contentsOf: done.url) == bytes
      #expect(isRight && done.response.status == 206 && !server.ranges.contains(nil), "\(server.ranges)")
      // The client closes connections that carry whole files early, so their byte count varies.
      if status != 200 { #expect(server.sent == Int64(bytes.count) + 8) }
    }

    @Test(.needs(.nginx, .apache), arguments: Lane.engines, Kind.allCases)
    func `the cache completes a stored range if the server sends a strong tag`(lane: Lane, kind: Kind) async throws {
      let site = try await Self.site(kind, FileServer.bytes(1_000))
      let client = Self.client(lane, site, .memory())

      let range = try await client.get(site.target, headers: ["Range": "bytes=0-99"])
      let whole = try await client.get(site.target)

      #expect(range.status == 206 && range.body == site.bytes.prefix(100))
      #expect(whole.body == site.bytes && whole.status == .ok)
      #expect(whole.source == (kind == .nginxWithoutTags ? .network : .revalidated))
    }
  }
#endif
