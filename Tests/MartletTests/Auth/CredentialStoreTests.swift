import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct CredentialStoreTests {
  private static let space = ProtectionSpace(scheme: "https", host: "a.test", port: 443, realm: "r\"\n\t{}")

  private final class Folder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString)")
    var file: URL { url.appending(path: "deep/credentials.json") }
    func mode(_ url: URL) throws -> Int? {
      let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
      return (attributes[.posixPermissions] as? NSNumber)?.intValue
    }
    deinit { try? FileManager.default.removeItem(at: url) }
  }

  @Test func `keeps credentials in a file that is its owner's`() async throws {
    let folder = Folder()
    let expires = Date(timeIntervalSince1970: 1_800_000_000.5)
    let token = Credential.token("t", refreshToken: "r\n\"", expires: expires)
    var other = Self.space
    other.realm = nil

    try await FileCredentialStore(folder.file).set(.user("u\n\"", password: "p\u{0}"), for: Self.space)
    try await FileCredentialStore(folder.file).set(token, for: other)
    let next = FileCredentialStore(folder.file)

    #expect(try await next.credential(for: Self.space) == .user("u\n\"", password: "p\u{0}"))
    #expect(try await next.credential(for: other) == token)
    #expect(try await next.credential(for: ProtectionSpace(scheme: "http", host: "a.test", port: 80)) == nil)
    #expect(try folder.mode(folder.file) == 0o600)
    #expect(try folder.mode(folder.file.deletingLastPathComponent()) == 0o700)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.file.deletingLastPathComponent().path).count == 1)

    try await next.set(nil, for: Self.space)
    #expect(try await next.credential(for: Self.space) == nil)
    try await next.removeAll()
    try await next.removeAll()
    #expect(try await next.credential(for: other) == nil)
    #expect(!FileManager.default.fileExists(atPath: folder.file.path))
  }

  @Test(arguments: [
    Credential.user("u", password: "p", domain: "D"), .user("u", password: "p", domain: "", isAllowedWithoutTLS: true),
    .ticket(), .ticket(isAllowedWithoutTLS: true), .user("u", password: "p"),
  ]) func `keeps accounts and tickets as what they are`(credential: Credential) async throws {
    let folder = Folder()

    try await FileCredentialStore(folder.file).set(credential, for: Self.space)

    #expect(try await FileCredentialStore(folder.file).credential(for: Self.space) == credential)
  }

  @Test func `reads no file that others could have written or read`() async throws {
    let folder = Folder()
    let store = FileCredentialStore(folder.file)
    try await store.set(.user("u", password: "p"), for: Self.space)
    let link = folder.url.appending(path: "link")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.file)

    let viaLink = await #expect(throws: HTTPError.self) {
      try await FileCredentialStore(link).credential(for: Self.space)
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder.file.path)
    let open = await #expect(throws: HTTPError.self) { try await store.credential(for: Self.space) }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file.path)
    try Data("[{\"password\": \"secret".utf8).write(to: folder.file)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file.path)
    let damaged = await #expect(throws: HTTPError.self) { try await store.credential(for: Self.space) }

    #expect(viaLink?.kind == .file && open?.kind == .file && damaged?.kind == .file)
    #expect(damaged?.underlying == nil && damaged?.description.contains("secret") == false)
  }

  @Test func `replaces a link in place of the file, not what it leads to`() async throws {
    let folder = Folder()
    let store = FileCredentialStore(folder.file)
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

  @Test func `reads plain files only, and waits for nothing else`() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let pipe = folder.url.appending(path: "pipe").path
    try #require(mkfifo(pipe, 0o600) == 0)

    for path in [pipe, folder.url.path, "/dev/zero"] {
      let error = #expect(throws: HTTPError.self) { try PrivateFile.read(path, limit: 10) }
      #expect(error?.kind == .file && error?.message.contains("is not a plain file") == true, "\(path)")
    }
  }

  @Test func `remembers what was asked for, for the next client`() async throws {
    let folder = Folder()
    let transport = AuthServer.accepting(AuthServer.basic("u", "p"), challenge: #"Basic realm="b""#)
    let questions = Log<String>()
    func client(_ asks: Bool) -> HTTPClient {
      HTTPClient.onTestClock {
        $0.transport = transport
        $0.baseURL = "http://a.test"
        $0.credentialStore = .file(folder.file)
        guard asks else { return }
        $0.authenticators[.baseURL] = .ask { _ in
          questions.add("?")
          return .user("u", password: "p")
        }
      }
    }

    try await client(true).get("/")
    try await client(true).get("/")
    try await client(false).get("/")

    #expect(questions.elements.count == 1)
    #expect(transport.requests.count == 6)
  }

  @Test func `forgets what is refused, and does not keep what the program said itself`() async throws {
    let store = MemoryCredentialStore()
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

  @Test func `keeps the newest token`() async throws {
    let store = MemoryCredentialStore()
    let transport = AuthServer.accepting("Bearer new", challenge: "Bearer")
    func client() -> HTTPClient {
      HTTPClient.onTestClock {
        $0.transport = transport
        $0.credentialStore = store
        $0.authenticators[.host("*.a.test")] = .oauth2(.token("old")) { _ in .token("new", refreshToken: "r") }
      }
    }

    try await client().get("https://x.a.test/")
    try await client().get("https://y.a.test/")

    #expect(transport.authorizations == ["Bearer old", "Bearer new", "Bearer new"])
  }
}
