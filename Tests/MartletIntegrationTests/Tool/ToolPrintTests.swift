import Foundation
import MartletTesting
import TestSupport
import Testing

/// The tool's `--offline`, `--print`, `--write-out`, `--connect-timeout` and its help.
@Suite(.hangLimit) struct ToolPrintTests {
  @Test func `--offline prints the request with secrets masked, and sends nothing`() async throws {
    let server = try MockServer(.ok("hello"))

    let result = try await ToolProcess.martlet(
      "PUT", server.url("/users?a=1"), "user[name]=Ada", "Authorization:Bearer s3cret", "--offline", "--retry", "3",
      "-w", "%{http_code}\n")

    #expect(result.errors.contains("exclude each other"), "\(result.errors)")
    let printed = try await ToolProcess.martlet(
      "PUT", server.url("/users?a=1"), "user[name]=Ada", "Authorization:Bearer s3cret", "--offline", "--retry", "3")
    #expect(printed.status == 0, "\(printed.errors)")
    #expect(printed.text.hasPrefix("PUT /users?a=1\nHost: 127.0.0.1:\(server.port)\n"), "\(printed.text)")
    #expect(printed.text.contains("\nAuthorization: ***\n") && printed.text.contains("\nUser-Agent: martlet/"))
    #expect(printed.text.hasSuffix("\n\n{\"user\": {\"name\": \"Ada\"}}\n"), "\(printed.text)")
    #expect(!printed.text.contains("s3cret") && server.connectionCount == 0)
  }

  @Test func `--curl prints a curl command with secrets masked, and sends nothing`() async throws {
    let server = try MockServer(.ok("hello"))
    let url = server.url("/users?a=1")

    let json = try await ToolProcess.martlet(
      "PUT", url, "name=it's", "X-One:1", "Authorization:Bearer s3cret", "-m", "2.5", "--retry", "3", "--curl")
    let plain = try await ToolProcess.martlet(
      url, "--curl", "--no-follow", "-u", "ada:s3cret", "-k", "--resolve", "a.test:127.0.0.1", "--http1.1")
    let folder = try TemporaryFolder()
    try folder.write("1,2", to: "in.csv")
    let path = folder.path("in.csv")
    let form = try await ToolProcess.martlet(url, "a=b c", "f@\(path);type=text/csv", "-b", "s=s3cret", "--curl")

    #expect(
      json.text.hasPrefix("curl --request PUT --header 'X-One: 1' --header 'Authorization: ***' ")
        && json.text.contains(" --header 'Content-Type: application/json' --data-raw '{")
        && json.text.contains("it'\\''s")
        && json.text.hasSuffix(" '\(url)' --compressed --location --max-time 2.5 --retry 3\n"), "\(json.text)")
    #expect(
      plain.text == "curl '\(url)' --compressed --anyauth --user ada --http1.1 --insecure "
        + "--resolve a.test:\(server.port):127.0.0.1\n", "\(plain.text)")
    #expect(
      form.text.hasSuffix(" --compressed --location --form-string 'a=b c' --form 'f=@\(path);type=text/csv'\n"),
      "\(form.text)")
    #expect(form.text.hasPrefix("curl --request POST --header 'Cookie: ") && !form.text.contains("Content-Type"))
    #expect([json, plain, form].map(\.status) == [0, 0, 0] && server.connectionCount == 0)
    #expect(!(json.text + plain.text + form.text).contains("s3cret"))
  }

  @Test func `--print selects the parts`() async throws {
    let server = try MockServer(.ok("hello", headers: ["X-One": "1"]))
    let url = server.url("/x")

    let all = try await ToolProcess.martlet(url, "a=b", "--print=HBhb")
    let head = try await ToolProcess.martlet(url, "-p", "h")
    let request = try await ToolProcess.martlet(url, "a=b", "-p", "B")
    let timing = try await ToolProcess.martlet(url, "--print", "m")
    let nothing = try await ToolProcess.martlet(url, "--print", "")

    #expect(all.text.hasPrefix("POST /x\nHost: ") && all.text.contains("\n\n{\"a\": \"b\"}\n\nHTTP/1.1 200 OK\n"))
    #expect(all.text.hasSuffix("\n\nhello"), "\(all.text)")
    #expect(head.text.hasPrefix("HTTP/1.1 200 OK\n") && head.text.contains("\nX-One: 1\n"), "\(head.text)")
    #expect(!head.text.contains("hello") && request.text == "{\"a\": \"b\"}")
    #expect(nothing.status == 2 && nothing.errors.contains("--print needs at least one letter; H and B select"))
    #expect(timing.text.hasPrefix("queued ") && timing.text.contains("\ntotal "), "\(timing.text)")
    #expect([all, head, request, timing].map(\.status) == [0, 0, 0, 0])
  }

  @Test func `--print B writes all bytes of a body to a pipe`() async throws {
    let server = try MockServer(.ok())
    let folder = try TemporaryFolder()
    let text = String(repeating: "0123456789", count: 10_000)
    try folder.write(text, to: "text")
    try folder.write("\u{0}\u{1B}", to: "binary")
    let (url, long, binary) = (server.url("/"), folder.path("text"), folder.path("binary"))

    for words in [["--print", "B"], ["--offline", "--print", "B"]] {
      for (content, body) in [
        (["--body", text], text), (["@\(long)"], text), (["@\(binary)"], "\u{0}\u{1B}"), (["--body", "-"], text),
        (["post"], text), (["--data-binary", "@\(long)"], text),
      ] {
        let isPost = content == ["post"]
        let file = isPost || content.contains("-") ? long : "/dev/null"
        let input = try #require(FileHandle(forReadingAtPath: file))
        let all = isPost ? ["post", url] : [url] + content
        let result = try await ToolProcess(try ToolProcess.martlet(), all + words, input: input).end()
        #expect(result.text == body, "\(content.map { $0.prefix(20) }): \(result.text.prefix(80)) \(result.errors)")
      }
    }
    let form = try await ToolProcess.martlet(url, "a@\(long)", "b@\(binary)", "--print=B")
    #expect(form.output == server.requests.last?.body && form.output.count > 100_000, "\(form.output.count)")
    let both = try await ToolProcess.martlet(url, "@\(long)", "--offline")
    #expect(both.text.hasPrefix("POST /\n") && both.text.hasSuffix("\n\n\(text)\n"))
  }

  @Test func `traces mask the secrets of URLs and fields in both directions, and -i does not`() async throws {
    let server = try MockServer(
      .ok("sid=s3cret", headers: ["Set-Cookie": "sid=s3cret", "Location": "/?token=s3cret", "X-One": "1"]))
    let url = server.url("/x?access_token=s3cret&api_key=s3cret&password=s3cret&q=1")
    let words = ["Referer:http://a.test/?token=s3cret", "Cookie:a=s3cret"]

    let trace = try await ToolProcess(try ToolProcess.martlet(), ["-v", url] + words).end()
    let offline = try await ToolProcess(try ToolProcess.martlet(), ["--offline", url] + words).end()
    let curl = try await ToolProcess(
      try ToolProcess.martlet(), ["--curl", url, "--multipart", "password=s3cret", "b=c"] + words
    ).end()
    let shown = try await ToolProcess.martlet("-i", url)

    #expect(offline.text.hasPrefix("GET /x?access_token=***&api_key=***&password=***&q=1\n"), "\(offline.text)")
    #expect(trace.errors.contains("> GET /x?access_token=***&api_key=***&password=***&q=1\n"), "\(trace.errors)")
    #expect(trace.errors.contains("< Set-Cookie: ***\n< Location: /?token=***\n< X-One: 1\n"), "\(trace.errors)")
    #expect(!(trace.errors + offline.text + curl.text).contains("s3cret"), "\(curl.text)")
    #expect(trace.text == "sid=s3cret" && shown.text.contains("\nSet-Cookie: sid=s3cret\n"), "\(shown.text)")
  }

  @Test func `--pretty formats the result in a pipe, and leaves binary content unchanged`() async throws {
    let server = try MockServer { request in
      request.path == "/binary"
        ? .ok("\u{0}\u{1}", headers: ["Content-Type": "image/png"])
        : .ok("{\"a\":1}", headers: ["Content-Type": "application/json"])
    }

    let all = try await ToolProcess.martlet(server.url("/"), "--pretty", "all")
    let format = try await ToolProcess.martlet(server.url("/"), "--pretty=format", "-i")
    let none = try await ToolProcess.martlet(server.url("/"), "--pretty=none")
    let binary = try await ToolProcess.martlet(server.url("/binary"), "--pretty=all")

    #expect(all.text == "{\n  \u{1B}[34;1m\"a\"\u{1B}[0m: \u{1B}[35m1\u{1B}[0m\n}\n", "\(all.text)")
    #expect(format.text.hasPrefix("HTTP/1.1 200 OK\n") && format.text.hasSuffix("\n\n{\n  \"a\": 1\n}\n"))
    #expect(none.text == "{\"a\":1}" && binary.output == Data([0, 1]))
  }

  @Test func `--write-out prints the variables after the body`() async throws {
    let server = try MockServer { $0.path == "/old" ? .redirect(to: "/new") : .status(404, body: "hello") }
    let folder = try TemporaryFolder()
    try folder.write("%{num_redirects} %{remote_ip}:%{remote_port}\\n", to: "format")

    let result = try await ToolProcess.martlet(
      server.url("/old"), "-w", "\\n%{http_code} %{size_download} %{url_effective} %{exitcode}%{stderr}%{method}")
    let file = try await ToolProcess.martlet(server.url("/old"), "-w@\(folder.path("format"))")
    let times = try await ToolProcess.martlet(server.url("/new"), "-w", " %{time_connect} %{time_total}")
    let failed = try await ToolProcess.martlet(
      "http://127.0.0.1:\(try MockServer.refusedPort())/", "-w", "%{http_code} %{exitcode} %{errormsg}")
    let shown = try await ToolProcess.martlet(server.url("/old"), "--no-follow", "-w", "%{redirect_url}")

    #expect(result.text == "hello\n404 5 \(server.url("/new")) 4" && result.errors == "GET", "\(result.text)")
    #expect(file.text == "hello1 127.0.0.1:\(server.port)\n", "\(file.text)")
    let numbers = times.text.split(separator: " ").compactMap { Double($0) }
    #expect(numbers.count == 2 && numbers[0] > 0 && numbers[1] >= numbers[0], "\(times.text)")
    #expect(failed.status == 3 && failed.text.hasPrefix("000 3 cannotConnect"), "\(failed.text)")
    #expect(shown.text == server.url("/new"), "\(shown.text)")
  }

  @Test func `--connect-timeout limits the connection phase`() async throws {
    let hole = try BlackHole()

    let result = try await ToolProcess.martlet(hole.url, "--connect-timeout", "0.3")

    #expect(result.status == 6 && result.errors.hasPrefix("martlet: timedOut"), "\(result.errors)")
  }

  @Test(arguments: [
    ["help"], ["--help"], ["help", "download"], ["download", "--help"], ["GET", "-h"], ["load", "--help", "--count"],
    ["manual"], ["completion", "fish"],
  ])
  func `help and its relatives exit with 0 and connect to no host`(words: [String]) async throws {
    let proxy = try MockServer(.ok("proxy"))
    let address = "http://127.0.0.1:\(proxy.port)"
    let complete = words.last == "--count" ? words + ["3"] : words

    let result = try await ToolProcess(
      try ToolProcess.martlet(), complete, environment: ["http_proxy": address, "https_proxy": address]
    ).end()

    #expect(result.status == 0 && result.errors.isEmpty && result.text.contains("martlet"), "\(result.errors)")
    #expect(!result.text.contains("\\u{a}") && proxy.connectionCount == 0)
  }

  @Test(arguments: [["downlod", "http://127.0.0.1:1/"], ["hlep"], ["GET", "help"], ["intranet"]])
  func `a misspelled command exits with 2 and connects to no host`(words: [String]) async throws {
    let proxy = try MockServer(.ok("proxy"))
    let address = "http://127.0.0.1:\(proxy.port)"

    let result = try await ToolProcess(
      try ToolProcess.martlet(), words, environment: ["http_proxy": address, "https_proxy": address]
    ).end()

    #expect(result.status == 2 && result.output.isEmpty && proxy.connectionCount == 0, "\(result.errors)")
  }
}
