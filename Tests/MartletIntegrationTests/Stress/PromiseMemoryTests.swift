#if os(Linux)
  import Foundation
  import Martlet
  import MartletBase
  import MartletTesting
  import TestSupport
  import Testing

  /// Servers that announce much and send little.
  @Suite(.stressOnly, .ownThreads, .needs(.proc), .hangLimit) struct PromiseMemoryTests {
    /// The announcement and how its body is read.
    enum Promise: String, Codable, CaseIterable {
      case whole
      case stream
      case download
      case segments
      case coded
      /// A false length at the end of a gzip body (RFC 1952 §2.3.1).
      case size

      static let bytes = 100 << 20

      func read(_ client: HTTPClient, _ url: RequestTarget, to file: URL) async throws {
        switch self {
        case .whole, .coded, .size: _ = try await client.get(url)
        case .stream: try await client.stream(.get(url)) { for try await _ in $0.body {} }
        case .download: _ = try await client.download(.get(url), to: file)
        case .segments:
          var options = DownloadOptions()
          options.segments = 3
          _ = try await client.download(.get(url), to: file, options: options)
        }
      }

      func answer(_ request: RecordedRequest) -> MockResponse {
        let head = "ETag: \"1\"\r\nAccept-Ranges: bytes\r\n"
        let length = "Content-Length: \(Self.bytes)\r\n"
        switch self {
        case .whole, .stream, .download: return .raw("HTTP/1.1 200 OK\r\n\(head)\(length)\r\nabc", thenClose: false)
        case .coded, .size:
          var body = CodedBodies.gzip
          if self == .size { body.replaceSubrange((body.count - 4)..., with: [0, 0, 0x40, 0x06]) }
          let length = self == .size ? "Content-Length: \(body.count)\r\n" : length
          let start = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\(length)\r\n"
          return .steps([.text(start), .bytes(body), .hang])
        case .segments:
          let range = request.header("Range").flatMap { field in
            let ends = field.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
            return ends.first.map { $0...(ends.count > 1 ? ends[1] : Self.bytes - 1) }
          }
          guard let range else {
            let start = "HTTP/1.1 200 OK\r\n\(head)\(length)\r\n"
            return .raw(request.method == "HEAD" ? start : start + "abc", thenClose: false)
          }
          let part = "Content-Range: bytes \(range.lowerBound)-\(range.upperBound)/\(Self.bytes)\r\n"
          return .raw(
            "HTTP/1.1 206 Part\r\n\(head)\(part)Content-Length: \(range.count)\r\n\r\nabc", thenClose: false)
        }
      }
    }

    @Test(arguments: Lane.engines, Promise.allCases)
    func `allocates little memory for announced bytes before they arrive`(_ lane: Lane, _ promise: Promise) async {
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [lane = lane as Lane, promise = promise as Promise] in
        let count = 24
        ProcessFacts.limitArenas()
        let folder = try TemporaryFolder()
        let server = try MockServer { request in request.path == "/warm" ? .ok("x") : promise.answer(request) }
        let client = lane.client {
          $0.maximumConnections = 100
          $0.maximumConnectionsPerHost = 100
          $0.timeout = .unlimited
          $0.options = .coalesces(false)
        }
        _ = try await client.get(RequestTarget(server.url("/warm")))
        let (resident, reserved) = (ProcessFacts.residentBytes, ProcessFacts.reservedBytes)

        let tasks = (0..<count).map { number in
          Task {
            try await promise.read(
              client, RequestTarget(server.url("/\(number)")), to: folder.url.appending(path: "\(number)"))
          }
        }
        #expect(await server.waitForRequests(count + 1))
        // The received bytes are read and further segments requested. Nothing reports the end of that, so the test
        // waits.
        try await Task.sleep(for: .seconds(1))
        let more = (ProcessFacts.residentBytes - resident, ProcessFacts.reservedBytes - reserved)
        for task in tasks { task.cancel() }
        for task in tasks {
          let error = await #expect(throws: (any Error).self) { try await task.value }
          #expect(promise != .size || (error as? HTTPError)?.kind == .protocolViolation)
        }

        Figures.record(
          "\(count) times 100 MiB promised, \(promise) on \(lane): \(more.0 >> 10) KiB, \(more.1 >> 10) KiB reserved")
        #expect(isSanitized || more.0 < count << 20)
        #expect(isSanitized || more.1 < count * (Promise.bytes / 10))
      }
      Figures.show(child)
    }
  }
#endif
