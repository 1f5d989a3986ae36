#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Spooled bodies over sockets, which leave no files behind.
  @Suite(.ownThreads, .hangLimit) struct SpoolTransferTests {
    private static func body(_ folder: TemporaryFolder, count: Int = 100) -> HTTPBody {
      .stream(UploadPieces(Data(repeating: 5, count: 10_000), count: count)).spooled(in: folder.url)
    }

    /// The unnamed files that this process has open.
    private static var deletedFiles: [String] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      return names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        .filter { $0.hasSuffix("(deleted)") && $0.contains("/.martlet-") }
    }

    @Test(arguments: Lane.engines)
    func `sends Content-Length with each attempt and leaves no file behind`(lane: Lane) async throws {
      let server = try MockServer(script: [.status(503), .redirect(to: "/there", status: 307), .ok("done")])
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let client = lane.client {
        $0.retry = .backoff(attempts: 2, initialDelay: .zero)
        $0.redirects = .follow
      }

      let text = try await client.put(RequestTarget(server.url), body: Self.body(folder)).text

      #expect(text == "done")
      #expect(server.requests.map { $0.header("Content-Length") } == Array(repeating: "1000000", count: 3))
      #expect(server.requests.allSatisfy { $0.body == Data(repeating: 5, count: 1_000_000) })
      #expect(folder.names.isEmpty)
      #expect(await becomes { Self.deletedFiles.allSatisfy { !$0.contains(folder.url.lastPathComponent) } })
    }

    @Test(arguments: Lane.engines)
    func `leaves no file behind after cancellation or a failure during the upload`(lane: Lane) async throws {
      let stalling = try MockServer(
        .steps([.hang]).withoutReadingBody(pausesReading: true), options: .init(keepsBodies: false))
      let closing = try MockServer(
        .ok(), options: .init(keepsBodies: false, earlyAnswer: { _ in .steps([.cut]) }))
      defer {
        stalling.stop()
        closing.stop()
      }
      let folder = try TemporaryFolder()
      let client = lane.client()

      // The task owns the body, so both are released together.
      func upload(_ body: HTTPBody) -> Task<HTTPResponse, any Error> {
        Task { try await client.put(RequestTarget(stalling.url), body: body) }
      }
      let task = upload(Self.body(folder, count: 3000))
      _ = await stalling.waitForRequests(1)
      #expect(Self.deletedFiles.contains { $0.contains(folder.url.lastPathComponent) })
      #expect(folder.names.isEmpty)
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      await #expect(throws: HTTPError.self) {
        try await client.put(RequestTarget(closing.url), body: Self.body(folder, count: 3000))
      }

      #expect(folder.names.isEmpty)
      #expect(await becomes { Self.deletedFiles.allSatisfy { !$0.contains(folder.url.lastPathComponent) } })
    }

    @Test func `leaves no file behind when the process is killed during the upload`() async throws {
      let folder = try TemporaryFolder()

      await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.url.path as String] in
        let server = try MockServer(
          .steps([.hang]).withoutReadingBody(pausesReading: true), options: .init(keepsBodies: false))
        let body = HTTPBody.stream(UploadPieces(Data(count: 10_000), count: 3000)).spooled(in: URL(filePath: path))
        let form = HTTPBody.multipart { $0.add(body, for: "f", filename: "f") }
        let task = Task { try await Lane.curl.client().put(RequestTarget(server.url), body: form) }
        _ = await server.waitForRequests(1)
        // The spool file exists but has no name.
        guard Self.deletedFiles.contains(where: { $0.contains(path) }) else { exit(1) }
        kill(getpid(), SIGKILL)
        _ = try await task.value
      }

      #expect(folder.names.isEmpty)
    }

    @Test(.needs(.proc), arguments: Lane.engines)
    func `sends a large body with bounded memory`(lane: Lane) async throws {
      await #expect(processExitsWith: .success) { [lane] in
        let server = try MockServer(.ok(), options: .init(keepsBodies: false))
        let folder = try TemporaryFolder()
        let client = lane.client()
        _ = try await client.put(RequestTarget(server.url), body: Self.body(folder))
        let count = Stress.count(4_000, full: 10_000)
        let more = try await ProcessFacts.peakGrowth {
          _ = try await client.put(RequestTarget(server.url), body: Self.body(folder, count: count))
        }
        #expect(server.requests.last?.bodyLength == count * 10_000)
        #expect(isSanitized || more < 16 << 20)
        server.stop()
      }
    }
  }
#endif
