import Foundation
import Martlet
import TestSupport
import Testing

@testable import MartletTool

/// The curl options that the tool accepts.
@Suite(.hangLimit) struct CurlOptionsTests {
  private func request(_ arguments: [String]) throws -> RequestCommand {
    guard case .request(let request) = try Arguments.parse(arguments) else { throw UsageError("not a request") }
    return request
  }

  @Test(arguments: [
    (["-XPUT"], "PUT"), (["-X", "delete"], "DELETE"), (["--request=Purge"], "Purge"), (["-d", "a=1"], "POST"),
    (["-XPATCH", "-da=1"], "PATCH"), (["-F", "a=b"], "POST"), (["-I"], "HEAD"), (["--json", "{}"], "POST"),
  ])
  func `-X or the content determines the method`(arguments: [String], method: String) throws {
    #expect(try request(["a.test"] + arguments).request.method.rawValue == method)
  }

  @Test func `reads header fields`() throws {
    let command = try request(
      ["a.test", "-H", "X-One: 1: 2", "-HX-Two:2", "--header=X-Empty;", "-A", "agent/1", "-e", "http://b.test/"])

    let expected: HTTPHeaders = [
      "X-One": "1: 2", "X-Two": "2", "X-Empty": "", "User-Agent": "agent/1", "Referer": "http://b.test/",
    ]
    #expect(command.headers == expected)
  }

  @Test func `accepts curl options with the same meaning`() throws {
    let command = try request([
      "-sSLkgN", "--compressed", "-m", "2.5", "-x", "proxy.test:1", "-u", "ada:x", "-b", "a=1; b=2", "-o", "file",
      "--url", "a.test",
    ])

    #expect(command.url == "https://a.test" && command.timeout == .milliseconds(2500) && command.output == "file")
    #expect(command.connecting.isInsecure && command.connecting.proxy == Proxy("http://proxy.test:1"))
    #expect(command.identity.user == .init(name: "ada", password: "x") && command.identity.cookies == ["a=1", "b=2"])
    #expect(command.followsRedirects)
  }

  @Test func `accepts HTTPie options and curl's version options`() throws {
    for option in ["-a", "--auth"] {
      #expect(try request(["a.test", option, "ada:x"]).identity.user == .init(name: "ada", password: "x"))
    }
    #expect(try request(["a.test", "--follow", "--check-status", "--stream"]).followsRedirects)
    #expect(try request(["a.test", "-0"]).connecting.version == .http1_0)
    #expect(try request(["a.test", "--http1.1"]).connecting.version == .http1_1)
    #expect(try request(["a.test", "--http2"]).connecting.version == .http2)
  }

  @Test func `-b accepts cookies and cookie files`() throws {
    let identity = try request([
      "a.test", "-b", "a=1; b=2;", "--cookie=c=3", "-bd.txt", "-b", "", "--cookies-txt", "e.txt", "-c", "f.txt",
    ]).identity

    #expect(identity.cookies == ["a=1", "b=2", "c=3"] && identity.cookieFiles == ["d.txt", "e.txt"])
    #expect(identity.savedCookies == "f.txt" && identity.jar == nil)
  }

  @Test func `parses multipart parts`() throws {
    let command = try request([
      "a.test", "-F", "a=b=c", "-F", "f=@x/a.png;type=image/x;filename=b.png", "-F", "g=<notes.txt", "h=i", "j@k;l",
    ])

    var parts = [Part(name: "a", text: "b=c"), try Part(name: "f", file: "x/a.png"), Part(name: "g", text: "")]
    parts[1].value = .file("x/a.png", filename: "b.png", type: "image/x")
    parts[2].value = .contents("notes.txt")
    parts += [try Part(name: "j", file: "k;l")]
    parts.insert(Part(name: "h", text: "i"), at: 3)
    #expect(command.content == .multipart(parts))
  }

  @Test func `-F parses the type of a text part, and --form-string does not`() throws {
    let command = try request([
      "a.test", "-F", "a={};type=application/json", "-F", "b=c;d;filename=e", "-F", "f=<g;type=text/x", "--form-string",
      "h=@i;type=j",
    ])

    var parts = [Part(name: "a", text: ""), Part(name: "b", text: ""), Part(name: "f", contents: "g")]
    parts[0].value = .data(Data("{}".utf8), filename: nil, type: "application/json")
    parts[1].value = .data(Data("c;d".utf8), filename: "e", type: nil)
    parts[2].value = .contents("g", type: "text/x")
    parts.append(Part(name: "h", text: "@i;type=j"))
    #expect(command.content == .multipart(parts))
  }

  @Test(arguments: [
    (["-G"], "name==value"), (["-O"], "martlet download"), (["-T", "f"], "martlet upload"),
    (["-c", "-"], "--save-cookies"), (["-b", "a=1; b"], "NAME=VALUE"), (["-F", "a=<;type=b/c"], "'a=<'"),
    (["--form-string", "a"], "--form-string needs"), (["-sSO"], "in '-sSO'; use 'martlet download"),
    (["--verify=no"], "--insecure"), (["--segments", "2"], "martlet download"),
    (["-D", "-"], "-i"), (["-n"], "--user"), (["-r", "0-1"], "Range:"),
    (["-C", "-"], "martlet download"), (["-H", "https://a.test"], "write the URL without -H"),
    (["--socks5=h"], "--proxy socks5://"), (["--data-urlencode", "a=b"], "--form"), (["--fail"], "exit code"),
    (["-H", "X:"], "-H 'X;'"), (["-H", "X"], "Name: value"), (["-H", ":x"], "-H"),
    (["-F", "a"], "-F needs"), (["-F", "=b"], "-F needs"), (["-F", "a=@"], "'a'"),
    (["-d", "a", "b=c"], "-d and the data item 'b'"), (["-d", "a", "--form"], "--form"), (["-d", "@"], "--data"),
    (["-d", "a", "--body", "b"], "--body and -d"), (["-F", "a=b", "c:=1"], "'c:='"), (["-X", ""], "-X"),
    (["-X"], "-X"), (["--json", "{}", "-F", "a=b"], "--json"), (["a@"], "'a'"), (["--form-part", "x"], "--form-part"),
    (["--location=1"], "--location"), (["-f"], "exit code"), (["-fsSL"], "exit code"),
    (["-f", "-d", "a"], "exit code"), (["-f", "--json", "{}"], "exit code"), (["--fail-with-body"], "exit code"),
    (["--dry-run"], "--offline"), (["--pass", "x"], "--cert FILE:PASSWORD"), (["--compress"], "upload FILE URL --gzip"),
    (["--retry-delay", "1"], "--retry N"), (["--no-verify"], "--insecure"), (["--netrc-file", "f"], "--session"),
    (["--all"], "-v shows redirects"), (["--man"], "'martlet manual'"), (["--ciphers", "x"], "has no equivalent"),
    (["-4"], "has no equivalent"), (["--tlsv1.3"], "has no equivalent"),
  ])
  func `the error for an unsupported option names the alternative`(arguments: [String], way: String) {
    let error = #expect(throws: UsageError.self) { try Arguments.parse(["http://a.test"] + arguments) }

    #expect(error?.description.contains(way) ?? false, "\(error?.description ?? "")")
  }

  @Test(arguments: [
    ("--hed", "--head"), ("--haed", "--head"), ("--verbse", "--verbose"), ("--timout=1", "--timeout"),
    ("--cookiejar", "--cookie-jar"), ("--compresed", "--compressed"), ("--segment", "--segments"), ("-json", "--json"),
    ("-timeout", "--timeout"), ("-M", "-m (--timeout)"), ("-vM9", "-m (--timeout)"),
    ("--heders", "--header"),
  ])
  func `the error for an unknown option suggests a similar one`(word: String, meant: String) {
    let error = #expect(throws: UsageError.self) { try Arguments.parse(["http://a.test", word]) }

    #expect(error?.description.hasPrefix("unknown option '-") ?? false, "\(error?.description ?? "")")
    #expect(error?.description.hasSuffix("; did you mean \(meant)?") ?? false, "\(error?.description ?? "")")
  }

  @Test(arguments: [
    ("--fial", "for --fail, use the exit code"), ("-trace", "for --trace, use -v"),
    ("--dry-rnu", "for --dry-run, use --offline"), ("--netcr", "for --netrc, use --user NAME"),
  ])
  func `the error for a misspelled unsupported option names the alternative`(word: String, way: String) {
    let error = #expect(throws: UsageError.self) { try Arguments.parse(["http://a.test", word]) }

    #expect(error?.description.contains("; \(way)") == true, "\(error as Any)")
  }

  @Test func `every suggested option works`() {
    for name in OptionEntry.byName.keys.sorted() + CurlOptions.refused.keys.sorted() where name.hasPrefix("--") {
      for word in [String(name.dropLast()), "\(name)x"] where OptionEntry.byName[word] == nil {
        let text = CurlOptions.problem(word).description
        guard let start = text.firstRange(of: "did you mean ")?.upperBound else { continue }
        let meant = String(text[start...].dropLast())
        #expect(OptionEntry.byName[meant] != nil, "\(text)")
      }
    }
  }

  @Test func `no option has both a replacement and none, or is supported`() {
    #expect(CurlOptions.unmatched.isDisjoint(with: CurlOptions.refused.keys))
    let spellings = Set(OptionEntry.all.flatMap(\.spellings))
    #expect(spellings.isDisjoint(with: CurlOptions.unmatched) && spellings.isDisjoint(with: CurlOptions.refused.keys))
  }

  @Test func `suggests no option for a distant misspelling`() {
    for word in ["--nope", "--xyz", "--xyz=1", "-Z", "-vZ", "--" + String(repeating: "x", count: 100_000)] {
      let error = #expect(throws: UsageError.self) { try Arguments.parse(["http://a.test", word]) }

      #expect(error?.description.hasSuffix("; see martlet --help") ?? false, "\(word.prefix(100))")
    }
  }

  @Test func `rejects two different methods`() {
    #expect(throws: UsageError.self) { try Arguments.parse(["-X", "PUT", "POST", "a.test"]) }
    #expect(throws: Never.self) { try Arguments.parse(["-X", "post", "POST", "a.test"]) }
  }
}
