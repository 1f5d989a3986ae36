import Testing

@testable import MartletBase
@testable import Martlet

@Suite struct ProxyTests {
  @Test(arguments: [
    ("http://proxy.example:3128", "http://proxy.example:3128"), ("http://proxy.example", "http://proxy.example:80"),
    ("http://proxy.example:80/", "http://proxy.example:80"), ("HTTPS://Proxy.Example", "https://proxy.example:443"),
    ("https://proxy.example:80", "https://proxy.example:80"),
    ("socks5://proxy.example", "socks5h://proxy.example:1080"),
    ("socks5://proxy.example:80", "socks5h://proxy.example:80"), ("socks5h://[::1]:443", "socks5h://[::1]:443"),
    ("http://u:p@10.0.0.1:8080", "http://10.0.0.1:8080"),
  ])
  func `parses a proxy URL`(url: String, address: String) {
    let proxy = Proxy(url)

    #expect(proxy.problem == nil)
    #expect(proxy.address == address)
  }

  @Test func `accepts credentials in the URL or in separate arguments`() {
    let inURL = Proxy("http://us%65r:p%40ss%3Aw@proxy.example")
    let beside = Proxy("http://old:old@proxy.example", user: "new", password: "pä ss")

    #expect(inURL.user == "user" && inURL.password == "p@ss:w")
    #expect(beside.user == "new" && beside.password == "pä ss")
  }

  @Test(arguments: [
    "", "proxy.example", "proxy.example:3128", "//proxy.example", "ftp://proxy.example", "socks4://proxy.example",
    "http://", "http://:80", "http:///", "http://proxy.example:0", "http://proxy.example:70000",
    "http://proxy.example:a",
    "http://proxy.example/path", "http://proxy.example?q", "http://proxy.example#f", "http://proxy.example\r\nX: y",
    "http://pro xy", "http://[::1", "http://user:secret@", "http://user:secret@proxy.example:99999",
    "http://user:secret@proxy.example/x", "ftp://user:secret@proxy.example", "http://user:secret@pro xy",
    "http://us%0Aer:secret@proxy.example", "http://us%3Aer:secret@proxy.example",
    "http://user:sec/secret@proxy.example",
    "http://user:sec\u{7}secret@proxy.example",
  ])
  func `reports an invalid URL without its password`(_ url: String) throws {
    let problem = try #require(Proxy(url).problem).message

    #expect(problem.hasPrefix("the proxy \""))
    #expect(!problem.contains("secret"), "\(problem)")
    #expect(ProxySettings.proxy(Proxy(url)).problem?.message == problem)
  }

  @Test func `refuses credentials that cannot be sent`() {
    let long = String(repeating: "a", count: 256)

    #expect(Proxy("http://a.example", user: "a:b", password: "").problem != nil)
    #expect(Proxy("http://a.example", user: "a\nb", password: "").problem != nil)
    #expect(Proxy("http://a.example", user: "a", password: "\0").problem != nil)
    #expect(Proxy("socks5://a.example", user: "a", password: long).problem != nil)
    #expect(Proxy("socks5://a.example", user: "a:b", password: "c").problem == nil)
    #expect(Proxy("http://a.example", user: "a", password: long).problem == nil)
  }

  @Test func `descriptions omit the credentials`() {
    let proxy: Proxy = "http://user:secret@proxy.example:3128"
    var dumped = ""
    dump(ProxySettings.proxy(proxy), to: &dumped)

    for text in ["\(proxy)", String(reflecting: proxy), dumped, "\(ProxySettings.proxy(proxy))", "\([proxy])"] {
      #expect(!text.contains("secret") && !text.contains("user"), "\(text)")
    }
    #expect("\(proxy)" == "http://proxy.example:3128")
  }

  // MARK: Environment

  private func proxies(_ variables: [String: String]) throws -> (http: String?, https: String?) {
    let environment = try ProxyEnvironment(variables)
    func address(_ scheme: String) -> String? {
      environment.proxy(for: Origin(scheme: scheme, host: "a.example", port: 80))?.address
    }
    return (address("http"), address("https"))
  }

  @Test(arguments: ["http://a:caf\u{FFFD}@p:1", "http://p\u{FFFD}:1", "p\u{FFFD}"])
  func `a variable that is not UTF-8 is an error`(_ value: String) {
    let error = #expect(throws: InvalidInput.self) { try ProxyEnvironment(["all_proxy": value]) }
    #expect(error?.message == "environment variable all_proxy is not UTF-8")
  }

  @Test func `reads the usual proxy variables from the environment`() throws {
    #expect(try proxies([:]) == (nil, nil))
    #expect(try proxies(["http_proxy": "http://p:1", "https_proxy": "p:2"]) == ("http://p:1", "http://p:2"))
    #expect(try proxies(["HTTPS_PROXY": "p:2", "https_proxy": ""]) == (nil, "http://p:2"))
    #expect(try proxies(["HTTPS_PROXY": "q:2", "https_proxy": "p:2"]) == (nil, "http://p:2"))
    #expect(try proxies(["ALL_PROXY": "socks5://p"]) == ("socks5h://p:1080", "socks5h://p:1080"))
    #expect(try proxies(["all_proxy": "q:3", "http_proxy": "p:1"]) == ("http://p:1", "http://q:3"))
    #expect(try proxies(["all_proxy": "p:1", "no_proxy": "b.example, .A.example"]) == (nil, nil))
    #expect(try proxies(["all_proxy": "p:1", "NO_PROXY": "*"]) == (nil, nil))
    #expect(try proxies(["all_proxy": "p:1", "NO_PROXY": "1/2,b.example"]) == ("http://p:1", "http://p:1"))
  }

  @Test func `ignores HTTP_PROXY, and proxy variables in a CGI process`() throws {
    #expect(try proxies(["HTTP_PROXY": "p:1"]) == (nil, nil))
    #expect(try proxies(["http_proxy": "p:1", "all_proxy": "p:1", "REQUEST_METHOD": "GET"]) == (nil, nil))
  }

  @Test func `names the malformed variable without its password`() throws {
    let error = #expect(throws: InvalidInput.self) { try proxies(["https_proxy": "ftp://user:secret@p"]) }

    #expect(error?.message.contains("https_proxy") == true && error?.message.contains("secret") == false)
  }
}
