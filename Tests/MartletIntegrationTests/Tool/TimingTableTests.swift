import Martlet
import TestSupport
import Testing

@testable import MartletTool

@Suite(.hangLimit) struct TimingTableTests {
  @Test func `lists each phase with its own duration`() {
    var timing = HTTPResponse.Timing()
    timing.queued = .microseconds(5)
    timing.nameLookup = .microseconds(1200)
    timing.connect = .microseconds(1700)
    timing.tls = .milliseconds(12)
    timing.firstByte = .milliseconds(15)
    timing.total = .seconds(2)
    let connection = HTTPResponse.Connection(remoteAddress: "::1", remotePort: 443, isReused: false)

    #expect(
      TimingTable(timing: timing, connection: connection).text(.plain) == """
        queued          0.005 ms
        name lookup     1.200 ms
        connect         0.500 ms
        TLS            12.000 ms
        first byte     15.000 ms
        total        2000.000 ms
        remote       [::1]:443
        connection   new

        """)
  }

  @Test func `prints a hyphen for an unknown value`() {
    let lines = TimingTable(timing: HTTPResponse.Timing(), connection: nil).text(.plain).split(separator: "\n")

    #expect(lines.first == "queued       0.000 ms" && lines.contains("name lookup         -"))
    #expect(lines.contains("TLS                 -") && lines.suffix(2) == ["remote       -", "connection   -"])
  }

  @Test(arguments: [
    (HTTPResponse.Connection(remoteAddress: "127.0.0.1", remotePort: 80, isReused: true), "127.0.0.1:80", "reused"),
    (HTTPResponse.Connection(), "unix socket", "new"),
  ])
  func `shows the remote address and whether the connection was reused`(
    connection: HTTPResponse.Connection, remote: String, kind: String
  ) {
    let text = TimingTable(timing: HTTPResponse.Timing(), connection: connection).text(.plain)

    #expect(text.hasSuffix("\nremote       \(remote)\nconnection   \(kind)\n"))
  }

  @Test func `colors only the names`() {
    let table = TimingTable(timing: HTTPResponse.Timing(), connection: nil)

    #expect(table.text(.colored).hasPrefix("\u{1B}[36mqueued\u{1B}[0m       0.000 ms\n"))
  }
}
