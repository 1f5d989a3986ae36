import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletOutbox

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Files and folders that belong to another user, in places where the library stores its own.
@Suite(.needs(.root), .ownThreads, .hangLimit) struct OtherUserTests {
  private static let text = "belongs to another user"

  /// Gives files and folders to another user.
  private static func give(_ paths: String...) throws {
    for path in paths { try #require(chown(path, 65_534, 65_534) == 0) }
  }

  private static func isForeign(_ error: HTTPError?) -> Bool {
    error?.kind == .fileFailed && error?.message.contains(text) == true
  }

  @Test(arguments: ["", "/journal", "/lock"])
  func `an outbox refuses a folder or file of another user`(name: String) async throws {
    let folder = try TemporaryFolder()
    let (url, path) = (folder.url.appending(path: "outbox"), folder.path("outbox"))
    let client = HTTPClient(StubTransport { _ in .failure(HTTPError(.connectionLost, "stubbed")) })
    let first = try await client.outbox(at: url)
    try await first.submit(.post("http://a.test/"))
    await first.close()
    let before = try folder.contents("outbox/journal")
    try Self.give(path + name)

    let error = await #expect(throws: HTTPError.self) {
      let outbox = try await client.outbox(at: url)
      try await outbox.submit(.post("http://a.test/"))
    }

    #expect(Self.isForeign(error), "\(String(describing: error))")
    #expect(try folder.contents("outbox/journal") == before)
  }

  @Test func `credentials are neither read from nor written to another user's file`() async throws {
    let folder = try TemporaryFolder()
    let store = Authenticators.FileCredentialStore(folder.url.appending(path: "credentials"))
    let space = ProtectionSpace(scheme: "https", host: "a.test", port: 443)
    try await store.set(.user("ada", password: "secret"), for: space)
    let before = try folder.contents("credentials")
    try Self.give(folder.path("credentials"))

    let reading = await #expect(throws: HTTPError.self) { try await store.credential(for: space) }
    let writing = await #expect(throws: HTTPError.self) { try await store.set(nil, for: space) }
    try Self.give(folder.path("credentials.lock"))
    let locking = await #expect(throws: HTTPError.self) { try await store.set(nil, for: space) }

    #expect(Self.isForeign(reading) && Self.isForeign(writing) && Self.isForeign(locking))
    #expect(locking?.message.contains("credentials.lock") == true)
    #expect(try folder.contents("credentials") == before)
  }

  @Test func `cookies are neither read from nor written to another user's file, and the jar reports it`() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "cookies")
    await CookieJar(file: file).set(CookieFileTests.cookie("a"))
    let before = try folder.contents("cookies")
    try Self.give(folder.path("cookies"))

    let jar = CookieJar(file: file)
    let reading = await jar.problem
    await jar.set(CookieFileTests.cookie("b"))
    let saving = await #expect(throws: HTTPError.self) { try await jar.save() }

    #expect(Self.isForeign(reading) && Self.isForeign(saving))
    #expect(await Self.isForeign(jar.problem))
    #expect(await jar.all.map(\.name) == ["b"])
    #expect(try folder.contents("cookies") == before && folder.names == ["cookies", "cookies.lock"])
  }

  // F42
  @Test func `a jar reports that its lock belongs to another user, and requests succeed`() async throws {
    let folder = try TemporaryFolder()
    try folder.write("", to: "cookies.lock")
    try Self.give(folder.path("cookies.lock"))
    let client = HTTPClient(StubTransport { _ in .status(.ok, headers: ["Set-Cookie": "a=1; Max-Age=60"]) }) {
      $0.cookies = .file(folder.url.appending(path: "cookies"))
    }

    let response = try await client.get("http://x.test/")
    let problem = await client.cookies.problem

    #expect(response.status == .ok)
    #expect(Self.isForeign(problem) && problem?.message.contains("cookies.lock") == true)
    #expect(await client.cookies.all.map(\.name) == ["a"] && folder.names == ["cookies.lock"])
  }

  @Test func `HSTS hosts are not read from another user's file, and http requests fail`() async throws {
    let folder = try TemporaryFolder()
    let store = RequestGuard.HSTSStore.file(folder.url.appending(path: "hosts"))
    let now = Date(timeIntervalSince1970: 1_000_000)
    let first = HSTSHosts(store, now: now)
    #expect(first.receive("max-age=100", from: try AbsoluteURL.parse("https://a.test/"), now: now))
    await first.save(now: now)
    let before = try folder.contents("hosts")
    try Self.give(folder.path("hosts"))
    let transport = StubTransport { _ in
      .status(.ok, headers: ["Strict-Transport-Security": "max-age=100"])
    }
    let client = HTTPClient(transport) { $0.guards = [.hsts(store)] }

    let error = await #expect(throws: HTTPError.self) { try await client.get("http://a.test/") }
    let secure = try await client.get("https://b.test/")

    #expect(Self.isForeign(error), "\(String(describing: error))")
    #expect(secure.status == .ok && transport.requests.count == 1)
    #expect(try folder.contents("hosts") == before)
  }

  // F42
  @Test func `HSTS hosts are not written if the lock belongs to another user, and requests succeed`() async throws {
    let folder = try TemporaryFolder()
    try folder.write("", to: "hosts.lock")
    try Self.give(folder.path("hosts.lock"))
    let transport = StubTransport { _ in .status(.ok, headers: ["Strict-Transport-Security": "max-age=100"]) }
    let client = HTTPClient(transport) { $0.guards = [.hsts(.file(folder.url.appending(path: "hosts")))] }

    _ = try await client.get("https://a.test/")
    let upgraded = try await client.get("http://a.test/")

    #expect(upgraded.url.scheme == "https" && folder.names == ["hosts.lock"])
  }

  private static func cached(_ folder: TemporaryFolder) -> (client: HTTPClient, transport: StubTransport) {
    let transport = StubTransport { _ in .text("body", headers: ["Cache-Control": "max-age=1000"]) }
    let client = HTTPClient(transport) { $0.cache = .disk(folder.url.appending(path: "cache")) }
    return (client, transport)
  }

  @Test func `a cache refuses another user's folder, and the request reports the reason`() async throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      at: folder.url.appending(path: "cache"), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try Self.give(folder.path("cache"))
    let (client, transport) = Self.cached(folder)

    for _ in 0..<2 {
      let handle = client.start(.get("http://a.test/x"))
      var reasons: [String] = []
      for await event in handle.events { if case .notCached(let reason) = event { reasons.append(reason) } }
      #expect(try await handle.value.source == .network)
      #expect(reasons.count == 1 && reasons.first?.contains(Self.text) == true, "\(reasons)")
    }

    #expect(transport.requests.count == 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("cache")).isEmpty)
  }

  @Test(arguments: [true, false])
  func `ignores a stored response whose file or folder belongs to another user`(
    isFolder: Bool
  ) async throws {
    let folder = try TemporaryFolder()
    _ = try await Self.cached(folder).client.get("http://a.test/x")
    #expect(try await Self.cached(folder).client.get("http://a.test/x").source == .cache)
    let inner = try #require(FileManager.default.contentsOfDirectory(atPath: folder.path("cache")).first)
    let path = folder.path("cache/\(inner)")
    let name = try #require(FileManager.default.contentsOfDirectory(atPath: path).first)
    try Self.give(isFolder ? path : "\(path)/\(name)")

    let (client, transport) = Self.cached(folder)
    let sources = [try await client.get("http://a.test/x").source, try await client.get("http://a.test/x").source]

    #expect(sources == (isFolder ? [.network, .network] : [.network, .cache]))
    #expect(transport.requests.count == (isFolder ? 2 : 1))
  }

  #if os(Linux)
    // F40; the test drops root's rights, because root ignores the sticky bit (mode 1777).
    @Test(arguments: [(".json", true), (".json.new", true), (".link", false)])
    func `refuses or ignores companion files of a part file that belong to another user`(
      ending: String, isRefused: Bool
    ) async {
      await #expect(processExitsWith: .success) { [ending = ending as String, isRefused = isRefused as Bool] in
        let folder = try TemporaryFolder()
        let name = "a.bin.part" + ending
        try folder.write("theirs", to: name)
        try #require(chmod(folder.url.path, 0o1777) == 0 && chmod(folder.path(name), 0o666) == 0)
        try #require(seteuid(65_534) == 0)
        let server = try FileServer(.init(bytes: Data("bytes".utf8)))

        let result = await Result {
          try await Lane.curl.client().download(.get(server.target), to: folder.url.appending(path: "a.bin"))
        }
        try #require(seteuid(0) == 0)

        #expect(try folder.contents(name) == Data("theirs".utf8))
        #expect(((try? result.get()) == nil) == isRefused, "\(result)")
        #expect(server.requests.isEmpty == isRefused)
        #expect(folder.names == (isRefused ? [name] : ["a.bin", name]))
      }
    }

    // F45
    @Test func `a download into a folder that is writable but unreadable fails before anything is sent`() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        try #require(chmod(folder.url.path, 0o333) == 0)
        try #require(seteuid(65_534) == 0)
        let server = try FileServer(.init(bytes: Data("bytes".utf8)))

        let error = await #expect(throws: HTTPError.self) {
          try await Lane.curl.client().download(.get(server.target), to: folder.url.appending(path: "a.bin"))
        }
        try #require(seteuid(0) == 0)

        #expect(error?.kind == .fileFailed && error?.message.contains("cannot be opened, which syncing") == true)
        #expect(server.requests.isEmpty && folder.names.isEmpty)
      }
    }

    // F45
    @Test func `an outbox with an existing folder needs no read access to the parent folder`() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        let inner = folder.path("outbox")
        try FileManager.default.createDirectory(
          atPath: inner, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try #require(chmod(folder.url.path, 0o711) == 0 && chown(inner, 65_534, 65_534) == 0)
        try #require(seteuid(65_534) == 0)

        let journal = try OutboxJournal(URL(filePath: inner))
        _ = try journal.append([OutboxLine(.gone(UUID()))], isSynced: true)
        try #require(seteuid(0) == 0)

        #expect(try FileManager.default.contentsOfDirectory(atPath: inner).sorted() == ["journal", "lock"])
      }
    }
  #endif
}
