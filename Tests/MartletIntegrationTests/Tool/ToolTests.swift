import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@Suite(.hangLimit) struct ToolTests {
  // MARK: Output

  @Test func `writes only the unchanged body to a pipe`() async throws {
    let bytes = Data([0, 1, 0xFF, 0x1B, 0x5B, 0x0A])
    let server = try MockServer(.data(bytes, headers: ["Content-Type": "application/json"]))

    let result = try await ToolProcess.martlet("GET", server.url("/x"))

    #expect(result.status == 0 && result.output == bytes && result.errors.isEmpty)
    #expect(server.requests.map(\.target) == ["/x"])
    #expect(server.requests.first?.header("User-Agent")?.hasPrefix("martlet/") ?? false)
  }

  @Test func `-i prints the status and header fields before the body`() async throws {
    let server = try MockServer(.ok("hello", headers: ["X-One": "1"]))

    let result = try await ToolProcess.martlet("-i", server.url("/"))

    let parts = result.text.components(separatedBy: "\n\n")
    #expect(parts.count == 2 && parts.last == "hello")
    #expect(parts.first?.contains("200 OK\n") ?? false)
    #expect(parts.first?.contains("\nX-One: 1") ?? false)
  }

  @Test func `--verbose prints the request to standard error and masks secrets`() async throws {
    let server = try MockServer(.ok("hello"))

    let result = try await ToolProcess.martlet("-v", server.url("/x"), "Authorization:Bearer s3cret", "A:b")

    #expect(result.text == "hello")
    #expect(result.errors.contains("> GET /x\n> Host: 127.0.0.1:\(server.port)\n"))
    #expect(result.errors.contains("> Authorization: ***\n") && result.errors.contains("> A: b\n"))
    #expect(result.errors.contains("200 OK\n"))
    #expect(!result.errors.contains("s3cret"))
    #expect(server.requests.first?.header("Authorization") == "Bearer s3cret")
  }

  @Test func `--verbose prints the body and the fields that the engine adds`() async throws {
    let server = try MockServer(.ok("hello"))
    let folder = try TemporaryFolder()
    try folder.write("text\u{1B}\n", to: "a.txt")
    try folder.write("\u{0}\u{1}", to: "a.bin")

    let json = try await ToolProcess.martlet("-v", server.url("/"), "a=é")
    let form = try await ToolProcess.martlet(
      "-v", server.url("/"), "a@\(folder.path("a.txt"))", "b@\(folder.path("a.bin"))")

    let request = try #require(server.requests.first)
    #expect(json.errors.contains("> Content-Type: application/json\n"), "\(json.errors)")
    #expect(json.errors.contains(">\n> {\"a\": \"é\"}\n<"), "\(json.errors)")
    #if os(Linux)
      let coding = try #require(request.header("Accept-Encoding"))
      #expect(json.errors.contains("> Accept-Encoding: \(coding)\n"), "\(json.errors)")
    #endif
    #expect(
      form.errors.contains("> text\\u{1b}\n") && form.errors.contains("> (2 bytes, not shown)\n"), "\(form.errors)")
  }

  @Test func `-o writes the file and nothing else`() async throws {
    let server = try MockServer(.repeating(Data("0123456789".utf8), count: 300_000))
    let folder = try TemporaryFolder()

    let result = try await ToolProcess.martlet(server.url("/"), "-o", folder.path("a"))

    #expect(result.status == 0 && result.output.isEmpty)
    #expect(folder.names == ["a"])
    #expect(try folder.contents("a").count == 3_000_000)
  }

  @Test func `-o with a hyphen writes to standard output`() async throws {
    let server = try MockServer(.ok("hello"))

    let result = try await ToolProcess.martlet(server.url("/"), "-o", "-")

    #expect(result.status == 0 && result.text == "hello")
  }

  #if os(Linux)
    @Test func `reports a full disk as an output error`() async throws {
      let server = try MockServer(.ok("hello"))

      let result = try await ToolProcess.martlet(server.url("/"), "-o", "/dev/full")

      #expect(result.status == 1 && result.output.isEmpty)
      #expect(result.errors == "martlet: cannot write to '/dev/full': No space left on device\n")
    }
  #endif

  @Test func `reports cookies that cannot be saved and still prints the response`() async throws {
    let server = try MockServer(.ok("hello", headers: ["Set-Cookie": "a=1; Max-Age=60"]))
    let folder = try TemporaryFolder()

    let result = try await ToolProcess.martlet(server.url("/"), "--cookie-jar", folder.path("none/jar"))

    #expect(result.status == 0 && result.text == "hello")
    #expect(result.errors.hasPrefix("martlet: the cookies are not saved: "), "\(result.errors)")
  }

  @Test func `a truncated response leaves no file`() async throws {
    let server = try MockServer(.steps([.text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"), .cut]))
    let folder = try TemporaryFolder()

    let result = try await ToolProcess.martlet(server.url("/"), "-o", folder.path("a"))

    #expect(result.status == 3)
    #expect(folder.names == [])
  }

  @Test func `prints an error response instead of writing it to the file`() async throws {
    let server = try MockServer(.status(404, body: "no such thing"))
    let folder = try TemporaryFolder()

    let result = try await ToolProcess.martlet(server.url("/"), "-o", folder.path("a"))

    #expect(result.status == 4 && result.text == "no such thing")
    #expect(folder.names == [])
  }

  @Test(.needs(.shell)) func `exits without an error message when the output pipe is closed`() async throws {
    let server = try MockServer(.repeating(Data("0123456789".utf8), count: 10_000_000))
    let script = #""$1" "$2" | head -c 5"#

    let process = try TestProgram.shell.start(["-c", script, "sh", try ToolProcess.martlet().path, server.url("/")])
    let result = try await process.end()

    #expect(result.text == "01234" && result.errors.isEmpty)
  }

  @Test(arguments: [(SIGHUP, 129), (SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func `a signal ends the transfer and removes the unfinished file`(signal: Int32, status: Int32) async throws {
    let server = try MockServer(.steps([.text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"), .hang]))
    let folder = try TemporaryFolder()
    let tool = try ToolProcess(
      try ToolProcess.martlet(), ["--timeout", "600", server.url("/"), "-o", folder.path("a")])
    #expect(await server.waitForRequests(1))

    tool.send(signal)
    let result = try await tool.end()

    #expect(result.status == status)
    #expect(folder.names == [])
  }

  @Test func `the first SIGQUIT ends the tool`() async throws {
    let server = try MockServer(.steps([.hang]))
    let tool = try ToolProcess(try ToolProcess.martlet(), [server.url("/")])
    #expect(await server.waitForRequests(1))

    tool.send(SIGQUIT)

    #expect(try await tool.end().status == SIGQUIT)
  }

  @Test(.needs(.shell)) func `signals that the parent ignores do not end the tool`() async throws {
    let isOpen = Shared(false)
    let server = try MockServer { _ in
      await isOpen.wait { $0 }
      return .ok("end")
    }
    let script = #"trap '' HUP INT QUIT TERM; exec "$1" "$2""#
    let tool = try TestProgram.shell.start(["-c", script, "sh", try ToolProcess.martlet().path, server.url("/")])
    #expect(await server.wait { $0.requests.count == 1 })

    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] { tool.send(signal) }
    isOpen.withLock { $0 = true }
    let result = try await tool.end()

    #expect(result.status == 0 && result.text == "end", "\(result.errors)")
  }

  // MARK: Requests

  @Test func `composes JSON, query and header fields`() async throws {
    let server = try MockServer(.empty(204))

    let result = try await ToolProcess.martlet(
      server.url("/users?a=1"), "name=Ada", "tags:=[\"x\", 2]", "page==2 3", "X-Trace:7", "X-Empty;", "a\\:b=c")

    let request = try #require(server.requests.first)
    #expect(result.status == 0)
    #expect(request.method == "POST" && request.target == "/users?a=1&page=2%203")
    #expect(request.text == #"{"name": "Ada", "tags": ["x", 2], "a:b": "c"}"#)
    #expect(request.header("Content-Type") == "application/json" && request.header("X-Trace") == "7")
    #expect(request.header("X-Empty") == "")
  }

  @Test func `sends a form`() async throws {
    let server = try MockServer(.empty(204))

    _ = try await ToolProcess.martlet("PUT", server.url("/"), "--form", "a=1 2", "b=é")

    let request = try #require(server.requests.first)
    #expect(request.method == "PUT" && request.text == "a=1+2&b=%C3%A9")
    #expect(request.header("Content-Type") == "application/x-www-form-urlencoded")
  }

  @Test func `sends text or a file unchanged`() async throws {
    let server = try MockServer(.empty(204))
    let folder = try TemporaryFolder()
    try folder.write("{\"from\": \"file\"}\n", to: "body.json")

    _ = try await ToolProcess.martlet(server.url("/"), "--body", "plain")
    _ = try await ToolProcess.martlet(server.url("/"), "--body", "@" + folder.path("body.json"), "Content-Type:a/b")

    #expect(server.requests.map(\.text) == ["plain", "{\"from\": \"file\"}\n"])
    #expect(server.requests.map { $0.header("Content-Type") } == ["text/plain; charset=utf-8", "a/b"])
  }

  @Test func `follows redirects unless --no-follow is given`() async throws {
    let server = try MockServer { $0.path == "/old" ? .redirect(to: "/new") : .ok("there") }

    let followed = try await ToolProcess.martlet(server.url("/old"))
    let shown = try await ToolProcess.martlet("--no-follow", "-i", server.url("/old"))

    #expect(followed.status == 0 && followed.text == "there")
    #expect(shown.status == 0 && shown.text.contains("302 Found\n") && shown.text.contains("Location: /new\n"))
    #expect(server.requests.map(\.target) == ["/old", "/new", "/old"])
  }

  @Test func `--retry sets the number of retries`() async throws {
    let server = try MockServer(script: [.status(503, headers: ["Retry-After": "1"]), .status(503), .ok("now")])

    let result = try await ToolProcess.martlet(server.url("/"), "--retry", "2", "--verbose")

    #expect(result.status == 0 && result.text == "now")
    #expect(server.requests.count == 3)
    #expect(result.errors.contains("retrying in 1.00 s (attempt 2)\n"))
  }

  // MARK: Exit codes

  @Test(arguments: [(201, 0), (304, 0), (404, 4), (418, 4), (500, 5), (503, 5)])
  func `derives the exit code from the status and prints the body`(status: Int, code: Int32) async throws {
    let server = try MockServer(.status(status, body: status == 304 ? "" : "body"))

    let result = try await ToolProcess.martlet(server.url("/"))

    #expect(result.status == code && result.text == (status == 304 ? "" : "body"))
  }

  @Test func `exits with 3 if the connection fails`() async throws {
    let result = try await ToolProcess.martlet("http://127.0.0.1:\(try MockServer.refusedPort())/")

    #expect(result.status == 3 && result.output.isEmpty)
    #expect(result.errors.hasPrefix("martlet: cannotConnect") && result.errors.split(separator: "\n").count == 1)
  }

  @Test func `exits with 6 after a timeout of a fraction of a second`() async throws {
    let server = try MockServer(.hang)

    let result = try await ToolProcess.martlet(server.url("/"), "--timeout", "0.3")

    #expect(result.status == 6)
    #expect(result.errors.hasPrefix("martlet: timedOut") && result.errors.split(separator: "\n").count == 1)
  }

  @Test(arguments: [
    ["--nope"], ["--timeout", "never"], ["a:={"], ["Bad Name:x"], ["X:a\nb"], ["a=b", "--body", "c"],
    ["--body", "@/does/not/exist"], ["-o", "/does/not/exist"], ["Content-Length:5"],
  ])
  func `exits with 2 for an invalid command line, before connecting`(arguments: [String]) async throws {
    let server = try MockServer(.ok())

    let result = try await ToolProcess(try ToolProcess.martlet(), [server.url("/")] + arguments).end()

    #expect(result.status == 2 && result.output.isEmpty)
    #expect(result.errors.hasPrefix("martlet: ") && result.errors.split(separator: "\n").count == 1, "\(result.errors)")
    #expect(server.connectionCount == 0)
  }

  @Test(arguments: ["", "http://", "http://a b/", "ftp://127.0.0.1/", "http://127.0.0.1:99999/", "http://[::1/"])
  func `exits with 2 for an invalid URL`(url: String) async throws {
    let result = try await ToolProcess.martlet("GET", url)

    #expect(result.status == 2 && result.errors.split(separator: "\n").count == 1, "\(result.errors)")
  }

  @Test func `help fits on one screen and names every exit code`() async throws {
    let help = try await ToolProcess.martlet("--help")
    let version = try await ToolProcess.martlet("--version")

    let lines = help.text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(help.status == 0 && lines.count <= 50 && lines.allSatisfy { $0.count <= 80 })
    for code in ["0", "1", "2", "3", "4", "5", "6", "130"] { #expect(help.text.contains(" \(code)  ")) }
    #expect(version.status == 0 && version.text.hasPrefix("martlet "))
  }

  @Test func `doctor prints the client's diagnostics`() async throws {
    let result = try await ToolProcess.martlet("doctor")

    #expect(result.status == 0 && result.text.hasPrefix("martlet "))
    #expect(result.text.hasSuffix("\(HTTPClient().diagnostics)\n"), "\(result.text)")
  }

  // MARK: Demo

  @Test func `the demo reports success for every step`() async throws {
    let result = try await ToolProcess.martlet("demo")

    let steps = result.text.split(separator: "\n").filter { $0.hasPrefix("✓ ok") }
    #expect(result.status == 0 && steps.count == 10, "\(result.text)\(result.errors)")
    #expect(!result.text.contains("FAILED") && result.text.contains("10 of 10 steps ok"))
  }
}
