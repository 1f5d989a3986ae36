#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// Bodies that are too large for memory, to and from nginx.
  @Suite(.stressOnly, .ownThreads, .needs(.proc), .hangLimit) struct TransferMemoryTests {
    private static var megabytes: Int { Figures.setting("MARTLET_TRANSFER_MEGABYTES") ?? (isSanitized ? 64 : 1024) }

    /// Creates a file of zeros that occupies no disk space.
    private static func makeSparse(_ path: String) throws {
      #expect(FileManager.default.createFile(atPath: path, contents: nil))
      let handle = try FileHandle(forWritingTo: URL(filePath: path))
      try handle.truncate(atOffset: UInt64(megabytes) << 20)
      try handle.close()
    }

    @Test(.needs(.nginx), arguments: Lane.engines)
    func `a reader that sleeps for 10 s and then reads the rest uses bounded memory`(lane: Lane) async throws {
      let nginx = try await NginxServer(files: ["www/empty": ""], "location / { root www; }")
      try Self.makeSparse(nginx.path("www/large"))
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [url = nginx.url as String, megabytes = Self.megabytes as Int, lane = lane as Lane] in
        let client = lane.client { $0.timeout.total = nil }
        _ = try await client.get("\(raw: url)/empty")
        let count = Shared(Int64(0))
        let more = try await ProcessFacts.peakGrowth {
          try await client.stream(.get("\(raw: url)/large")) { response in
            for try await piece in response.body {
              let isFirst = count.withLock { count in
                defer { count += Int64(piece.count) }
                return count == 0
              }
              if isFirst { try await Task.sleep(for: .seconds(10)) }
            }
          }
        }
        Figures.record("a body of \(megabytes) MiB on \(lane), after a sleep of 10 s: \(more >> 10) KiB more than idle")
        #expect(count.withLock { $0 } == Int64(megabytes) << 20)
        #expect(isSanitized || more < 40 << 20)
      }
      Figures.show(child)
    }

    @Test(.needs(.nginx), arguments: Lane.engines)
    func `uploads a large file with bounded memory`(lane: Lane) async throws {
      let nginx = try await NginxServer(
        files: ["www/empty": ""],
        "location / { root www; dav_methods PUT; client_max_body_size 0; client_body_in_file_only off; }")
      try Self.makeSparse(nginx.path("large"))
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [
          url = nginx.url as String, path = nginx.path("large") as String, megabytes = Self.megabytes as Int,
          lane = lane as Lane
        ] in
        let client = lane.client { $0.timeout.total = nil }
        _ = try await client.put("\(raw: url)/small", body: .data(Data(count: 3_000_000)))
        let status = Shared(0)
        let more = try await ProcessFacts.peakGrowth {
          let response = try await client.put("\(raw: url)/arrived", body: .file(URL(filePath: path)))
          status.withLock { $0 = response.status.rawValue }
        }
        Figures.record("a file of \(megabytes) MiB up on \(lane): \(more >> 10) KiB more than idle")
        #expect(status.withLock { $0 } == 201)
        #expect(isSanitized || more < 40 << 20)
      }
      Figures.show(child)
      let facts = try FileManager.default.attributesOfItem(atPath: nginx.path("www/arrived"))
      #expect(facts[.size] as? Int == Self.megabytes << 20)
    }
  }
#endif
