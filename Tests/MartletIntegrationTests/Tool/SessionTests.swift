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
    let path = "config/martlet/sessions/http_127.0.0.1_\(server.port)/ada.json"
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

  @Test func `a credential on the command line replaces the stored one, whatever its kind`() async throws {
    let server = try MockServer(.ok())
    let basic = "Basic \(Data("bob:pw".utf8).base64EncodedString())"
    let eve = "Basic \(Data("eve:x".utf8).base64EncodedString())"

    for words in [
      ["Authorization:old"], ["//eve:x"], ["--bearer", "NEW"], ["//eve:x"], [], ["-u", "bob:pw", "--basic"], [],
      ["Authorization:last"], [],
    ] {
      // The URL may contain the credential.
      let user = words.first.map { $0.hasPrefix("//") ? "\($0)@" : "//" } ?? "//"
      let url = server.url("/").replacing("//", with: user, maxReplacements: 1)
      let all = [url, "--session", "x"] + words.filter { !$0.hasPrefix("//") }
      let result = try await ToolProcess(try ToolProcess.martlet(), all, environment: environment).end()
      #expect(result.status == 0, "\(result.errors)")
    }

    #expect(
      server.requests.map { $0.headers(named: "Authorization") } == [
        ["old"], [eve], ["Bearer NEW"], [eve], ["Bearer NEW"], [basic], [basic], ["last"], ["last"],
      ])
  }

  @Test func `runs at the same time keep each other's cookies and fields`() async throws {
    let server = try MockServer { .ok(headers: ["Set-Cookie": "\($0.path.dropFirst())=v; Path=/"]) }
    let names = (0..<8).map { "c\($0)" }

    try await withThrowingTaskGroup { group in
      for name in names {
        group.addTask { [environment] in
          let words = [server.url("/\(name)"), "--session", "x", "X-\(name):1"]
          let result = try await ToolProcess(try ToolProcess.martlet(), words, environment: environment).end()
          #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
        }
      }
      try await group.waitForAll()
    }
    _ = try await ToolProcess.martlet(server.url("/end"), "--session-read-only", "x", environment: environment)

    let last = try #require(server.requests.last)
    #expect(last.header("Cookie")?.components(separatedBy: "; ").sorted() == names.map { "\($0)=v" })
    #expect(names.allSatisfy { last.header("X-\($0)") == "1" })
  }

  @Test(arguments: [
    // The file, the run before and after its request, and the result; each cookie is a letter and its value.
    ("", "", "a1", "a1"), ("a1", "a1", "a2", "a2"), ("a1 b1", "a1 b1", "a1", "a1"),
    ("a1 c1", "a1", "a1 b1", "a1 c1 b1"),
    ("a9 b1", "a1 b1", "a1 b2", "a9 b2"), ("b1", "a1 b1", "a1 b1", "b1"), ("b1", "a1 b1", "a2 b1", "b1 a2"),
  ])
  func `merges the changes of a run into the cookies of the file`(
    file: String, before: String, after: String, result: String
  ) {
    func text(_ cookies: String) -> String {
      let lines = cookies.split(separator: " ").map { "\($0.prefix(1))\t\($0.dropFirst())\n" }
      return "# Netscape HTTP Cookie File\n" + lines.map { "a.test\tFALSE\t/\tTRUE\t0\t\($0)" }.joined()
    }

    #expect(Session.merged(text(file), before: text(before), after: text(after)) == text(result))
  }

  @Test func `a cookie keeps its place if it becomes HttpOnly or valid for subdomains`() {
    let old = "a.test\tFALSE\t/\tTRUE\t0\tn\t1\n"
    let new = "#HttpOnly_.a.test\tTRUE\t/\tTRUE\t0\tn\t2\n"

    #expect(Session.merged(old, before: old, after: new) == "# Netscape HTTP Cookie File\n" + new)
  }

  @Test(arguments: [
    "Content-Type", "If-Match", "Range", "Expect", "Idempotency-Key", "Referer", "Accept-Encoding", "Host",
    "Connection", "TE", "Traceparent", "tracestate", "Proxy-Authorization", "Upgrade", "Cookie",
    "X-Request-Id", "X-B3-TraceId",
  ])
  func `keeps no field that describes one request or connection`(name: String) throws {
    var command = RequestCommand(url: "https://a.test/")
    command.headers = [name: "1", "X-Own": "2", "Accept": "3", "Term": "4"]

    #expect(try Session.Changes(command).headers == [["X-Own", "2"], ["Accept", "3"], ["Term", "4"]])
  }

  @Test func `keeps no field or credential from the configuration file, and replaces them`() throws {
    let config = """
      header X-One: file
      header X-Two: file
      header Authorization: file
      user-agent file
      user ada:file
      """
    let options = try ConfigFile(name: "config", isPrivate: true).options(config)
    func request(_ words: String...) throws -> RequestCommand {
      let words = ["https://a.test/"] + words
      guard case .request(let request) = try Arguments.parse(words, defaults: { (_) throws(UsageError) in options })
      else { throw UsageError("not a request") }
      return request
    }
    var session = try Session("x", for: "https://a.test/", isSaved: true, environment: environment)
    var first = try request("X-One:line", "--bearer", "t")
    var second = try request()

    try session.keep(first)
    session.apply(to: &first)
    try session.keep(second)
    session.apply(to: &second)

    #expect(session.record.headers == [["X-One", "line"]] && session.record.token == "t")
    #expect(session.record.user == nil)
    #expect(second.headers[all: "X-One"] == ["line"] && second.headers[all: "X-Two"] == ["file"])
    for command in [first, second] {
      #expect(command.headers["Authorization"] == nil && command.identity.token == .text("t"))
      #expect(command.identity.user == nil && command.headers[all: "User-Agent"] == ["file"])
    }
  }

  @Test func `does not create the folder of a path`() {
    let path = folder.path("none/x.json")

    let error = #expect(throws: UsageError.self) { try Session(path, for: "https://a.test/", isSaved: true) }

    #expect(error?.description.contains("does not exist") == true, "\(error as Any)")
  }

  @Test func `refuses a file of another origin, a readable, a damaged and a linked file, and shows no secret`() throws {
    let record = #"{"origin": "https://a.test:443", "headers": [["A", "s3cret"]], "cookies": ""}"#
    try folder.write(record, to: "s.json")
    try folder.write("s3cret", to: "bad.json")
    let paths = ["s.json", "bad.json"].map { folder.path($0) }
    for path in paths { chmod(path, 0o600) }
    try FileManager.default.createSymbolicLink(atPath: folder.path("link.json"), withDestinationPath: paths[0])

    var command = RequestCommand(url: "https://a.test/")
    try Session(paths[0], for: "https://a.test/", isSaved: true).apply(to: &command)
    #expect(command.headers == ["A": "s3cret"])
    for (path, url, message) in [
      (paths[0], "http://a.test:443/", "belongs to https://a.test:443, not to http://a.test:443"),
      (paths[0], "https://a.test:444/", "belongs to https://a.test:443"),
      (paths[0], "https://b.test/", "belongs to https://a.test:443"),
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
    ("https://A.test/x", "https_a.test_443"), ("http://a.test", "http_a.test_80"),
    ("http://a.test:443", "http_a.test_443"), ("HTTP://[::1]:8080/", "http____1__8080"),
  ])
  func `the folder of a session contains the scheme, the host and the port`(url: String, name: String) throws {
    let session = try Session("x", for: url, isSaved: true, environment: ["XDG_CONFIG_HOME": "/c"])

    #expect(session.path == "/c/martlet/sessions/\(name)/x.json")
  }
}
