#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// The kinds of errors, each with a real cause; ``ErrorCause`` covers failures on the wire.
  @Suite(.hangLimit) struct ErrorKindTests {
    struct Failure: Error {}

    struct Cause: Sendable, CustomTestStringConvertible {
      let kind: HTTPError.Kind
      let provoke: @Sendable (HTTPClient, MockServer) async throws -> Void

      var testDescription: String { kind.description }
    }

    static let causes: [Cause] = [
      Cause(kind: .invalidRequest) { client, _ in _ = try await client.get("http://a b/") },
      Cause(kind: .status) { client, server in
        _ = try await client.get(RequestTarget(server.url("/missing")), options: .accepts(.success))
      },
      Cause(kind: .tooManyRedirects) { client, server in
        _ = try await client.get(RequestTarget(server.url("/loop")), options: .redirects(.follow))
      },
      Cause(kind: .redirectRefused) { client, server in
        _ = try await client.get(RequestTarget(server.url("/ftp")), options: .redirects(.follow))
      },
      Cause(kind: .refusedByGuard) { client, server in
        _ = try await client.derived { $0.guards = [.httpsOnly] }.get(RequestTarget(server.url))
      },
      Cause(kind: .authenticationFailed) { client, server in
        let url = server.url
        let signed = client.derived { $0.authenticators[.origin(url)] = .oauth2 { _ in throw Failure() } }
        _ = try await signed.get(RequestTarget(server.url("/locked")))
      },
      Cause(kind: .decoding) { client, server in _ = try await client.get(RequestTarget(server.url), as: Int.self) },
      Cause(kind: .notCached) { client, server in
        let caching = client.derived { $0.cache = .automatic }
        _ = try await caching.get(RequestTarget(server.url), options: .cache(.onlyCached))
      },
      Cause(kind: .bodyNotReplayable) { client, server in
        let body = HTTPBody.stream(UploadPieces(Data(count: 1000), count: 10))
        _ = try await client.put(RequestTarget(server.url("/again")), body: body, options: .redirects(.follow))
      },
      Cause(kind: .checksumMismatch) { client, server in
        let folder = try TemporaryFolder()
        var download = DownloadOptions()
        download.checksum = .sha256(String(repeating: "0", count: 64))
        _ = try await client.download(
          .get(RequestTarget(server.url)), to: folder.url.appending(path: "a"), options: download)
      },
      Cause(kind: .downloadInProgress) { client, server in
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "a")
        let first = client.startDownload(.get(RequestTarget(server.url("/hang"))), to: file)
        defer { first.cancel() }
        _ = await server.waitForRequests(1)
        try await client.download(.get(RequestTarget(server.url)), to: file)
      },
      Cause(kind: .queueFailed) { client, server in
        let queue = RequestQueue(client: client)
        let first = queue.add(.get(RequestTarget(server.url("/missing"))), options: .accepts(.success))
        _ = try await queue.add(.get(RequestTarget(server.url)), after: [first.id]).value
      },
      Cause(kind: .unsupported) { client, server in
        _ = try await client.get(RequestTarget(server.url), options: .httpVersion(.http2))
      },
      Cause(kind: .overloaded) { client, server in
        var rate = RateLimit.perMinute(1)
        rate.maximumWaiting = 0
        for _ in 0..<2 { _ = try await client.get(RequestTarget(server.url), options: .rate(rate)) }
      },
      Cause(kind: .circuitOpen) { client, server in
        let client = client.derived {
          $0.circuitBreaker = .afterFailures(1)
          $0.retry = .off
        }
        let target = RequestTarget(server.url("/hang"))
        _ = try? await client.get(target, options: .timeout(.milliseconds(50)))
        _ = try await client.get(target)
      },
      Cause(kind: .dataBudgetExceeded) { client, server in
        let client = client.derived { $0.dataBudget = .perDay(1) }
        for _ in 0..<2 { _ = try await client.get(RequestTarget(server.url)) }
      },
      Cause(kind: .clientClosed) { client, server in
        await client.drain()
        _ = try await client.get(RequestTarget(server.url))
      },
      Cause(kind: .middlewareFailed) { client, server in
        throw await Self.error(client.derived { $0.middleware = [.closure { _, _, _ in throw Failure() }] }, server)
      },
      Cause(kind: .cancelled) { client, server in throw await Self.error(client, server, isCancelled: true) },
    ]

    /// Returns the error that a callback receives.
    private static func error(_ client: HTTPClient, _ server: MockServer, isCancelled: Bool = false) async -> HTTPError
    {
      await withCheckedContinuation { continuation in
        let handle = client.get(
          RequestTarget(server.url("/hang")), options: .reportsCancellation(), onSuccess: { _ in },
          onError: { continuation.resume(returning: $0) })
        if isCancelled { handle.cancel() }
      }
    }

    // S20
    @Test(arguments: Lane.engines, causes) func `each cause has its error kind`(lane: Lane, cause: Cause) async throws {
      if cause.kind == .checksumMismatch { try TemporaryFolder.requireRoom() }
      let server = try MockServer { request in
        switch request.path {
        case "/missing": .status(404)
        case "/loop": .redirect(to: "/loop")
        case "/ftp": .redirect(to: "ftp://127.0.0.1/")
        case "/again": .redirect(to: "/", status: 307)
        case "/locked": .status(401)
        case "/hang": .hang
        default: .ok("no number")
        }
      }

      let error = await #expect(throws: HTTPError.self) { try await cause.provoke(lane.client(), server) }

      #expect(error?.kind == cause.kind, "\(error.map(\.description) ?? "")")
    }

    // S20
    @Test func `every error kind has a tested cause`() throws {
      let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
      let source = try String(
        contentsOf: root.appending(path: "Sources/Martlet/Messages/HTTPErrorKind.swift"), encoding: .utf8)
      let names = Set(source.matches(of: /static let (\w+) = Kind/).map { String($0.1) })

      let caused = Set((Self.causes.map(\.kind) + ErrorCause.all.map(\.kind)).map(\.description))

      #expect(names.count > 20)
      #expect(caused == names)
    }
  }
#endif
