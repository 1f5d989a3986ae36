import Testing

@testable import Martlet

@Suite struct NoProxyTests {
  struct Case: Sendable, CustomStringConvertible {
    let entry: String
    let host: String
    var port = 80
    let isCovered: Bool

    var description: String { "\(entry) \(isCovered ? "covers" : "leaves") \(host):\(port)" }
  }

  static let cases: [Case] = [
    Case(entry: "*", host: "a.example", isCovered: true),
    Case(entry: "*", host: "[::1]", isCovered: true),
    Case(entry: "a.example", host: "a.example", isCovered: true),
    Case(entry: "A.Example", host: "a.example", isCovered: true),
    Case(entry: " a.example ", host: "a.example", isCovered: true),
    Case(entry: "a.example", host: "a.example.", isCovered: true),
    Case(entry: "a.example.", host: "a.example", isCovered: true),
    Case(entry: "a.example", host: "b.a.example", isCovered: true),
    Case(entry: ".a.example", host: "b.c.a.example", isCovered: true),
    Case(entry: ".a.example", host: "a.example", isCovered: true),
    Case(entry: "*.a.example", host: "b.a.example", isCovered: true),
    Case(entry: "a.example", host: "ba.example", isCovered: false),
    Case(entry: ".a.example", host: "ba.example", isCovered: false),
    Case(entry: "b.a.example", host: "a.example", isCovered: false),
    Case(entry: "example", host: "a.example.other", isCovered: false),
    Case(entry: "", host: "a.example", isCovered: false),
    Case(entry: "localhost", host: "localhost", isCovered: true),
    Case(entry: "localhost", host: "127.0.0.1", isCovered: false),
    Case(entry: "a.example:8080", host: "a.example", port: 8080, isCovered: true),
    Case(entry: "a.example:8080", host: "b.a.example", port: 8080, isCovered: true),
    Case(entry: "a.example:8080", host: "a.example", port: 80, isCovered: false),
    Case(entry: "bücher.example", host: "xn--bcher-kva.example", isCovered: true),
    Case(entry: "10.1.2.3", host: "10.1.2.3", isCovered: true),
    Case(entry: "10.1.2.3", host: "10.1.2.30", isCovered: false),
    Case(entry: "10.1.2.3:8080", host: "10.1.2.3", port: 8080, isCovered: true),
    Case(entry: "10.1.2.3:8080", host: "10.1.2.3", isCovered: false),
    Case(entry: "10.1.2.3", host: "a.10.1.2.3.example", isCovered: false),
    Case(entry: "10.0.0.0/8", host: "10.255.0.1", isCovered: true),
    Case(entry: "10.1.2.3/8", host: "10.255.0.1", isCovered: true),
    Case(entry: "10.0.0.0/8", host: "11.0.0.1", isCovered: false),
    Case(entry: "172.16.0.0/12", host: "172.31.255.255", isCovered: true),
    Case(entry: "172.16.0.0/12", host: "172.32.0.0", isCovered: false),
    Case(entry: "10.1.2.3/32", host: "10.1.2.4", isCovered: false),
    Case(entry: "0.0.0.0/0", host: "1.2.3.4", isCovered: true),
    Case(entry: "0.0.0.0/0", host: "[::1]", isCovered: false),
    Case(entry: "0.0.0.0/0", host: "a.example", isCovered: false),
    Case(entry: "::1", host: "[::1]", isCovered: true),
    Case(entry: "[::1]", host: "[::1]", isCovered: true),
    Case(entry: "0:0:0:0:0:0:0:1", host: "[::1]", isCovered: true),
    Case(entry: "::ffff:1.2.3.4", host: "[::ffff:102:304]", isCovered: true),
    Case(entry: "[::1]:8080", host: "[::1]", port: 8080, isCovered: true),
    Case(entry: "[::1]:8080", host: "[::1]", port: 81, isCovered: false),
    Case(entry: "fd00::/8", host: "[fdff::1]", isCovered: true),
    Case(entry: "fd00::/8", host: "[fe00::1]", isCovered: false),
    Case(entry: "2001:db8::/33", host: "[2001:db8:7fff::1]", isCovered: true),
    Case(entry: "2001:db8::/33", host: "[2001:db8:8000::1]", isCovered: false),
    Case(entry: "1::", host: "[1:0:0:0:0:0:0:0]", isCovered: true),
    Case(entry: "::", host: "[0:0:0:0:0:0:0:0]", isCovered: true),
    Case(entry: "192.168.*", host: "192.168.7.8", isCovered: true),
    Case(entry: "192.168.*.*", host: "192.168.7.8", isCovered: true),
    Case(entry: "192.168.*", host: "192.169.7.8", isCovered: false),
    Case(entry: "10.*", host: "10.1.2.3", isCovered: true),
    Case(entry: "10.1.2.*", host: "10.1.2.3", isCovered: true),
    Case(entry: "10.1.2.*", host: "10.1.3.3", isCovered: false),
    Case(entry: "10.*", host: "10.example", isCovered: false),
    Case(entry: "10.*", host: "[::a00:1]", isCovered: false),
    Case(entry: "<local>", host: "intranet", isCovered: true),
    Case(entry: "<LOCAL>", host: "intranet.", isCovered: true),
    Case(entry: "<local>", host: "intranet.example", isCovered: false),
    Case(entry: "<local>", host: "127.0.0.1", isCovered: false),
    Case(entry: "<local>", host: "[::1]", isCovered: false),
  ]

  @Test(arguments: cases) func `matches entries against hosts, addresses, networks and ports`(_ test: Case) {
    let list = NoProxy(["other.example", test.entry])

    #expect(list.problem == nil)
    #expect(list.covers(test.host, port: test.port) == test.isCovered)
  }

  @Test(arguments: [
    "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/a", "::1/129", "a.example/8", "a.example:0", "a.example:70000", "a:b", "a b",
    "a..b", "http://a.example", "*a", "a.*.b", "user@a.example", "1.2.3", "2.3", ".2.3", "[::1", ".", "10.*.1.1",
    "*.1", "256.*", "10.1.2.3.*", "10.*.*.*.*", "a.*", "<local", "<local>:80",
  ])
  func `reports an invalid entry, which matches nothing`(_ entry: String) {
    let list = NoProxy([entry])

    #expect(list.problem?.message.contains("\"\(entry)\"") == true, "\(list.problem?.message ?? "no problem")")
    #expect(!list.covers("a.example", port: 80) && !list.covers("10.0.0.0", port: 80))
  }

  @Test func `diagnostics list the malformed entries of no_proxy`() throws {
    let environment = try ProxyEnvironment(["http_proxy": "http://p.test", "no_proxy": "a.test,*a,10.*.1.1"])

    #expect(
      environment.warnings
        == ["*a", "10.*.1.1"].map { "no_proxy contains \"\($0)\", which is malformed and covers no host" })
  }
}
