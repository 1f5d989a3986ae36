import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@testable import MartletTool

/// The configuration file.
@Suite(.hangLimit) struct ConfigFileTests {
  private func options(_ text: String, isPrivate: Bool = true) throws -> [GivenOption] {
    try ConfigFile(name: "config", isPrivate: isPrivate).options(text)
  }

  private func request(_ config: String, _ words: String...) throws -> RequestCommand {
    let options = try options(config)
    let command = try Arguments.parse(words) { (_) throws(UsageError) in options }
    guard case .request(let request) = command else { throw UsageError("not a request") }
    return request
  }

  @Test func `reads names with and without hyphens, values after a mark or a space, and comments`() throws {
    let options = try options(
      """
      # comment
      timeout = 10
      --retry 2\r
      H = "A: \\"b\\""
        no-follow
      verbose = false
      base=http://a.test

      [download]
      segments: 4
      """.replacing("segments:", with: "segments"))

    #expect(options.map(\.option.name) == ["--timeout", "--retry", "--header", "--no-follow", "--base", "--segments"])
    #expect(options.map(\.value) == ["10", "2", "A: \"b\"", "", "http://a.test", "4"])
    #expect(options.last?.command == .download && options.first?.place == "config:2")
  }

  @Test func `the command line overrides the file`() throws {
    let config = """
      timeout 10
      retry 2
      header A: file
      header B: file
      user ada:x
      no-proxy
      """

    let command = try request(config, "http://a.test", "--timeout", "5", "A:line", "--bearer", "t", "-x", "p.test:1")

    #expect(command.timeout == .seconds(5) && command.retries == 2)
    #expect(command.headers == ["A": "line", "B": "file"])
    #expect(command.identity.user == nil && command.identity.token == .text("t"))
    #expect(!command.connecting.isDirect && command.connecting.proxy != nil)
  }

  @Test func `a credential on the command line replaces every credential in the file`() throws {
    let bearer = try request("header Authorization: file\nuser ada:x\nbasic", "http://a.test", "--bearer", "t")
    let field = try request("bearer file", "http://a.test", "Authorization:line")

    #expect(bearer.headers["Authorization"] == nil && bearer.identity.user == nil && bearer.identity.scheme == nil)
    #expect(bearer.identity.token == .text("t"))
    #expect(field.headers[all: "Authorization"] == ["line"] && field.identity.token == nil)
  }

  @Test func `the command line replaces the User-Agent of the file`() throws {
    #expect(try request("user-agent file", "a.test", "User-Agent:line").headers[all: "User-Agent"] == ["line"])
    #expect(try request("user-agent file", "a.test", "-A", "line").headers[all: "User-Agent"] == ["line"])
    #expect(try request("user-agent file", "a.test").headers[all: "User-Agent"] == ["file"])
  }

  @Test func `a section overrides the options that it excludes`() throws {
    let command = try request("no-proxy\nbasic\nuser a:b\n[request]\nproxy p.test:1\ndigest", "http://a.test")

    #expect(!command.connecting.isDirect && command.connecting.proxy != nil && command.identity.scheme == .digest)
  }

  @Test func `a byte order mark may begin the file`() throws {
    #expect(try options("\u{FEFF}timeout 3\r\nretry 2").map(\.value) == ["3", "2"])
  }

  @Test func `a section applies to its command only`() throws {
    let options = try options("[download]\nsegments 4\ntimeout 9\n[request]\ntiming\n")
    let defaults: Arguments.Defaults = { (_) throws(UsageError) in options }

    guard case .download(let download) = try Arguments.parse(["download", "a.test"], defaults: defaults),
      case .request(let request) = try Arguments.parse(["a.test"], defaults: defaults)
    else { throw UsageError("other commands") }
    #expect(download.segments == 4 && download.template.timeout == .seconds(9))
    #expect(request.showsTiming && request.timeout == nil)
  }

  @Test func `--no-config and commands that send nothing do not read the file`() throws {
    for words in [["http://a.test", "--no-config"], ["demo"], ["help"], ["cache", "ls", "x"]] {
      _ = try Arguments.parse(words) { (_) throws(UsageError) in
        Issue.record("\(words)")
        return []
      }
    }
  }

  @Test(arguments: [
    ("timout 3", "config:1: unknown option '--timout'; did you mean --timeout?"),
    ("\n\n[downlod]", "config:3: '[downlod]' is not a section; did you mean [download]?"),
    ("[demo]", "config:1: '[demo]' is not a section; use one of"), ("timeout", "config:1: the option 'timeout' needs"),
    ("verbose = 1", "takes no value but true or false"), ("body x", "config:1: 'body' cannot be a default"),
    ("header: X", "config:1: 'header:' has a colon; write header = FIELD"),
    ("timeout:10", "config:1: 'timeout:' has a colon; write timeout = SECONDS"),
    ("--no-follow: true", "config:1: 'no-follow:' has a colon; write no-follow"),
    ("basic\ndigest", "config:2: basic and digest exclude each other"),
    ("[load]\nno-proxy\nproxy p", "config:3: no-proxy and proxy exclude each other"),
    ("verbose # all", "true or false; a comment needs its own line"),
    ("heders X", "config:1: unknown option '--heders'; did you mean --header?"),
    ("[sse]\nsegments 4", "config:2: 'segments' is not an option of 'martlet sse'"),
  ])
  func `an error names the file and the line`(text: String, message: String) {
    let error = #expect(throws: UsageError.self) { try options(text) }

    #expect(error?.description.contains(message) == true, "\(error as Any)")
  }

  @Test func `an invalid value names the file and the line`() {
    let error = #expect(throws: UsageError.self) { try request("\ntimeout soon", "http://a.test") }

    #expect(error?.description.hasPrefix("config:2: --timeout needs a number") == true, "\(error as Any)")
  }

  @Test(arguments: ["timeout = 5 # comment", "base = https://a.test # comment", "retry #"])
  func `an invalid value with a comment names the rule for comments`(line: String) {
    let error = #expect(throws: UsageError.self) { try request(line, "http://a.test") }

    #expect(error?.description.hasPrefix("config:1: --") == true, "\(error as Any)")
    #expect(error?.description.hasSuffix("; a comment needs its own line") == true, "\(error as Any)")
  }

  @Test(arguments: [
    "user ada:s3cret", "bearer s3cret", "header Authorization: s3cret", "cookie a=s3cret", "proxy http://u:s3cret@p",
    "cert me.pem:s3cret",
  ])
  func `refuses a secret in a file that others can read, and does not show the secret`(line: String) throws {
    let error = #expect(throws: UsageError.self) { try options(line, isPrivate: false) }

    #expect(error?.description.contains("chmod 600 config") == true, "\(error as Any)")
    #expect(error?.description.contains("s3cret") == false)
    #expect(try options(line).count == 1)
    #expect(try options("user ada\nheader A: b\n[load]\nbearer @file", isPrivate: false).count == 3)
  }

  @Test(
    arguments: [
      (["MARTLET_CONFIG": "/x", "HOME": "/h"], "/x"), (["MARTLET_CONFIG": "", "HOME": "/h"], nil), ([:], nil),
      (["XDG_CONFIG_HOME": "/c", "HOME": "/h"], "/c/martlet/config"), (["HOME": "/h"], "/h/.config/martlet/config"),
      (["XDG_CONFIG_HOME": "relative", "HOME": "/h"], "/h/.config/martlet/config"),
    ] as [([String: String], String?)])
  func `finds the file`(environment: [String: String], path: String?) {
    #expect(ConfigFile.path(environment) == path)
  }

  @Test func `the tool reads the file named by the environment or --config`() async throws {
    let server = try MockServer(.ok("hello"))
    let folder = try TemporaryFolder()
    try folder.write("base \(server.url("/v1"))\nheader A: file\n", to: "config")
    let named = ["MARTLET_CONFIG": folder.path("config")]

    let found = try await ToolProcess.martlet("/users", environment: named)
    let given = try await ToolProcess.martlet("/users", "--config", folder.path("config"))
    let ignored = try await ToolProcess.martlet("/users", "--no-config", environment: named)
    let missing = try await ToolProcess.martlet(server.url("/"), "-K", folder.path("none"))

    #expect(found.status == 0 && given.status == 0, "\(found.errors)\(given.errors)")
    #expect(server.requests.map(\.target) == ["/v1/users", "/v1/users"])
    #expect(server.requests.first?.header("A") == "file")
    #expect(ignored.status == 2 && ignored.errors.contains("--base"), "\(ignored.errors)")
    chmod(folder.path("config"), 0o666)
    let open = try await ToolProcess.martlet("/users", environment: named)
    #expect(open.status == 2 && open.errors.contains("chmod o-w"), "\(open.errors)")
    #expect(missing.status == 2 && missing.errors.contains("none' cannot be read"), "\(missing.errors)")
  }
}
