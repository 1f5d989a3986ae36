import Foundation
import MartletBase
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct CredentialStoreTests {
  private static let space = ProtectionSpace(scheme: "https", host: "a.test", port: 443, realm: "r\"\n\t{}")

  private final class Folder: Sendable {
    private let folder: TemporaryFolder
    var url: URL { folder.url }
    var file: URL { url.appending(path: "deep/credentials.json") }
    var lock: String { file.path + ".lock" }
    var names: [String] {
      get throws {
        try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path).sorted()
      }
    }
    func mode(_ url: URL) throws -> Int? {
      let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
      return (attributes[.posixPermissions] as? NSNumber)?.intValue
    }
    init() throws { folder = try TemporaryFolder() }
  }

  @Test func `stores credentials in a file that only its owner can access`() async throws {
    let folder = try Folder()
    let expires = Date(timeIntervalSince1970: 1_800_000_000.5)
    let token = Credential.token("t", refreshToken: "r\n\"", expires: expires)
    var other = Self.space
    other.realm = nil

    try await Authenticators.FileCredentialStore(folder.file).set(.user("u\n\"", password: "p\u{0}"), for: Self.space)
    try await Authenticators.FileCredentialStore(folder.file).set(token, for: other)
    let next = Authenticators.FileCredentialStore(folder.file)

    #expect(try await next.credential(for: Self.space) == .user("u\n\"", password: "p\u{0}"))
    #expect(try await next.credential(for: other) == token)
    #expect(try await next.credential(for: ProtectionSpace(scheme: "http", host: "a.test", port: 80)) == nil)
    #expect(try folder.mode(folder.file) == 0o600)
    #expect(try folder.mode(folder.file.deletingLastPathComponent()) == 0o700)
    #expect(try folder.names == ["credentials.json", "credentials.json.lock"])

    try await next.set(nil, for: Self.space)
    #expect(try await next.credential(for: Self.space) == nil)
    try await next.removeAll()
    try await next.removeAll()
    #expect(try await next.credential(for: other) == nil)
    #expect(!FileManager.default.fileExists(atPath: folder.file.path))
  }

  private static func space(_ number: Int) -> ProtectionSpace {
    ProtectionSpace(scheme: "https", host: "\(number).test", port: 443)
  }

  @Test func `several stores of one file do not lose updates`() async throws {
    let folder = try Folder()
    let stores = (0..<4).map { _ in Authenticators.FileCredentialStore(folder.file) }

    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<40 {
        group.addTask { try await stores[number % 4].set(.user("\(number)", password: "p"), for: Self.space(number)) }
      }
      try await group.waitForAll()
    }

    for number in 0..<40 {
      #expect(try await stores[0].credential(for: Self.space(number)) == .user("\(number)", password: "p"))
    }
  }

  /// Makes calls in order, each before the previous one has ended.
  private actor Caller {
    private let executor = FileExecutor(label: "Caller")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func start(_ store: Authenticators.FileCredentialStore) -> [Task<Void, any Error>] {
      (0..<10).flatMap { number in
        [
          Task {
            _ = self
            try await store.set(.user("a", password: "p"), for: CredentialStoreTests.space(number))
          },
          Task {
            _ = self
            try await store.removeAll()
          },
          Task {
            _ = self
            try await store.set(.user("b", password: "p"), for: CredentialStoreTests.space(number))
          },
        ]
      }
    }

    /// Returns when all calls have been made.
    func pass() {}
  }

  @Test func `changes take effect in the order of the calls`() async throws {
    let folder = try Folder()
    let store = Authenticators.FileCredentialStore(folder.file)
    try await store.set(.user("u", password: "p"), for: Self.space)
    let lock = try FileLock(folder.lock, patience: 1)
    let caller = Caller()

    let tasks = await caller.start(store)
    await caller.pass()
    lock.release()
    for task in tasks { try await task.value }

    for number in 0..<9 { #expect(try await store.credential(for: Self.space(number)) == nil) }
    #expect(try await store.credential(for: Self.space(9)) == .user("b", password: "p"))
  }

  @Test func `fails without changes while another process holds the lock`() async throws {
    let folder = try Folder()
    let store = Authenticators.FileCredentialStore(folder.file, patience: 1)
    try await store.set(.user("u", password: "p"), for: Self.space)
    let lock = try FileLock(folder.lock, patience: 1)

    let set = await #expect(throws: HTTPError.self) { try await store.set(nil, for: Self.space) }
    let removal = await #expect(throws: HTTPError.self) { try await store.removeAll() }
    let kept = try await store.credential(for: Self.space)
    lock.release()
    try await store.set(nil, for: Self.space)

    for error in [set, removal] {
      #expect(error?.kind == .fileFailed && error?.message.contains("another process") == true)
    }
    #expect(kept == .user("u", password: "p"))
    #expect(try await store.credential(for: Self.space) == nil)
  }

  @Test(arguments: [true, false])
  func `removes the temporary file of a killed process`(isRemoved: Bool) async throws {
    let folder = try Folder()
    let store = Authenticators.FileCredentialStore(folder.file)
    try await store.set(.user("u", password: "p"), for: Self.space)
    try Data("secret".utf8).write(to: URL(fileURLWithPath: folder.file.path + ".new"))

    if isRemoved { try await store.removeAll() } else { try await store.set(nil, for: Self.space(1)) }

    #expect(try folder.names == (isRemoved ? [] : ["credentials.json"]) + ["credentials.json.lock"])
  }

  /// A store whose writes fail or never return.
  private struct UselessStore: CredentialStore {
    var gate: Gate?
    func credential(for space: ProtectionSpace) async throws -> Credential? { nil }
    func set(_ credential: Credential?, for space: ProtectionSpace) async throws {
      guard let gate else { throw HTTPError(.fileFailed, "the disk is full") }
      await gate.wait()
    }
    func removeAll() async throws {}
  }

  private static func losses(_ handle: RequestHandle<HTTPResponse>) async -> [String] {
    var losses: [String] = []
    for await event in handle.events { if case .credentialNotStored(let reason) = event { losses.append(reason) } }
    return losses
  }

  @Test func `emits an event if an accepted credential cannot be stored`() async throws {
    let client = HTTPClient.onTestClock {
      $0.transport = AuthServer.accepting(AuthServer.basic("u", "p"), challenge: #"Basic realm="b""#)
      $0.credentialStore = UselessStore()
      $0.authenticators[.origin("http://a.test")] = .ask { _ in .user("u", password: "p") }
    }

    let handle = client.start(.get("http://a.test/"))

    #expect(try await handle.value.text == "in")
    #expect(await Self.losses(handle).map { $0.contains("the disk is full") } == [true])
  }

  @Test func `emits an event if a new token cannot be stored`() async throws {
    let client = HTTPClient.onTestClock {
      $0.transport = AuthServer.accepting("Bearer new", challenge: "Bearer")
      $0.credentialStore = UselessStore()
      $0.authenticators[.origin("http://a.test")] = .oauth2(.token("old")) { _ in .token("new", refreshToken: "r") }
    }

    let handle = client.start(.get("http://a.test/"))

    #expect(try await handle.value.text == "in")
    #expect(await Self.losses(handle).map { $0.contains("the disk is full") } == [true])
  }

  @Test func `a cancelled call does not wait for a hanging store`() async throws {
    let gate = Gate()
    let client = HTTPClient.onTestClock {
      $0.transport = AuthServer.accepting(AuthServer.basic("u", "p"), challenge: #"Basic realm="b""#)
      $0.credentialStore = UselessStore(gate: gate)
      $0.authenticators[.origin("http://a.test")] = .ask { _ in .user("u", password: "p") }
    }

    let task = Task { try await client.get("http://a.test/") }
    await gate.waitForArrivals(1)
    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
    gate.open()
  }

  @Test(arguments: [
    Credential.user("u", password: "p", domain: "D"), .user("u", password: "p", domain: "", isAllowedWithoutTLS: true),
    .ticket(), .ticket(isAllowedWithoutTLS: true), .user("u", password: "p"),
  ]) func `restores accounts and tickets unchanged`(credential: Credential) async throws {
    let folder = try Folder()

    try await Authenticators.FileCredentialStore(folder.file).set(credential, for: Self.space)

    #expect(try await Authenticators.FileCredentialStore(folder.file).credential(for: Self.space) == credential)
  }

  @Test func `rejects a symbolic link, a file readable by others, and a damaged file`() async throws {
    let folder = try Folder()
    let store = Authenticators.FileCredentialStore(folder.file)
    try await store.set(.user("u", password: "p"), for: Self.space)
    let link = folder.url.appending(path: "link")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.file)

    let viaLink = await #expect(throws: HTTPError.self) {
      try await Authenticators.FileCredentialStore(link).credential(for: Self.space)
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder.file.path)
    let open = await #expect(throws: HTTPError.self) { try await store.credential(for: Self.space) }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file.path)
    try Data("[{\"password\": \"secret".utf8).write(to: folder.file)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file.path)
    let damaged = await #expect(throws: HTTPError.self) { try await store.credential(for: Self.space) }

    #expect(viaLink?.kind == .fileFailed && open?.kind == .fileFailed && damaged?.kind == .fileFailed)
    #expect(damaged?.underlying == nil && damaged?.description.contains("secret") == false)
  }

  @Test func `replaces a symbolic link, not its target`() async throws {
    let folder = try Folder()
    let store = Authenticators.FileCredentialStore(folder.file)
    try await store.set(.user("u", password: "p"), for: Self.space)
    let target = folder.url.appending(path: "target")
    try Data("mine".utf8).write(to: target)
    try FileManager.default.removeItem(at: folder.file)
    try FileManager.default.createSymbolicLink(at: folder.file, withDestinationURL: target)

    try PrivateFile.replace(folder.file.path, with: Data("new".utf8))

    #expect(try String(contentsOf: target, encoding: .utf8) == "mine")
    #expect(try PrivateFile.read(folder.file.path, limit: 10) == Data("new".utf8))
    #expect(throws: HTTPError.self) { try PrivateFile.read(folder.file.path, limit: 2) }
  }

  @Test func `rejects pipes, folders and devices without blocking`() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let pipe = folder.url.appending(path: "pipe").path
    try #require(mkfifo(pipe, 0o600) == 0)

    for path in [pipe, folder.url.path, "/dev/zero"] {
      let error = #expect(throws: HTTPError.self) { try PrivateFile.read(path, limit: 10) }
      #expect(error?.kind == .fileFailed && error?.message.contains("is not a plain file") == true, "\(path)")
    }
  }

  @Test func `stores the closure's credential for the next client`() async throws {
    let folder = try Folder()
    let transport = AuthServer.accepting(AuthServer.basic("u", "p"), challenge: #"Basic realm="b""#)
    let questions = Log<String>()
    let stored = ClientSetting { [file = folder.file] in
      $0.transport = transport
      $0.baseURL = "http://a.test"
      $0.credentialStore = .file(file)
    }
    let asks = ClientSetting {
      $0.authenticators[.baseURL] = .ask { _ in
        questions.add("?")
        return .user("u", password: "p")
      }
    }

    try await HTTPClient.onTestClock(stored, asks).get("/")
    try await HTTPClient.onTestClock(stored, asks).get("/")
    try await HTTPClient.onTestClock(stored).get("/")

    #expect(questions.elements.count == 1)
    #expect(transport.requests.count == 6)
  }

  @Test func `replaces a rejected credential, and does not store a configured one`() async throws {
    let store = Authenticators.MemoryCredentialStore()
    let space = ProtectionSpace(scheme: "http", host: "a.test", port: 80, realm: "b")
    await store.set(.user("u", password: "old"), for: space)
    let transport = AuthServer.accepting(AuthServer.basic("u", "p"), challenge: #"Basic realm="b""#)
    let rejected = Log<String?>()
    let asking = HTTPClient.onTestClock {
      $0.transport = transport
      $0.baseURL = "http://a.test"
      $0.credentialStore = store
      $0.authenticators[.baseURL] = .ask {
        rejected.add($0.rejected?.password)
        return .user("u", password: "p")
      }
    }

    try await asking.get("/")
    let kept = await store.credential(for: space)
    await store.removeAll()
    try await asking.derived { $0.authenticators[.baseURL] = .basic(user: "u", password: "p") }.get("/")

    #expect(rejected.elements == ["old"] && kept == .user("u", password: "p"))
    #expect(await store.credential(for: space) == nil)
  }

  @Test func `prefers the stored refreshed token to the configured one`() async throws {
    let store = Authenticators.MemoryCredentialStore()
    let transport = AuthServer.accepting("Bearer new", challenge: "Bearer")
    let refreshes = ClientSetting {
      $0.transport = transport
      $0.credentialStore = store
      $0.authenticators[.host("*.a.test")] = .oauth2(.token("old")) { _ in .token("new", refreshToken: "r") }
    }

    try await HTTPClient.onTestClock(refreshes).get("https://x.a.test/")
    try await HTTPClient.onTestClock(refreshes).get("https://y.a.test/")

    #expect(transport.authorizations == ["Bearer old", "Bearer new", "Bearer new"])
  }
}
