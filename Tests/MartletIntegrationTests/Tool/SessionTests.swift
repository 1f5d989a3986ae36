import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@testable import MartletTool

/// The tool's sessions.
@Suite(.hangLimit) struct SessionTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var environment: [String: String] { ["XDG_CONFIG_HOME": folder.path("config")] }

  @Test func `keeps cookies, header fields and credentials in a private file`() async throws {
    let server = try MockServer(.ok("hello", headers: ["Set-Cookie": "c=3; Max-Age=1000"]))
    let url = server.url("/")

    let results = [
      try await ToolProcess.martlet(
        url, "--session", "ada", "X-One:1", "If-Match:2", "-u", "ada:s3cret", "--basic", environment: environment),
      try await ToolProcess.martlet(url, "--session=ada", environment: environment),
      try await ToolProcess.martlet(url, "--session=ada", "X-One:2", environment: environment),
      try await ToolProcess.martlet(url, "--session-read-only=ada", "X-One:3", environment: environment),
      try await ToolProcess.martlet(url, "--session=ada", environment: environment),
      try await ToolProcess.martlet(url, "--session=other", environment: environment),
    ]

    #expect(results.map(\.status) == [0, 0, 0, 0, 0, 0], "\(results.map(\.errors))")
    let basic = "Basic \(Data("ada:s3cret".utf8).base64EncodedString())"
    #expect(server.requests.map { $0.header("X-One") } == ["1", "1", "2", "3", "2", nil])
    #expect(server.requests.map { $0.header("If-Match") } == ["2", nil, nil, nil, nil, nil])
    #expect(server.requests.map { $0.header("Cookie") } == [nil, "c=3", "c=3", "c=3", "c=3", nil])
    #expect(server.requests.map { $0.header("Authorization") } == [basic, basic, basic, basic, basic, nil])
    let path = "config/martlet/sessions/127.0.0.1_\(server.port)/ada.json"
    for (name, mode) in [(path, 0o600), ("config/martlet/sessions", 0o700)] {
      let found = try FileManager.default.attributesOfItem(atPath: folder.path(name))[.posixPermissions]
      #expect(found as? Int == mode, "\(name)")
    }
    #expect(!results.contains { $0.errors.contains("s3cret") })
    let offline = try await ToolProcess.martlet(url, "--session=ada", "--offline", environment: environment)
    #expect(offline.text.contains("\nCookie: ***\n") && offline.text.contains("\nX-One: 2\n"), "\(offline.text)")
    #expect(server.requests.count == 6)
  }

  @Test func `a token replaces a password, and a path names the file`() async throws {
    let server = try MockServer(.ok())
    let file = folder.path("s.json")

    for words in [["-u", "ada:x", "--basic"], ["--bearer", "t0ken"], [], ["--offline", "X-One:1"], []] {
      let result = try await ToolProcess(try ToolProcess.martlet(), [server.url("/"), "--session", file] + words).end()
      #expect(result.status == 0, "\(result.errors)")
    }

    #expect(
      server.requests.dropFirst().map { $0.header("Authorization") } == Array(repeating: "Bearer t0ken", count: 3))
    #expect(server.requests.last?.header("X-One") == nil)
  }

  @Test func `refuses a file of another host, a readable, a damaged and a linked file, and shows no secret`() throws {
    let record = #"{"host": "a.test:443", "headers": [["A", "s3cret"]], "cookies": ""}"#
    try folder.write(record, to: "s.json")
    try folder.write("s3cret", to: "bad.json")
    let paths = ["s.json", "bad.json"].map { folder.path($0) }
    for path in paths { chmod(path, 0o600) }
    try FileManager.default.createSymbolicLink(atPath: folder.path("link.json"), withDestinationPath: paths[0])

    var command = RequestCommand(url: "https://a.test/")
    try Session(paths[0], for: "https://a.test/", isSaved: true).apply(to: &command)
    #expect(command.headers == ["A": "s3cret"])
    for (path, url, message) in [
      (paths[0], "http://a.test/", "belongs to a.test:443"), (paths[0], "https://b.test/", "belongs to a.test:443"),
      (paths[1], "https://a.test/", "is damaged"), (folder.path("link.json"), "https://a.test/", "link.json"),
    ] {
      let error = #expect(throws: UsageError.self) { try Session(path, for: url, isSaved: true) }
      #expect(error?.description.contains(message) == true && error?.description.contains("s3cret") == false)
    }
    chmod(paths[0], 0o644)
    let error = #expect(throws: UsageError.self) { try Session(paths[0], for: "https://a.test/", isSaved: true) }
    #expect(error?.description.contains("chmod 600") == true, "\(error as Any)")
  }

  @Test(arguments: [
    ("a b", "letters, digits"), ("../x/", "names a folder"), ("", "needs a name"), (".x", "letters, digits"),
    ("é", "letters, digits"),
  ])
  func `refuses an invalid name`(name: String, message: String) {
    let error = #expect(throws: UsageError.self) {
      try Session(name, for: "https://a.test/", isSaved: true, environment: ["HOME": "/h"])
    }

    #expect(error?.description.contains(message) == true, "\(error as Any)")
  }

  @Test(arguments: [
    ("https://A.test/x", "a.test_443"), ("http://a.test", "a.test_80"), ("http://[::1]:8080/", "___1__8080"),
  ])
  func `the folder of a session contains the host and the port`(url: String, name: String) throws {
    let session = try Session("x", for: url, isSaved: true, environment: ["XDG_CONFIG_HOME": "/c"])

    #expect(session.path == "/c/martlet/sessions/\(name)/x.json")
  }
}
