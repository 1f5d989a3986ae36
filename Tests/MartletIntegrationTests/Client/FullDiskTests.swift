#if os(Linux)
  import Foundation
  import MartletBase
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet
  @testable import MartletTool
  @testable import MartletOutbox

  /// Files that do not fit on the disk.
  ///
  /// The tests run in separate processes, where a limit for the size of files simulates a full disk.
  @Suite(.ownThreads, .hangLimit) struct FullDiskTests {
    /// Limits the size of files: a write that exceeds the limit is truncated, and the next one fails.
    static func fill(at bytes: Int) { limit(to: rlim_t(bytes)) }

    static func empty() { limit(to: nil) }

    private static func limit(to bytes: rlim_t?) {
      #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
      #else
        let resource = RLIMIT_FSIZE
      #endif
      // By default, this signal would end the process.
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit()
      getrlimit(resource, &limit)
      limit.rlim_cur = bytes ?? limit.rlim_max
      #expect(setrlimit(resource, &limit) == 0)
    }

    @Test func `a full disk leaves the cookie file unchanged, and cookies are saved once there is room`() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "cookies")
        let jar = CookieJar(file: file)
        await jar.set(CookieFileTests.cookie("a"))
        let before = try folder.contents("cookies")

        FullDiskTests.fill(at: before.count + 100)
        await jar.set(CookieFileTests.cookie("b", String(repeating: "v", count: 3000)))
        let problem = await jar.problem
        let error = await #expect(throws: HTTPError.self) { try await jar.save() }

        #expect(problem?.kind == .fileFailed && error?.kind == .fileFailed)
        #expect(await jar.all.map(\.name).sorted() == ["a", "b"])
        #expect(await CookieJar(file: file).all.map(\.name) == ["a"])
        #expect(try folder.contents("cookies") == before)
        #expect(folder.names == ["cookies", "cookies.lock"])

        FullDiskTests.empty()
        try await jar.save()
        #expect(await jar.problem == nil)
        #expect(await CookieJar(file: file).all.map(\.name).sorted() == ["a", "b"])
      }
    }

    @Test func `a full disk leaves the HSTS file unchanged, and hosts are saved with the next change`() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        let now = Date()
        let hosts = HSTSHosts(.file(folder.url.appending(path: "hosts")), now: now)
        func receive(_ host: String) async throws {
          _ = hosts.receive("max-age=1000", from: try AbsoluteURL.parse("https://\(host)/"), now: now)
          await hosts.save(now: now)
        }
        try await receive("a.test")
        let before = try folder.contents("hosts")

        FullDiskTests.fill(at: before.count + 3)
        try await receive("b.test")

        #expect(try folder.contents("hosts") == before && before.count > 20)
        #expect(folder.names == ["hosts", "hosts.lock"])
        #expect(hosts.covers("b.test", now: now))

        FullDiskTests.empty()
        try await receive("c.test")
        let next = HSTSHosts(.file(folder.url.appending(path: "hosts")), now: now)
        #expect(["a.test", "b.test", "c.test"].allSatisfy { next.covers($0, now: now) })
      }
    }

    @Test func `a full disk leaves the credential file unchanged, and setting a credential throws`() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        let store = Authenticators.FileCredentialStore(folder.url.appending(path: "credentials"))
        let space = ProtectionSpace(scheme: "https", host: "a.test", port: 443)
        let other = ProtectionSpace(scheme: "https", host: "b.test", port: 443)
        try await store.set(.user("ada", password: "secret"), for: space)
        let before = try folder.contents("credentials")

        FullDiskTests.fill(at: before.count + 10)
        let error = await #expect(throws: HTTPError.self) {
          try await store.set(.user("bob", password: "word"), for: other)
        }

        #expect(error?.kind == .fileFailed && error?.message.contains("word") == false)
        #expect(try folder.contents("credentials") == before)
        #expect(folder.names == ["credentials", "credentials.lock"])
        #expect(try await store.credential(for: space) == .user("ada", password: "secret"))

        FullDiskTests.empty()
        try await store.set(.user("bob", password: "word"), for: other)
        #expect(try await store.credential(for: other) == .user("bob", password: "word"))
      }
    }

    @Test
    func `a full disk leaves the file of a data budget unchanged, and the usage is saved once there is room`()
      async
    {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        var budget = DataBudget.perDay(1_000)
        budget.scope = .tag
        budget.file = folder.url.appending(path: "budget")
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        // The clock never advances, so the ledger does not save automatically.
        let timeline = Timeline(TestClock(advancing: .manually))
        let ledger = DataLedger(budget)
        ledger.add(100, "a", now: { now }, timeline)
        try await ledger.save(now: now)
        let before = try folder.contents("budget")

        FullDiskTests.fill(at: before.count + 3)
        ledger.add(200, "b with a long name", now: { now }, timeline)
        let error = await #expect(throws: HTTPError.self) { try await ledger.save(now: now) }
        #expect(error?.kind == .fileFailed)
        #expect(try folder.contents("budget") == before)
        // The ledger refuses further requests, because their count could be lost.
        let refusal = await #expect(throws: HTTPError.self) { _ = try await ledger.rest("a", now: now) }
        #expect(refusal?.kind == .fileFailed)

        FullDiskTests.empty()
        #expect(try await ledger.rest("a", now: now).bytes == 900)
        #expect(try await DataLedger(budget).rest("b with a long name", now: now).bytes == 800)
        #expect(folder.names == ["budget", "budget.lock"])
      }
    }

    @Test func `a full disk leaves the tool's output file unchanged`() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        try folder.write("old", to: "a")

        FullDiskTests.fill(at: 1000)
        let file = try OutputFile(folder.path("a"))
        let error = #expect(throws: WriteError.self) { try file.write(Data(repeating: 1, count: 5000)) }
        file.discard()

        #expect(error?.code == EFBIG)
        #expect(folder.names == ["a"])
        #expect(try folder.contents("a") == Data("old".utf8))
      }
    }

    @Test func `an outbox journal reads another writer's records after a failed write`() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        let (one, other) = (try OutboxJournal(folder.url), try OutboxJournal(folder.url))
        _ = try other.append([OutboxLine(.gone(UUID()))], isSynced: false)

        FullDiskTests.fill(at: try folder.contents("journal").count)
        let error = #expect(throws: HTTPError.self) {
          try one.append([OutboxLine(.gone(UUID()))], isSynced: false)
        }
        FullDiskTests.empty()

        #expect(error?.kind == .fileFailed)
        #expect(try one.catchUp().changes.count == 1)
        #expect(try one.catchUp().changes.isEmpty)
      }
    }

    @Test func `removes the temporary file if the target cannot be replaced`() throws {
      let folder = try TemporaryFolder()
      try folder.write("x", to: "a/in the way")

      let error = #expect(throws: HTTPError.self) {
        try PrivateFile.replace(folder.path("a"), with: Data("secret".utf8))
      }

      #expect(error?.kind == .fileFailed)
      #expect(folder.names == ["a"])
    }
  }
#endif
