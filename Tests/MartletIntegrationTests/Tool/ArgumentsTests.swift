import Martlet
import TestSupport
import Testing

@testable import MartletTool

@Suite(.hangLimit) struct ArgumentsTests {
  private func request(_ arguments: String...) throws -> RequestCommand {
    let command = try Arguments.parse(arguments)
    guard case .request(let request) = command else {
      Issue.record("not a request: \(command)")
      return RequestCommand(url: "")
    }
    return request
  }

  @Test(arguments: [
    (["--help"], Command.help(.overview)), (["-h"], .help(.overview)), (["--version"], .version), (["demo"], .demo),
    (["--version", "--help"], .help(.overview)), (["GET", "--help"], .help(.command(.request))),
    (["help"], .help(.overview)), (["help", "download"], .help(.command(.download))),
    (["download", "--help"], .help(.command(.download))), (["-v", "download", "-h"], .help(.command(.download))),
    (["help", "config"], .help(.topic(.config))), (["completion", "zsh"], .completion(.zsh)), (["manual"], .manual),
  ])
  func `parses commands without a request`(arguments: [String], command: Command) throws {
    #expect(try Arguments.parse(arguments) == command)
  }

  @Test(arguments: [
    (["http://a.test"], "GET"), (["get", "http://a.test"], "GET"), (["PURGE", "http://a.test"], "PURGE"),
    (["http://a.test", "a=b"], "POST"), (["http://a.test", "a:=1"], "POST"), (["http://a.test", "a==b"], "GET"),
    (["http://a.test", "A:b"], "GET"), (["http://a.test", "--body", "x"], "POST"),
    (["put", "http://a.test", "a=b"], "PUT"), (["M-SEARCH", "http://a.test"], "M-SEARCH"),
    (["--", "DELETE", "http://a.test"], "DELETE"), (["http://a.test", "--form", "a=b"], "POST"),
  ])
  func `chooses the method from the arguments or the content`(arguments: [String], method: String) throws {
    guard case .request(let command) = try Arguments.parse(arguments) else { return }
    #expect(command.request.method.rawValue == method)
    #expect(command.url == "http://a.test")
  }

  @Test(arguments: [
    ("q==swift", Item.query(name: "q", value: "swift")), ("q==", .query(name: "q", value: "")),
    ("q==a=b:c", .query(name: "q", value: "a=b:c")), ("Accept:text/html", .header(name: "Accept", value: "text/html")),
    ("Accept: text/html", .header(name: "Accept", value: "text/html")),
    ("X:a=b", .header(name: "X", value: "a=b")), ("X;", .header(name: "X", value: "")),
    ("a=b", .field(.init(name: "a", value: .text("b")))), ("a=", .field(.init(name: "a", value: .text("")))),
    ("a;b=c", .field(.init(name: "a;b", value: .text("c")))),
    ("a:=[1, 2]", .field(.init(name: "a", value: .json("[1, 2]")))),
    ("a\\:b=c", .field(.init(name: "a:b", value: .text("c")))),
    ("a\\=b==c", .query(name: "a=b", value: "c")), ("a\\\\=c", .field(.init(name: "a\\", value: .text("c")))),
    ("a\\@b=c", .field(.init(name: "a@b", value: .text("c")))),
    ("a\\b=c\\=d", .field(.init(name: "a\\b", value: .text("c\\=d")))),
  ])
  func `reads items`(word: String, item: Item) throws {
    #expect(try Item.parse(word) == item)
  }

  @Test(arguments: [
    ("a=@f", RequestCommand.Field.Value.file("f", isJSON: false)), ("a:=@-", .file("-", isJSON: true)),
    (#"a=\@f"#, .text("@f")), (#"a=\\@f"#, .text(#"\\@f"#)), ("a=b@f", .text("b@f")),
  ])
  func `reads fields whose value is in a file`(word: String, value: RequestCommand.Field.Value) throws {
    #expect(try Item.parse(word) == .field(.init(name: "a", value: value)))
  }

  @Test func `parses options in any position`() throws {
    let command = try request(
      "-iv", "PUT", "--timeout", "0.5", "http://a.test", "--retry=3", "a=b", "--no-follow", "-o", "file", "--form")

    #expect(command.method == "PUT" && command.timeout == .milliseconds(500) && command.retries == 3)
    #expect(command.isVerbose && command.includesHead && !command.followsRedirects && command.output == "file")
    #expect(command.content == .form([.init(name: "a", value: .text("b"))]))
  }

  @Test func `parses no options after two hyphens`() throws {
    let command = try request("http://a.test", "--", "--body=x")

    #expect(command.content == .json([.init(name: "--body", value: .text("x"))]))
  }

  @Test func `reads the maximum number of redirects`() throws {
    #expect(try request("http://a.test", "--max-redirects", "3").options.redirects?.maximumHops == 3)
    #expect(try request("http://a.test", "--max-redirs=0").maximumRedirects == 0)
    #expect(throws: UsageError.self) { try request("http://a.test", "--max-redirects", "-1") }
  }

  @Test func `the item @FILE is the body`() throws {
    #expect(try request("http://a.test", "@in.json", "X:1").content == .file("in.json"))
    #expect(try request("http://a.test", "@in.json").request.method == .post)
    #expect(try request("put", "http://a.test", "@-").content == .input)
    #expect(try request("http://a.test", #"\@a=1"#).content == .json([.init(name: "@a", value: .text("1"))]))
  }

  @Test func `accepts a hyphen, a number and an attached option name as a value`() throws {
    #expect(try request("http://a.test", "-o", "-").output == "-")
    #expect(try request("http://a.test", "--output=-v").output == "-v")
    #expect(try request("http://a.test", "--body", "-v").content == .text("-v"))
  }

  @Test func `the error for a missing URL shows no secret`() {
    for words in [["-u", "ada:3141"], ["-d", "pin:3141"], ["--body", "http://u:3141@a.test/"]] {
      let error = #expect(throws: UsageError.self) { try Arguments.parse(words) }

      #expect(error?.description.contains("URL is missing") == true, "\(error as Any)")
      #expect(error?.description.contains("3141") == false, "\(error as Any)")
    }
  }

  @Test func `keeps repeated headers and query items`() throws {
    let command = try request("http://a.test", "A:1", "A:2", "q==1", "q==2")

    #expect(command.headers[all: "A"] == ["1", "2"])
    #expect(command.query.encoded == "q=1&q=2")
  }

  @Test func `parses connection options`() throws {
    let connecting = try request(
      "--transport=curl", "--http", "1.1", "a.test", "--proxy", "proxy.test:3128", "--cacert", "roots.pem", "--timing",
      "--cert", "me.pem", "--key=me.key", "--resolve", "a.test:127.0.0.1", "--resolve", "a.test:[::1]",
      "--resolve", "b.test:81:127.0.0.2", "--limit-rate", "1.5k"
    ).connecting

    var expected = Connecting()
    expected.lane = .curl
    expected.version = .http1_1
    expected.proxy = Proxy("http://proxy.test:3128")
    expected.roots = "roots.pem"
    expected.certificate = .init(file: "me.pem")
    expected.key = "me.key"
    expected.addresses = ["a.test": ["127.0.0.1", "[::1]"], "b.test:81": ["127.0.0.2"]]
    expected.rate = 1536
    #expect(connecting == expected)
    let other = try request("a.test", "--no-proxy", "--insecure", "--unix-socket", "/run/s", "--timing")
    #expect(other.connecting.isDirect && other.connecting.isInsecure && other.connecting.unixSocket == "/run/s")
    #expect(other.showsTiming && other.options.httpVersion == nil)
    #expect(try request("a.test", "--http=2").options.httpVersion == .http2)
    #expect(try request("a.test", "--http2-prior-knowledge").options.httpVersion == .http2PriorKnowledge)
  }

  @Test(arguments: [
    ("a.pem", "a.pem", nil, false), ("a.PFX:b:c\\", "a.PFX", "b:c\\", true), ("a.p12:", "a.p12", "", true),
    (#"a\:b\\c.pem:d"#, #"a:b\c.pem"#, "d", false), (#"a\b"#, #"a\b"#, nil, false),
  ])
  func `separates a certificate file from its password`(text: String, file: String, password: String?, isPKCS12: Bool)
    throws
  {
    let certificate = try request("a.test", "--cert", text).connecting.certificate

    #expect(certificate == .init(file: file, password: password) && certificate?.isPKCS12 == isPKCS12)
  }

  @Test(arguments: [
    (["--transport", "ftp"], "'ftp'"), (["--transport="], "--transport"), (["--http", "3"], "'3'"),
    (["--http", "1"], "'1'"), (["--http"], "--http"), (["--proxy", ""], "--proxy"), (["--cacert", ""], "--cacert"),
    (["--cert", ":secret"], "--cert"), (["--key", "k"], "'k'"), (["--cert", "a.p12", "--key", "k"], "'a.p12'"),
    (["--unix-socket", ""], "--unix-socket"), (["--resolve", "a.test"], "'a.test'"),
    (["--resolve", ":1.2.3.4"], ":1.2"),
    (["--resolve", "a.test:"], "'a.test:'"), (["--resolve", "a.test:0:1.2.3.4"], ":0:"),
    (["--resolve", "a.test:65536:1.2.3.4"], ":65536:"), (["--resolve", "a.test:x:1.2.3.4"], ":x:"),
    (["--resolve", "a.test:80:::1"], ":::1"), (["--resolve", "a.test[::1]"], "[::1]"), (["--resolve", "]"], "']'"),
    (["--limit-rate", "1023"], "'1023'"), (["--limit-rate", "k"], "'k'"), (["--limit-rate", "nan"], "'nan'"),
    (["--limit-rate", "1e99g"], "'1e99g'"), (["--limit-rate", "-5k"], "such as 500k"),
    (["--insecure=1"], "--insecure"), (["--insecure", "--cacert", "c"], "--cacert"),
    (["--proxy", "p", "--no-proxy"], "--no-proxy"), (["--proxy", "p", "--unix-socket", "s"], "--unix-socket"),
  ])
  func `names the invalid connection option`(arguments: [String], culprit: String) {
    let error = #expect(throws: UsageError.self) { try Arguments.parse(["http://a.test"] + arguments) }

    #expect(error?.description.contains(culprit) ?? false, "\(error?.description ?? "")")
    #expect(error?.description.contains("secret") == false)
  }

  #if URLSession
    @Test(arguments: [["--http", "1.1"], ["--http2-prior-knowledge"], ["--no-proxy"], ["--insecure"]])
    func `names the option that the system's loader lacks`(option: [String]) {
      let error = #expect(throws: UsageError.self) {
        try Arguments.parse(["http://a.test", "--transport", "system"] + option)
      }

      #expect(error?.description.contains(option[0]) == true)
    }
  #endif

  @Test(arguments: [
    ([], "URL"), (["GET"], "GET"), ([""], "URL"), (["--nope"], "--nope"), (["-Z", "http://a.test"], "-Z"),
    (["http://a.test", "--timeout"], "--timeout"), (["http://a.test", "--timeout", "soon"], "soon"),
    (["http://a.test", "--timeout", "0"], "'0'"), (["http://a.test", "--timeout", "-1"], "-1"),
    (["http://a.test", "--timeout", "nan"], "nan"), (["http://a.test", "--timeout", "1e999"], "1e999"),
    (["http://a.test", "--retry", "x"], "'x'"), (["http://a.test", "--retry", "-1"], "-1"),
    (["http://a.test", "--form=1"], "--form"), (["http://a.test", "a:={"], "a:="),
    (["http://a.test", "plain"], "plain"),
    (["http://a.test", "=b"], "=b"), (["http://a.test", "http://b.test"], "http://b.test"),
    (["http://a.test", "X:"], "X:"),
    (["http://a.test", "a=b", "--body", "c"], "--body"), (["http://a.test", "a:=1", "--form"], "a:="),
    (["http://a.test", "--form", "--body", "c"], "--form"), (["demo", "x=1"], "x=1"),
    (["http://a.test", "-o", ""], "-o"), (["http://a.test", "--form"], "--form needs data items"),
    (["http://a.test", "--form", "a==b"], "--form needs data items"), (["sse", "http://a.test", "-o", "f"], "-o"),
    (["http://a.test", "a=@"], "'a'"), (["http://a.test", "--form", "a:=@f"], "'a:='"),
    (["http://a.test", "--pretty", "colors"], "one of all, format, none, not 'colors'"),
    (["http://a.test", "@"], "needs the name of a file"), (["http://a.test", "@a", "@b"], "two bodies"),
    (["http://a.test", "@a", "b=c"], "the item '@a' and the data item 'b'"),
    (["http://a.test", "@a", "--body", "b"], "--body and the item '@a'"),
    (["http://a.test", "@a", "-d", "b"], "the item '@a' and -d"), (["http://a.test", "@a", "--form"], "--form"),
    (["http://a.test", "-m", "2s"], "a number of seconds"), (["-d", ":8080/x"], "':8080/x' is the value of '-d'"),
    (["-d", "http://a.test/"], "'martlet download URL'"), (["-b", "a.test/x"], "--print b"),
    (["download", "-c", ":80/x"], "the value of '-c'"), (["--body", "{}"], "the URL is missing; see"),
    (["http://a.test", "-o=s3cret"], "'-o=' has a '=' after the letter; write -o FILE or --output=FILE"),
    (["http://a.test", "-vm=5"], "write -m SECONDS or --timeout=SECONDS"),
    (["http://a.test", "-F=a"], "write -F NAME"),
    (["http://a.test", "--", "--verbose"], "'--verbose' follows '--', so it is not an option but an item"),
    (["-"], "'-' is where the URL belongs"), (["-", "http://a.test"], "with --body -"),
    (["http://a.test", "--print", ""], "--print needs at least one letter"),
    (["http://a.test", "--bearer", "t", "--basic"], "exclude each other"),
    (["-c", "-d", "http://a.test"], "the option '-d' follows"), (["-o", "--form", "a=b"], "'--form' follows"),
  ])
  func `names the invalid argument`(arguments: [String], culprit: String) {
    let error = #expect(throws: UsageError.self) { try Arguments.parse(arguments) }

    #expect(error?.description.contains(culprit) ?? false, "\(error?.description ?? "")")
    #expect(error?.description.contains("s3cret") == false)
  }
}
