#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  @testable import MartletTool

  /// The tool's requests with data from standard input and from files named as in curl.
  @Suite(.hangLimit) struct ToolInputTests {
    private let folder: TemporaryFolder
    private let server: MockServer

    init() throws {
      folder = try TemporaryFolder()
      server = try MockServer(.empty(204))
    }

    /// Runs the tool with a file as its standard input.
    private func martlet(_ arguments: String..., input text: String) async throws -> ToolProcess.Result {
      try folder.write(text, to: "input")
      let file = try #require(FileHandle(forReadingAtPath: folder.path("input")))
      return try await ToolProcess(try ToolProcess.martlet(), arguments, input: file).end()
    }

    /// The requests, one line each.
    private var sent: [String] {
      server.requests.map { "\($0.method) \($0.header("Content-Type") ?? "-") \($0.text)" }
    }

    @Test func `sends a file on standard input as the body`() async throws {
      let url = server.url("/")

      let results = [
        try await martlet("post", url, input: "{\"a\": 1}\n"), try await martlet(url, input: "plain"),
        try await martlet("PUT", url, "Content-Type:a/b", input: "x"), try await martlet(url, input: ""),
      ]

      #expect(results.map(\.status) == [0, 0, 0, 0], "\(results.map(\.errors))")
      #expect(
        sent == [
          "POST application/json {\"a\": 1}\n", "POST text/plain; charset=utf-8 plain", "PUT a/b x", "GET - ",
        ])
    }

    @Test(.needs(.shell)) func `sends piped input as the body, and nothing if it is closed or /dev/null`() async throws
    {
      let lines = [#"printf abc | "$1" "$2""#, #""$1" "$2" <&-"#, #""$1" "$2" </dev/null"#]
      for line in lines {
        let process = try TestProgram.shell.start(["-c", line, "sh", try ToolProcess.martlet().path, server.url("/")])
        let result = try await process.end()
        #expect(result.status == 0, "\(line): \(result.errors)")
      }

      #expect(sent == ["POST text/plain; charset=utf-8 abc", "GET - ", "GET - "])
    }

    @Test func `sends slow input as it arrives, and again after a redirect`() async throws {
      let server = try MockServer { request in
        request.path == "/a" ? .redirect(to: "/b", status: 307) : .ok()
      }
      defer { server.stop() }
      let pipe = Pipe()
      let tool = try ToolProcess(
        try ToolProcess.martlet(), ["post", server.url("/a")], input: pipe.fileHandleForReading)
      try pipe.fileHandleForWriting.write(contentsOf: Data("{\"a\":".utf8))

      #expect(await server.wait { $0.openConnections >= 1 }, "it has connected before the input ends")
      try pipe.fileHandleForWriting.write(contentsOf: Data("1}".utf8))
      try pipe.fileHandleForWriting.close()
      let result = try await tool.end()

      #expect(result.status == 0, "\(result.errors)")
      #expect(server.requests.map(\.text) == ["{\"a\":1}", "{\"a\":1}"])
      #expect(server.requests.allSatisfy { $0.header("Content-Type") == "application/json" })
    }

    @Test(arguments: ["", "abc"]) func `--timeout limits the wait for standard input`(text: String) async throws {
      let pipe = Pipe()

      for arguments in [["--body", "-"], ["-d", "@-"], ["a=@-"]] {
        try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        let process = try ToolProcess(
          try ToolProcess.martlet(), ["post", server.url("/"), "--timeout", "0.5"] + arguments,
          input: pipe.fileHandleForReading)
        let result = try await process.end()
        #expect(result.status == 6, "\(arguments): \(result.errors)")
      }

      // The input is sent as it arrives, but its end never arrives.
      #expect(server.requests.allSatisfy { !$0.isComplete && text.hasPrefix($0.text) }, "\(server.requests)")
      #expect(server.requests.count <= (text.isEmpty ? 0 : 2))
      try pipe.fileHandleForWriting.close()
    }

    @Test func `sends a large file on standard input with its length`() async throws {
      let text = "[" + String(repeating: "1,\n", count: 700_000) + "1]"

      let result = try await martlet("post", server.url("/"), input: text)

      #expect(result.status == 0, "\(result.errors)")
      let request = try #require(server.requests.first)
      #expect(request.text == text && request.header("Content-Length") == "\(text.utf8.count)")
      #expect(request.header("Content-Type") == "application/json")
    }

    @Test(arguments: [["a=b"], ["-d", "c"], ["--body", "c"], ["-F", "f=c"]])
    func `refuses standard input together with another body, and names both`(arguments: [String]) async throws {
      try folder.write("data", to: "input")
      let file = try #require(FileHandle(forReadingAtPath: folder.path("input")))
      let pipe = Pipe()
      try pipe.fileHandleForWriting.write(contentsOf: Data("data".utf8))

      for input in [file, pipe.fileHandleForReading] {
        let words = [server.url("/")] + arguments
        let refused = try await ToolProcess(try ToolProcess.martlet(), words, input: input).end()
        let ignored = try await ToolProcess(try ToolProcess.martlet(), words + ["--ignore-stdin"], input: input).end()

        #expect(refused.status == 2 && refused.errors.contains("standard input and "), "\(refused.errors)")
        #expect(refused.errors.contains("--ignore-stdin"))
        #expect(ignored.status == 0, "\(ignored.errors)")
      }
      // The rest of a file belongs to the loop that reads it.
      try file.seek(toOffset: 1)
      let inLoop = try await ToolProcess(try ToolProcess.martlet(), [server.url("/")] + arguments, input: file).end()
      #expect(inLoop.status == 0, "\(inLoop.errors)")
      #expect(server.requests.count == 3)
      withExtendedLifetime(pipe) {}
    }

    @Test func `JSON in a file may begin with a byte order mark`() async throws {
      try folder.write("\u{FEFF}[1]", to: "json")

      let result = try await ToolProcess.martlet(server.url("/"), "a:=@\(folder.path("json"))")

      #expect(result.status == 0, "\(result.errors)")
      #expect(sent == [#"POST application/json {"a": [1]}"#])
    }

    @Test(arguments: [
      (#"{"a":1}"# + "\n" + #"{"a":2"#, "text/plain; charset=utf-8"), (#"{"a":"#, "application/json"),
      ("{\n\"a\":", "application/json"), ("abc", "text/plain; charset=utf-8"), (#"{"a":1}"# + "\n", "application/json"),
      ("[1,\ntru", "application/json"), ("[info] started\n", "text/plain; charset=utf-8"),
    ])
    func `the beginning of a long input decides its content type`(text: String, type: String) {
      #expect(RequestCommand.contentType(ofBeginning: Data(text.utf8)) == type)
      // The beginning may end within a character.
      #expect(RequestCommand.contentType(ofBeginning: Data((text + "é").utf8.dropLast())) == type)
      #expect(
        RequestCommand.contentType(ofBeginning: Data(text.utf8) + [0xFF, 0, 0, 0, 0]) == "application/octet-stream")
    }

    @Test(arguments: [
      ([#"{"a":1}"#], "application/json"), ([#"{"a":1}"#, "\n", " "], "application/json"),
      ([#"{"a":1}"# + "\n", #"{"a":2}"# + "\n"], "text/plain; charset=utf-8"), (["[1,", "2]"], "application/json"),
      (["[nul", "l]"], "application/json"), (["[info] a\n", "b"], "text/plain; charset=utf-8"),
      (["a", "b"], "text/plain; charset=utf-8"),
    ])
    func `a pause after a document does not change the content type`(parts: [String], type: String) async throws {
      for pause in [Duration.zero, .milliseconds(200)] {
        let pipe = Pipe()
        let (reading, writing) = (pipe.fileHandleForReading, pipe.fileHandleForWriting)
        let writer = Task {
          for part in parts {
            try writing.write(contentsOf: Data(part.utf8))
            try await Task.sleep(for: pause)
          }
          try writing.close()
        }

        let body = try await onThread {
          var command = RequestCommand(url: "http://a.test")
          try command.readInput(Terminal(STDERR_FILENO), from: StandardInput(descriptor: reading.fileDescriptor))
          return command.request.body
        }
        try await writer.value

        #expect(body?.contentType == type, "after pauses of \(pause)")
        // A document is read to its end before it is sent, so its length is known.
        if type == "application/json", JSONScanner.problem(in: parts[0]) == nil {
          #expect(body == .text(parts.joined(), contentType: type), "after pauses of \(pause)")
        }
      }
    }

    @Test func `Content-Type sends a JSON document before its input ends`() async throws {
      let pipe = Pipe()
      let tool = try ToolProcess(
        try ToolProcess.martlet(), ["post", server.url("/"), "Content-Type:application/x-ndjson"],
        input: pipe.fileHandleForReading)
      try pipe.fileHandleForWriting.write(contentsOf: Data("{\"a\":1}\n".utf8))

      #expect(await server.wait { $0.openConnections >= 1 })
      try pipe.fileHandleForWriting.close()

      #expect(try await tool.end().status == 0)
      #expect(sent == ["POST application/x-ndjson {\"a\":1}\n"])
    }

    @Test(
      .needs(.shell),
      arguments: [
        (MockResponse.status(503, body: "busy"), Int32(5)), (.redirect(to: "/b", status: 307), 3),
        (.status(401, headers: ["WWW-Authenticate": "Basic"]), 3),
      ])
    func `a long piped body that cannot be resent ends with the response that requires it`(
      response: MockResponse, status: Int32
    ) async throws {
      let server = try MockServer(response, options: .init(keepsBodies: false))
      defer { server.stop() }
      let line = #"head -c 17825792 /dev/zero | "$0" PUT "$1" --retry 1 -u a:b"#

      let words = ["-c", line, try ToolProcess.martlet().path, server.url("/")]
      let result = try await TestProgram.shell.start(words).end()

      #expect(result.status == status, "\(result.errors)")
      #expect(result.text == (status == 5 ? "busy" : ""))
      #expect(status == 5 || result.errors.contains("--body @FILE"), "\(result.errors)")
      #expect(server.requests.map(\.bodyLength) == [17 << 20])
    }

    @Test func `a long file on standard input is sent again`() async throws {
      let server = try MockServer(
        script: [.status(503), .redirect(to: "/b", status: 307), .ok("done")], options: .init(keepsBodies: false))
      defer { server.stop() }

      let result = try await martlet(
        "PUT", server.url("/"), "--retry", "1", input: String(repeating: "x", count: 17 << 20))

      #expect(result.status == 0 && result.text == "done", "\(result.errors)")
      #expect(server.requests.map(\.bodyLength) == [17 << 20, 17 << 20, 17 << 20])
    }

    @Test func `other content, GET, HEAD and --ignore-stdin do not read standard input`() async throws {
      let url = server.url("/")
      try #require(mkfifo(folder.path("pipe"), 0o600) == 0)
      // The pipe is opened for both directions, so it never ends.
      let endless = try #require(FileHandle(forUpdatingAtPath: folder.path("pipe")))

      for arguments in [["GET", url], ["-I", url], [url, "--ignore-stdin"], [url, "a=b"], [url, "-d", "c"]] {
        let result = try await ToolProcess(try ToolProcess.martlet(), arguments, input: endless).end()
        #expect(result.status == 0, "\(arguments): \(result.errors)")
      }

      #expect(
        sent == [
          "GET - ", "HEAD - ", "GET - ", "POST application/json {\"a\": \"b\"}",
          "POST application/x-www-form-urlencoded c",
        ])
    }

    @Test func `a hyphen as a file name stands for standard input`() async throws {
      let url = server.url("/")

      _ = try await martlet(url, "--body", "-", input: "[1]")
      _ = try await martlet("GET", url, "--body=@-", input: "")
      _ = try await martlet(url, "-d", "@-", "-d", "c=d", input: "a=b\r\n")
      _ = try await martlet(url, "-F", "f=@-;filename=a.txt", input: "part")

      #expect(
        sent.prefix(3) == [
          "POST application/json [1]", "GET text/plain; charset=utf-8 ",
          "POST application/x-www-form-urlencoded a=b&c=d",
        ])
      let form = try #require(server.requests.last)
      #expect(form.text.contains("name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain"), "\(form.text)")
      #expect(form.text.contains("\r\n\r\npart\r\n"))
    }

    @Test func `-d posts text and files as curl does`() async throws {
      try folder.write("a=1\r\nb\n", to: "file")
      let file = "@\(folder.path("file"))"

      for arguments in [
        ["-d", "x=1", "--data", "y=2"], ["-d", file], ["--data-binary", file], ["--data-raw", "@z"],
        ["-d", "{}", "-H", "Content-Type: application/json"], ["--json", "{\"a\":1}"],
      ] {
        let result = try await ToolProcess(try ToolProcess.martlet(), [server.url("/")] + arguments).end()
        #expect(result.status == 0, "\(result.errors)")
      }
      let missing = try await ToolProcess.martlet(server.url("/"), "-d", "@\(folder.path("none"))")

      let form = "POST application/x-www-form-urlencoded "
      #expect(
        sent == [
          form + "x=1&y=2", form + "a=1b", form + "a=1\r\nb\n", form + "@z", "POST application/json {}",
          "POST application/json {\"a\":1}",
        ])
      #expect(server.requests.last?.header("Accept") == "application/json")
      #expect(missing.status == 2 && missing.errors.contains("none"), "\(missing.errors)")
    }

    @Test func `reads a field's text or JSON from a file or standard input`() async throws {
      try folder.write("one & two", to: "text")
      try folder.write("[1, 2]\n", to: "json")
      let (url, text, json) = (server.url("/"), folder.path("text"), folder.path("json"))

      let good = [
        try await martlet(url, "a=@\(text)", "b:=@\(json)", "c=@-", #"d=\@e"#, input: "in"),
        try await ToolProcess.martlet(url, "--form", "a=@\(text)"),
        try await ToolProcess.martlet(url, "--multipart", "a=@\(text)"),
      ]
      let missing = try await ToolProcess.martlet(url, "a=@\(folder.path("none"))")
      let broken = try await ToolProcess.martlet(url, "b:=@\(text)")
      let twice = try await martlet(url, "a=@-", "b=@-", input: "in")

      #expect(good.map(\.status) == [0, 0, 0], "\(good.map(\.errors))")
      #expect(
        sent.prefix(2) == [
          #"POST application/json {"a": "one & two", "b": [1, 2], "c": "in", "d": "@e"}"#,
          "POST application/x-www-form-urlencoded a=one+%26+two",
        ])
      #expect(server.requests.last?.text.contains("name=\"a\"\r\n\r\none & two\r\n") ?? false, "\(sent)")
      #expect(missing.status == 2, "\(missing.errors)")
      #expect(missing.errors.contains("none': No such file or directory; text that"), "\(missing.errors)")
      #expect(broken.status == 2 && broken.errors.contains("is not JSON"), "\(broken.errors)")
      #expect(twice.status == 2 && twice.errors.contains("can be read only once"), "\(twice.errors)")
      #expect(server.requests.count == 3)
    }

    @Test(.needs(.shell)) func `reads pipes instead of files`() async throws {
      let url = server.url("/")

      for (words, input) in [
        (["a=@/dev/fd/3"], "in"), (["a:=@/dev/fd/3"], "[1]"), (["-d", "@/dev/fd/3"], "in"), (["@/dev/fd/3"], "[1]"),
        (["--body", "@/dev/fd/3"], "in"), (["--bearer", "@/dev/fd/3"], "t0ken"), (["-K", "/dev/fd/3"], "header A: b"),
        (["--bearer", "@/dev/fd/3", "--session", folder.path("s.json")], "t0ken"), (["-K", "/dev/null"], ""),
        (["-w", "@/dev/fd/3"], "%{http_code}"), (["-F", "f=@/dev/fd/3;filename=n"], "in"), (["f@/dev/fd/3"], "in"),
      ] {
        let line = #"printf %s "$1" | { shift; "$0" "$@" 3<&0 </dev/null; }"#
        let all = ["-c", line, try ToolProcess.martlet().path, input, url] + words
        let result = try await TestProgram.shell.start(all).end()
        #expect(result.status == 0, "\(words): \(result.errors)")
        #expect(result.text == (words[0] == "-w" ? "204" : ""), "\(words)")
      }

      let json = "POST application/json "
      let form = "POST application/x-www-form-urlencoded "
      #expect(
        sent.prefix(5) == [
          json + #"{"a": "in"}"#, json + #"{"a": [1]}"#, form + "in", json + "[1]",
          "POST text/plain; charset=utf-8 in",
        ])
      #expect(server.requests.filter { $0.header("Authorization") == "Bearer t0ken" }.count == 2)
      #expect(server.requests.filter { $0.header("A") == "b" }.count == 1)
      #expect(server.requests.suffix(2).allSatisfy { $0.text.contains("\r\n\r\nin\r\n") }, "\(sent)")
    }

    @Test func `the error for a file contains the reason`() throws {
      for (path, reason) in [
        (folder.path("none"), "No such file or directory"), (folder.path("."), "Is a directory"),
        ("/dev/zero", "it has more than 1 MiB"),
      ] {
        let error = #expect(throws: UsageError.self) {
          try InputFile.contents(of: path, for: "-d", hint: "; hint", limit: 1 << 20)
        }
        #expect(error?.description == "-d cannot read the file '\(path)': \(reason); hint")
      }
    }

    @Test func `-F sets the content type of a part`() async throws {
      try folder.write("<a/>", to: "note")

      let result = try await ToolProcess.martlet(
        server.url("/"), "-F", "meta={\"a\":1};type=application/json", "-F",
        "note=<\(folder.path("note"));type=text/xml")
      let wrong = try await ToolProcess.martlet(server.url("/"), "-F", "meta=1;type=json")

      let form = try #require(server.requests.first)
      #expect(result.status == 0, "\(result.errors)")
      for part in [
        "name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n",
        "name=\"note\"\r\nContent-Type: text/xml\r\n\r\n<a/>\r\n",
      ] {
        #expect(form.text.contains(part), "\(form.text)")
      }
      #expect(wrong.status == 2 && wrong.errors.contains("json"), "\(wrong.errors)")
      #expect(server.requests.count == 1)
    }

    @Test func `a file item makes the form multipart, and a missing file is reported`() async throws {
      try folder.write("{}", to: "a.json")

      let sent = try await ToolProcess.martlet(server.url("/"), "name=Ada", "file@\(folder.path("a.json"))")
      let plain = try await ToolProcess.martlet(server.url("/"), "--multipart", "name=Ada")
      let missing = try await ToolProcess.martlet(server.url("/"), "file@\(folder.path("none"))")

      #expect(sent.status == 0 && plain.status == 0, "\(sent.errors)\(plain.errors)")
      #expect(missing.status == 2 && missing.errors.contains("none"), "\(missing.errors)")
      #expect(server.requests.count == 2)
      for request in server.requests {
        #expect(request.header("Content-Type")?.hasPrefix("multipart/form-data; boundary=") ?? false)
        #expect(request.text.contains("name=\"name\"\r\n\r\nAda\r\n"))
      }
      let file = "name=\"file\"; filename=\"a.json\"\r\nContent-Type: application/json\r\n\r\n{}\r\n"
      #expect(server.requests.first?.text.contains(file) ?? false)
    }

    @Test func `a regular file counts as redirected input, and a device or directory does not`() throws {
      try folder.write("x", to: "file")
      let file = try #require(FileHandle(forReadingAtPath: folder.path("file")))
      let null = try #require(FileHandle(forReadingAtPath: "/dev/null"))
      let directory = open(folder.path("."), O_RDONLY | O_CLOEXEC)
      defer { close(directory) }

      #expect(StandardInput(descriptor: file.fileDescriptor).isRedirected)
      #expect(!StandardInput(descriptor: null.fileDescriptor).isRedirected)
      #expect(!StandardInput(descriptor: directory).isRedirected && !StandardInput(descriptor: -1).isRedirected)
    }
  }
#endif
