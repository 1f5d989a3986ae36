import Foundation
import MartletBase
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// The file of a cookie jar: private, complete at every moment, and shared between processes.
@Suite(.ownThreads, .hangLimit) struct CookieFileTests {
  static let later = Date(timeIntervalSince1970: 4_000_000_000)

  static func cookie(_ name: String, _ value: String = "1", domain: String = "x.test") -> Cookie {
    Cookie(name, value, domain: domain, expires: later)
  }

  private func mode(_ path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return try #require(attributes[.posixPermissions] as? NSNumber).intValue
  }

  @Test func `keeps cookies for the next run, and session cookies only if configured`() async throws {
    for keepsSession in [false, true] {
      let folder = try TemporaryFolder()
      let url = folder.url.appending(path: "cookies")
      let jar = CookieJar(file: url, keepsSessionCookies: keepsSession)
      var cookie = Self.cookie("a\"\\\n".filter { $0 != "\n" }, "v \"=\t,\\ äöü 😀")
      cookie.sameSite = .strict
      cookie.isSecure = true
      cookie.isHTTPOnly = true
      cookie.isHostOnly = false
      cookie.path = "/p"

      await jar.set(cookie)
      await jar.set(Cookie("session", "1", domain: "x.test"))
      let next = CookieJar(file: url, keepsSessionCookies: keepsSession)

      let all = await jar.all
      #expect(await next.all == all.filter { keepsSession || !$0.isSessionCookie })
      #expect(await jar.problem == nil)
      #expect(await next.problem == nil)
      #expect(folder.names == ["cookies", "cookies.lock"])
    }
  }

  @Test func `removes deleted, expired and session-replaced cookies from the file`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appending(path: "cookies")
    let jar = CookieJar(file: url)
    for name in ["a", "b", "c", "d"] { await jar.set(Self.cookie(name)) }

    await jar.remove(Self.cookie("a"))
    await jar.set(Cookie("b", "now of the session", domain: "x.test"))
    await jar.set(line: "c=; Max-Age=0", from: "http://x.test/")
    let next = CookieJar(file: url)

    #expect(await next.all.map(\.name) == ["d"])
    #expect(await jar.all.map(\.name).sorted() == ["b", "d"])
    await jar.removeAll()
    #expect(await CookieJar(file: url).all.isEmpty)
  }

  @Test func `is saved when a response is delivered`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appending(path: "cookies")
    let transport = StubTransport { request in
      .status(.ok, headers: ["Set-Cookie": request.url?.query() ?? ""])
    }
    let client = HTTPClient {
      $0.transport = transport
      $0.cookies = .file(url)
    }

    _ = try await client.get("http://x.test/?a=1")
    let isThere = FileManager.default.fileExists(atPath: url.path)
    _ = try await client.get("http://x.test/?b=1;Max-Age=60")
    let other = HTTPClient {
      $0.transport = transport
      $0.cookies = .file(url)
    }
    _ = try await other.get("http://x.test/")

    // A session cookie alone is not saved.
    #expect(!isThere)
    #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, "a=1", "b=1"])
  }

  @Test func `keeps cookies of different TLS trust settings separate across runs`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appending(path: "cookies")
    let transport = StubTransport { _ in .status(.ok, headers: ["Set-Cookie": "a=1; Max-Age=60"]) }
    for tls in [TLSSettings.insecureTrustAnything, .system, .insecureTrustAnything, .system] {
      _ = try await HTTPClient(transport, .tls(tls), .cookies(.file(url))).get("https://x.test/")
    }

    #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, nil, "a=1", "a=1"])
    #expect(await CookieJar(file: url).all.count == 2)
  }

  @Test func `is private to its owner, even if a temporary file was left with wider permissions`() async throws {
    let folder = try TemporaryFolder()
    try folder.write("old", to: "cookies.new")
    chmod(folder.path("cookies.new"), 0o666)
    let jar = CookieJar(file: folder.url.appending(path: "cookies"))

    await jar.set(Self.cookie("a"))

    #expect(try mode(folder.path("cookies")) == 0o600)
    #expect(try mode(folder.path("cookies.lock")) == 0o600)
    #expect(folder.names == ["cookies", "cookies.lock"])
  }

  @Test(arguments: ["cookies", "cookies.lock", "cookies.new"])
  func `does not follow symbolic links`(name: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write("precious", to: "victim")
    try FileManager.default.createSymbolicLink(atPath: folder.path(name), withDestinationPath: folder.path("victim"))
    let jar = CookieJar(file: folder.url.appending(path: "cookies"))

    await jar.set(Self.cookie("a"))

    #expect(try folder.contents("victim") == Data("precious".utf8))
    #expect((await jar.problem?.kind == .fileFailed) == (name != "cookies.new"))
    #expect(await jar.all.count == 1)
  }

  @Test(arguments: ["", "{", "precious", #"{"version":2,"cookies":[]}"#, #"{"cookies":[]}"#, "[]", "\u{0}"])
  func `a file in another format is renamed before it is replaced`(text: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write(text, to: "cookies")
    let url = folder.url.appending(path: "cookies")
    let jar = CookieJar(file: url)
    let problem = await jar.problem

    await #expect(throws: HTTPError.self) { try await jar.save() }
    await jar.set(Self.cookie("a"))

    #expect(problem?.kind == .fileFailed)
    #expect(try folder.contents("cookies.broken") == Data(text.utf8))
    #expect(await jar.problem == nil)
    #expect(await CookieJar(file: url).all.map(\.name) == ["a"])
  }

  @Test func `ignores cookies that no server could have set`() async throws {
    let folder = try TemporaryFolder()
    let entry = """
      {"name":"a","value":"1","domain":"DOMAIN","isHostOnly":false,"path":"/","isSecure":false,"isHTTPOnly":false,\
      "created":0,"lastAccess":0,"expires":4000000000}
      """
    let entries = ["com", "127.0.0.1", "a b", "", "x.test", "co.uk", "x.test\\n"].map {
      entry.replacingOccurrences(of: "DOMAIN", with: $0)
    }
    try folder.write(#"{"version":1,"cookies":[\#(entries.joined(separator: ","))]}"#, to: "cookies")

    let jar = CookieJar(file: folder.url.appending(path: "cookies"))

    #expect(await jar.problem == nil)
    #expect(await jar.all.map(\.domain) == ["x.test"])
  }

  @Test func `a file that cannot be created is reported as a problem and fails no request`() async throws {
    let client = HTTPClient {
      $0.transport = .stub { _ in .status(.ok, headers: ["Set-Cookie": "a=1; Max-Age=60"]) }
      $0.cookies = .file(URL(filePath: "/nonexistent/folder/cookies"))
    }

    let response = try await client.get("http://x.test/")
    let error = await #expect(throws: HTTPError.self) { try await client.cookies.save() }

    #expect(response.status == .ok)
    #expect(error?.kind == .fileFailed)
    #expect(await client.cookies.problem?.kind == .fileFailed)
    #expect(await client.cookies.all.map(\.name) == ["a"])
  }

  @Test func `saves cookies that could not be saved earlier with the next change`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appending(path: "sub/cookies")
    let jar = CookieJar(file: url)
    await jar.set(Self.cookie("a"))
    let problem = await jar.problem

    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    await jar.set(Self.cookie("b"))

    #expect(problem != nil)
    #expect(await jar.problem == nil)
    #expect(await CookieJar(file: url).all.map(\.name) == ["a", "b"])
  }

  @Test func `saving keeps the order in which cookies are sent`() async throws {
    let folder = try TemporaryFolder()
    let date = Date(timeIntervalSince1970: 1_700_000_000)
    let url = folder.url.appending(path: "cookies")
    let jar = CookieJar(file: url, now: { date })
    let names = (0..<20).map { "c\($0)" }

    // All cookies are set at the same instant, and every other one is a session cookie.
    for (index, name) in names.enumerated() {
      await jar.set(line: "\(name)=1\(index % 2 == 0 ? "; Max-Age=60" : "")", from: "http://x.test/")
    }
    try await jar.save()

    #expect(await jar.cookies(for: "http://x.test/").map(\.name) == names)
    let lasting = names.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
    #expect(await CookieJar(file: url, now: { date }).cookies(for: "http://x.test/").map(\.name) == lasting)
  }

  // MARK: Sharing

  @Test func `two jars with the same file keep each other's changes`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appending(path: "cookies")
    let first = CookieJar(file: url)
    let second = CookieJar(file: url)
    await first.set(Self.cookie("both", "1"))
    await first.set(Self.cookie("first"))

    await second.set(Self.cookie("second"))
    await second.set(Self.cookie("both", "2"))
    await second.remove(Self.cookie("first"))
    await first.set(Cookie("session", "1", domain: "x.test"))
    try await first.save()

    #expect(await Set(first.all.map { "\($0.name)=\($0.value)" }) == ["both=2", "second=1", "session=1"])
    #expect(await Set(second.all.map { "\($0.name)=\($0.value)" }) == ["both=2", "second=1"])
    #expect(await Set(CookieJar(file: url).all) == Set(second.all))
  }

  @Test func `many jars that save at the same time lose no cookies`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appending(path: "cookies")

    await withTaskGroup { group in
      for jar in 0..<8 {
        group.addTask { await Self.fill(url, "jar\(jar)", 20) }
      }
    }

    #expect(await CookieJar(file: url).all.count == 160)
  }

  /// Adds a domain's cookies one by one.
  static func fill(_ url: URL, _ name: String, _ count: Int) async {
    let jar = CookieJar(file: url)
    for number in 0..<count {
      await jar.set(cookie("n\(number)", domain: "\(name).test"))
      // Saving may time out while other jars are ahead in the queue, so it is repeated.
      for _ in 0..<20 where await jar.problem != nil { try? await jar.save() }
    }
  }

  @Test func `a lock that is never released does not block the jar`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appending(path: "cookies")
    let lock = try FileLock(folder.path("cookies.lock"), patience: 10)
    let jar = CookieJar(file: url)

    // If each save waited two seconds, the test would exceed its limit. Only saves that start late on a busy machine
    // wait.
    await withTaskGroup { group in
      for number in 0..<60 {
        group.addTask { _ = await jar.set(Self.cookie("c\(number)", domain: "x\(number % 2).test")) }
      }
    }
    let problem = await jar.problem
    lock.release()
    try await jar.save()

    #expect(problem?.message.contains("another process") == true)
    #expect(await CookieJar(file: url).all.count == 60)
  }

  #if os(Linux)
    @Test func `two processes that save at the same time lose no cookies`() async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("cookies")

      await withTaskGroup { group in
        for name in ["one", "two"] {
          group.addTask {
            await #expect(processExitsWith: .success) { [path = path as String, name = name as String] in
              await CookieFileTests.fill(URL(filePath: path), name, 50)
            }
          }
        }
      }

      let all = await CookieJar(file: URL(filePath: path)).all
      #expect(all.filter { $0.domain == "one.test" }.count == 50)
      #expect(all.filter { $0.domain == "two.test" }.count == 50)
    }

    /// The child records each completed save with a separate `write`, which survives the end of the process.
    @Test func `a process killed while saving leaves an intact file`()
      async throws
    {
      let folder = try TemporaryFolder()
      let path = folder.path("cookies")
      let jar = CookieJar(file: URL(filePath: path))
      for number in 0..<40 {
        await jar.set(Self.cookie("c\(number)", String(repeating: "x", count: 2_000), domain: "ballast.test"))
      }
      var random = SystemRandomNumberGenerator()
      var last = 0
      var inside = 0

      let count = Figures.setting("MARTLET_COOKIE_KILLS") ?? Stress.count(6, full: 200)
      for round in 0..<count {
        let delay = Int.random(in: 1...30_000, using: &random)
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [path = path as String, start = last + 1 as Int, delay = delay as Int] in
          await CookieFileTests.saveUntilKilled(path, start, after: delay)
        }
        let completed =
          try String(decoding: folder.contents("cookies.noted"), as: UTF8.self)
          .split(separator: "\n").last.flatMap { Int($0) } ?? 0
        let isInside = folder.names.contains("cookies.new")
        inside += isInside ? 1 : 0

        let found = CookieJar(file: URL(filePath: path))
        let all = await found.all
        let value = all.first { $0.name == "n" }.flatMap { Int($0.value) } ?? 0
        #expect(await found.problem == nil, "round \(round)")
        #expect(all.count == (value == 0 ? 40 : 41), "round \(round)")
        #expect(value >= completed, "round \(round)")
        last = value
      }
      Figures.record("cookies: killed \(count) times, \(inside) of them while the new file was written; \(last) saves")
      // The number of saves depends on the machine.
      #expect(!Stress.isOn || last > count / 40)
    }

    static func saveUntilKilled(_ path: String, _ start: Int, after delay: Int) async {
      let jar = CookieJar(file: URL(filePath: path))
      let noted = open(path + ".noted", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
      let killer = Thread {
        usleep(UInt32(delay))
        kill(getpid(), SIGKILL)
      }
      killer.start()
      for number in start..<(start + 100_000) {
        await jar.set(cookie("n", "\(number)"))
        guard await jar.problem == nil else { exit(EX_IOERR) }
        let line = Array("\(number)\n".utf8)
        _ = write(noted, line, line.count)
      }
    }
  #endif
}
