#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import MartletBase
  @testable import Martlet

  /// Storages whose processes are killed while they write, share a folder, or may not write.
  @Suite(.ownThreads, .hangLimit) struct DiskStorageProcessTests {
    private static func sizes(_ path: String) -> (bytes: Int, temporaries: Int) {
      var (bytes, temporaries) = (0, 0)
      let files = FileManager.default.enumerator(atPath: path)
      while let file = files?.nextObject() as? String {
        guard let facts = try? FileManager.default.attributesOfItem(atPath: "\(path)/\(file)"),
          facts[.type] as? FileAttributeType == .typeRegular
        else { continue }
        if file.hasPrefix("new-") {
          temporaries += 1
        } else {
          bytes += (facts[.size] as? NSNumber)?.intValue ?? 0
        }
      }
      return (bytes, temporaries)
    }

    /// Returns the number of stored bytes, counted within a few milliseconds.
    private static func bytes(_ path: String) -> Int {
      guard let folder = try? DiskFolder.open(path) else { return 0 }
      var bytes = 0
      for part in 0..<256 {
        guard let inner = folder.openFolder(part) else { continue }
        DiskCalls.eachName(in: inner.number) { name in
          if let facts = DiskCalls.facts(name, in: inner.number), facts.isFile { bytes += Int(facts.size) }
        }
      }
      return bytes
    }

    @Test func `a process killed while storing leaves only intact records`() async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("store")
      let count = Figures.setting("MARTLET_CACHE_KILLS") ?? Stress.count(20, full: 200)
      let start = ContinuousClock.now
      var found = 0

      for round in stride(from: 0, to: count, by: 4) {
        // Four processes at a time are faster, and they use the storage concurrently.
        await withTaskGroup { group in
          for index in 0..<4 {
            group.addTask {
              await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, delay = Int.random(in: 1...30_000) as Int, isFirst = (index == 0) as Bool] in
                DiskStorageProcessTests.storeUntilKilled(path, after: delay, isBegun: isFirst)
              }
            }
          }
        }
        let shelf = DiskStorage(path: path, limit: 1 << 30)
        for number in 0..<ShelfWorkload.keyCount {
          guard let record = try shelf.record(ShelfWorkload.key(number)) else { continue }
          found += 1
          #expect(ShelfWorkload.fault(record, number) == nil, "round \(round)")
        }
      }

      let left = Self.sizes(path).temporaries
      Figures.record(
        "cache: killed \(count) times in \(Figures.milliseconds(ContinuousClock.now - start)), \(left) of them while a "
          + "file was written; \(found) records found")
      // Two hours later, the temporary files are old enough to be removed.
      let shelf = DiskStorage(path: path, limit: 1 << 30) { Date() + 7200 }
      // On a slow machine, some keys may never have been stored.
      let stored = shelf.contents().count
      #expect(1...ShelfWorkload.keyCount ~= stored)
      #expect(shelf.usage().records == stored)
      let sizes = Self.sizes(path)
      #expect(sizes.temporaries == 0)
      #expect(Int64(sizes.bytes) == shelf.usage().bytes)
    }

    static func storeUntilKilled(_ path: String, after delay: Int, isBegun: Bool) {
      let shelf = DiskStorage(path: path, limit: 1 << 30)
      if isBegun { try? shelf.store(ShelfWorkload.record(1, 1), ShelfWorkload.key(1)) }
      let killer = Thread {
        usleep(UInt32(delay))
        kill(getpid(), SIGKILL)
      }
      killer.start()
      let first = Int.random(in: 0..<1_000_000)
      for version in first..<(first + 1_000_000) {
        let number = Int.random(in: 0..<ShelfWorkload.keyCount)
        do { try shelf.store(ShelfWorkload.record(number, version), ShelfWorkload.key(number)) } catch {
          exit(EX_IOERR)
        }
      }
    }

    @Test func `two processes that share a folder never read a wrong body and stay near the limit`() async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("store")
      let seconds = Figures.setting("MARTLET_CACHE_SECONDS") ?? Stress.count(1, full: 5)
      let limit = 12 << 20
      let isOver = Shared(false)
      let most = Shared(0)

      await withTaskGroup { group in
        group.addTask {
          while !isOver.withLock({ $0 }) {
            let start = ContinuousClock.now
            let bytes = Self.bytes(path)
            // A slow count includes both removed records and their replacements, so it is ignored.
            if ContinuousClock.now - start < .milliseconds(15) { most.withLock { $0 = max($0, bytes) } }
            try? await Task.sleep(for: .milliseconds(20))
          }
        }
        group.addTask {
          await withTaskGroup { group in
            for _ in 0..<2 {
              group.addTask {
                let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                  [path = path as String, limit = limit as Int, seconds = seconds as Int] in
                  let (stored, found, fault) = ShelfWorkload.hammer(
                    DiskStorage(path: path, limit: Int64(limit)), keys: 600, for: .seconds(seconds), atLeast: 51)
                  Figures.record(
                    "cache: one of two processes stored \(stored) and found \(found); \(fault ?? "all right")")
                  #expect(fault == nil)
                  #expect(stored > 50 && found > 50)
                }
                Figures.show(child)
              }
            }
          }
          isOver.withLock { $0 = true }
        }
      }

      // A count may include both removed records and their replacements, and each process learns of the other's records
      // only after some time.
      #expect(!Stress.isOn || most.withLock { $0 } <= limit + limit / 2)
      let bytes = Self.sizes(path).bytes
      Figures.record("cache: at most \(bytes) bytes of \(limit)")
      #expect(bytes <= limit + limit / 10)
      #expect(!Stress.isOn || bytes > limit / 2)
      let shelf = DiskStorage(path: path, limit: Int64(limit))
      let left = try (0..<600).filter { number in
        guard let record = try shelf.record(ShelfWorkload.key(number)) else { return false }
        #expect(ShelfWorkload.fault(record, number) == nil)
        return true
      }
      #expect(left.count == shelf.contents().count && !left.isEmpty)
    }

    @Test func `concurrent tasks on one storage never read a wrong body`() async throws {
      let folder = try TemporaryFolder()
      let shelf = DiskStorage(path: folder.path("store"), limit: 8 << 20)

      let results = await withTaskGroup { group in
        for _ in 0..<4 {
          group.addTask { @concurrent in ShelfWorkload.hammer(shelf, keys: 200, for: .seconds(2)) }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }

      for (stored, _, fault) in results {
        #expect(fault == nil)
        #expect(stored > 0)
      }
      #expect(Self.sizes(shelf.path).temporaries == 0)
      #expect(shelf.usage().bytes <= 8 << 20)
      // The index accounts for everything that was removed or replaced.
      let known = shelf.state.withLock { ($0.index.bytes, $0.index.count) }
      #expect(known == shelf.usage())
    }

    @Test func `a full disk is an error and leaves no temporary files`() async throws {
      let folder = try TemporaryFolder()
      await #expect(processExitsWith: .success) { [path = folder.path("store") as String] in
        // Writing beyond the maximum file size fails as on a full disk.
        signal(SIGXFSZ, SIG_IGN)
        #if canImport(Glibc)
          let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        #else
          let resource = RLIMIT_FSIZE
        #endif
        var most = rlimit(rlim_cur: 600_000, rlim_max: 600_000)
        #expect(setrlimit(resource, &most) == 0)
        let shelf = DiskStorage(path: path, limit: 1 << 30)
        let small = CacheRecord(body: .data(Data(count: 1000)))
        try shelf.store(small, ShelfWorkload.key(1))

        for count in [700_000, 1_500_000] {
          let error = #expect(throws: HTTPError.self) {
            try shelf.store(CacheRecord(body: .data(Data(count: count))), ShelfWorkload.key(1))
          }
          #expect(error?.kind == .fileFailed)
          #expect(error?.message.contains(path) == true)
        }
        var sink = try shelf.makeSink()
        #expect(throws: HTTPError.self) { for _ in 0..<20 { try sink?.write(Data(count: 100_000)) } }
        sink = nil

        #expect(DiskStorageProcessTests.sizes(path).temporaries == 0)
        // The earlier record is still stored.
        #expect(try shelf.record(ShelfWorkload.key(1))?.body.count == 1000)
        try shelf.store(small, ShelfWorkload.key(2))
        #expect(shelf.usage().records == 2)
      }
    }

    @Test(.needs(.proc)) func `closes its file descriptors`() async throws {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        let shelf = DiskStorage(path: folder.path("store"), limit: 4 << 20)
        try shelf.store(ShelfWorkload.record(0, 1), ShelfWorkload.key(0))
        let before = ProcessFacts.descriptorCount

        for version in 0..<50 {
          for number in [0, 1, 10, 20, 30] {
            try shelf.store(ShelfWorkload.record(number, version), ShelfWorkload.key(number))
            _ = try shelf.record(ShelfWorkload.key(number))
          }
          var sink = try shelf.makeSink()
          try sink?.write(Data(count: 300_000))
          _ = shelf.contents()
          _ = shelf.usage()
        }

        // The runtime may open its own descriptors.
        #expect(ProcessFacts.descriptorCount - before < 10)
      }
    }

    /// Only records figures, because an unoptimized build takes a long time to open a storage with many records.
    @Test(.needs(.proc), .enabled(if: Figures.setting("MARTLET_CACHE_ENTRIES") != nil))
    func `opens and reads a storage with many records`() async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("store")
      let count = Figures.setting("MARTLET_CACHE_ENTRIES") ?? 0
      let filler = DiskStorage(path: path, limit: 1 << 40)
      for number in 0..<count {
        try filler.store(CacheRecord(body: .data(Data(count: 1000))), ShelfWorkload.key(number))
      }

      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [path = path as String, count = count as Int] in
        let shelf = DiskStorage(path: path, limit: 1 << 40)
        let memory = ProcessFacts.residentBytes
        let start = ContinuousClock.now
        try shelf.store(CacheRecord(), ShelfWorkload.key(0))
        let opened = ContinuousClock.now
        let grown = ProcessFacts.residentBytes - memory
        for number in 0..<1000 { #expect(try shelf.record(ShelfWorkload.key(number)) != nil) }
        let read = ContinuousClock.now
        Figures.record(
          "cache: \(count) records are opened in \(Figures.milliseconds(opened - start)) and \(grown >> 10) KiB; "
            + "1000 are read in \(Figures.milliseconds(read - opened))")
        #expect(grown < 64 << 20)
      }
      Figures.show(child)
    }
  }
#endif
