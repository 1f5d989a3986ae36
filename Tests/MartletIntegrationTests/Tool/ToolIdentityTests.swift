#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  extension TestProgram {
    fileprivate static let setsid = TestProgram("setsid")
  }

  /// The tool's credentials and cookies.
  @Suite(.hangLimit) struct ToolIdentityTests {
    private static let basic = "Basic \(Data("ada:s3cret".utf8).base64EncodedString())"

    /// Returns a server that accepts ada with `s3cret` and otherwise requests Basic.
    private static func server() throws -> MockServer {
      try MockServer { request in
        request.header("Authorization") == basic
          ? .ok("hello") : .status(401, headers: ["WWW-Authenticate": "Basic realm=\"a\u{202E} realm\""])
      }
    }

    @Test func `answers a challenge with the password, and --basic sends it preemptively`() async throws {
      let server = try Self.server()

      let answered = try await ToolProcess.martlet(server.url("/"), "-u", "ada:s3cret")
      let unasked = try await ToolProcess.martlet(server.url("/"), "--user=ada:s3cret", "--basic")
      let withheld = try await ToolProcess.martlet(server.url("/"), "--user", "ada:s3cret", "--digest")
      let wrong = try await ToolProcess.martlet(server.url("/"), "-uada:wrong")

      #expect([answered, unasked].map(\.text) == ["hello", "hello"])
      #expect(withheld.status == 4 && wrong.status == 4)
      #expect(
        server.requests.map { $0.header("Authorization") == Self.basic } == [false, true, true, false, false, false])
    }

    @Test func `--bearer sends a token from the command line or a file`() async throws {
      let server = try MockServer(.ok())
      let folder = try TemporaryFolder()
      try folder.write("t0ken\n", to: "token")

      let text = try await ToolProcess.martlet(server.url("/"), "--bearer", "t0ken")
      let file = try await ToolProcess.martlet(server.url("/"), "--bearer", "@\(folder.path("token"))")
      let none = try await ToolProcess.martlet(server.url("/"), "--bearer", "@\(folder.path("none"))")

      #expect(text.status == 0 && file.status == 0)
      #expect(server.requests.map { $0.header("Authorization") } == ["Bearer t0ken", "Bearer t0ken"])
      #expect(none.status == 2 && none.errors.contains("none"), "\(none.errors)")
    }

    @Test(.needs(.setsid)) func `authentication fails without a password or a terminal`() async throws {
      let server = try Self.server()

      let result = try await TestProgram.setsid.start([
        "-w", try ToolProcess.martlet().path, server.url("/"), "-uada",
      ]).end()

      #expect(result.status == 3, "\(result.errors)")
      #expect(
        result.errors.hasPrefix("martlet: authenticationFailed: the server requires a password"), "\(result.errors)")
      #expect(server.requests.count == 1)
    }

    @Test(.needs(.pseudoTerminals), .needs(.shell, .script))
    func `prompts for the password without echo and stores the accepted credential`() async throws {
      let server = try Self.server()
      let folder = try TemporaryFolder()
      let process = try Typing(server.url("/"), "-u", "ada", "--credentials", folder.path("credentials"))

      try await process.type("wrong", after: 1)
      try await process.type("s3cret", after: 2)
      let shown = try await process.end()
      let again = try await ToolProcess.martlet(
        server.url("/"), "-u", "ada", "--credentials", folder.path("credentials"))

      #expect(shown.contains("127.0.0.1 (\"a\\u{202e} realm\") asks for a password over an unencrypted"), "\(shown)")
      #expect(shown.contains("that was refused") && shown.hasSuffix("hello\n"), "\(shown)")
      #expect(!shown.contains("s3cret") && !shown.contains("wrong") && !shown.contains("\u{202E}"))
      #expect(again.text == "hello")
      let mode = try FileManager.default.attributesOfItem(atPath: folder.path("credentials"))[.posixPermissions]
      #expect(mode as? Int == 0o600)
    }

    @Test func `sends cookies and stores those that the server sets`() async throws {
      let server = try MockServer(.ok(headers: ["Set-Cookie": "c=3; Max-Age=1000"]))
      let folder = try TemporaryFolder()
      try folder.write("127.0.0.1\tFALSE\t/\tFALSE\t0\td\t4\n", to: "cookies.txt")
      let jar = folder.path("jar")

      let first = try await ToolProcess.martlet(
        server.url("/"), "--cookie", "a=1", "--cookie", "b=2", "--cookie-jar", jar)
      let second = try await ToolProcess.martlet(server.url("/x"), "--cookie-jar", jar)
      let third = try await ToolProcess.martlet(server.url("/"), "--cookies-txt", folder.path("cookies.txt"))
      let fourth = try await ToolProcess.martlet(server.url("/"), "--no-cookies")

      #expect([first, second, third, fourth].map(\.status) == [0, 0, 0, 0], "\(first.errors)\(third.errors)")
      #expect(server.requests.map { $0.header("Cookie") } == ["a=1; b=2", "c=3", "d=4", nil])
    }

    @Test func `the jar stores session cookies, but no cookies from the command line`() async throws {
      let server = try MockServer { request in
        switch request.path {
        case "/login": .ok(headers: ["Set-Cookie": "s=1", "Set-Cookie": "b=3"])
        case "/logout": .ok(headers: ["Set-Cookie": "s=; Max-Age=0"])
        default: .ok()
        }
      }
      let folder = try TemporaryFolder()
      let jar = folder.path("jar")

      for (path, options) in [
        ("/login", ["--cookie", "a=1", "--cookie", "b=2"]), ("/", []), ("/", ["--cookie", "s=2", "--cookie", "c=4"]),
        ("/logout", []), ("/", []),
      ] {
        let result = try await ToolProcess(
          try ToolProcess.martlet(), [server.url(path), "--cookie-jar", jar] + options
        ).end()
        #expect(result.status == 0, "\(result.errors)")
      }

      #expect(
        server.requests.map { $0.header("Cookie") } == ["a=1; b=2", "s=1; b=3", "b=3; s=2; c=4", "s=1; b=3", "b=3"])
    }

    @Test func `-b and -c read and write cookies.txt files like curl`() async throws {
      let server = try MockServer { request in
        switch request.path {
        case "/login": .ok(headers: ["Set-Cookie": "s=1", "Set-Cookie": "p=2; Max-Age=1000"])
        default: .ok()
        }
      }
      let folder = try TemporaryFolder()
      let file = folder.path("cookies")

      let results = [
        // The cookie file does not exist yet.
        try await ToolProcess.martlet(server.url("/login"), "-b", file, "-c", file),
        try await ToolProcess.martlet(server.url("/"), "-b", file, "-b", "x=3; y=4"),
        try await ToolProcess.martlet(server.url("/"), "-b\(file)", "-c\(folder.path("other"))"),
        try await ToolProcess.martlet(server.url("/login"), "--cookie-jar", folder.path("jar")),
      ]
      let jar = try await ToolProcess.martlet(server.url("/"), "-b", folder.path("jar"))

      #expect(results.map(\.status) == [0, 0, 0, 0], "\(results.map(\.errors))")
      #expect(server.requests.map { $0.header("Cookie") } == [nil, "s=1; p=2; x=3; y=4", "s=1; p=2", nil])
      #expect(try folder.contents("other") == folder.contents("cookies"))
      let text = String(decoding: try folder.contents("cookies"), as: UTF8.self)
      #expect(text.hasPrefix("# Netscape") && text.contains("\ts\t1\n") && text.contains("\tp\t2\n"), "\(text)")
      let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
      #expect(mode as? Int == 0o600)
      #expect(jar.status == 2 && jar.errors.contains("--cookie-jar"), "\(jar.errors)")
    }

    @Test func `the server can replace or remove a cookie from the command line`() async throws {
      let server = try MockServer { request in
        switch request.path {
        case "/": .redirect(to: "/1").adding("Set-Cookie", "a=2; Path=/")
        case "/1": .redirect(to: "/2").adding("Set-Cookie", "b=; Max-Age=0; Path=/")
        default: .ok()
        }
      }

      let result = try await ToolProcess.martlet(
        server.url("/"), "--cookie", "a=1", "--cookie", "b=1", "--cookie", "c=1")

      #expect(result.status == 0, "\(result.errors)")
      #expect(server.requests.map { $0.header("Cookie") } == ["a=1; b=1; c=1", "a=2; b=1; c=1", "a=2; c=1"])
    }

    @Test(arguments: [
      (["--cookie", "no-file"], "'no-file': No such file or directory; a cookie is NAME=VALUE"),
      (["--cookie", "=a"], "--cookie needs"),
      (["-c", "/nowhere/x"], "/nowhere/x"), (["-c", "f", "--no-cookies"], "exclude each other"),
      (["--cookie", "__Host-a=1"], "--cookie '__Host-a'"),
      (["--cookie", "a=1", "--no-cookies"], "exclude each other"), (["-u", ":x"], "--user needs"),
      (["-u", "a:b", "--bearer", "c"], "exclude each other"), (["--digest"], "--digest needs"),
      (["-u", "a:b", "--digest", "--basic"], "exclude each other"), (["--bearer", "@"], "--bearer needs"),
      (["--bearer", "a b"], "token"), (["--cookies-txt", "/nowhere/x"], "/nowhere/x"),
    ])
    func `names the invalid option before sending a request`(options: [String], message: String) async throws {
      let server = try MockServer(.ok())

      let result = try await ToolProcess(
        try ToolProcess.martlet(), [server.url("/")] + options
      ).end()

      #expect(result.status == 2 && result.errors.contains(message), "\(result.status) \(result.errors)")
      #expect(server.requests.isEmpty)
    }
  }

  /// The tool on a pseudo terminal, with keyboard input.
  private final class Typing {
    private let process: ToolProcess
    private let folder: TemporaryFolder
    private let keyboard: FileHandle

    init(_ arguments: String...) throws {
      folder = try TemporaryFolder()
      let pipe = folder.path("keyboard")
      try #require(mkfifo(pipe, 0o600) == 0)
      // The pipe is opened for both directions, so neither end waits for the other.
      keyboard = try #require(FileHandle(forUpdatingAtPath: pipe))
      let words = [try ToolProcess.martlet().path] + arguments
      let line = words.map { "'\($0)'" }.joined(separator: " ")
      process = try TestProgram.shell.start(["-c", "exec script -qec \"\(line)\" /dev/null < '\(pipe)'"])
    }

    /// Types a line once the tool has requested the password a number of times.
    func type(_ text: String, after count: Int) async throws {
      let hasAsked = await becomes(every: .milliseconds(5)) {
        process.outputSoFar.components(separatedBy: "Password of").count > count
      }
      try #require(hasAsked)
      keyboard.write(Data("\(text)\n".utf8))
    }

    func end() async throws -> String {
      try await process.end().text.replacingOccurrences(of: "\r\n", with: "\n")
    }
  }
#endif
