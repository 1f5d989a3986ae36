import Foundation
import Martlet

/// The output of `--timing`: the consecutive phases of the last exchange, and its connection.
///
/// `first byte` counts from the start of the exchange, `total` from the start of the call to the last byte.
struct TimingTable: Sendable {
  let timing: HTTPResponse.Timing
  let connection: HTTPResponse.Connection?

  /// Formats a line for each phase; a phase that did not occur, or is not reported by the transport, is a hyphen.
  func text(_ palette: Palette) -> String {
    // The library's connect time includes the lookup.
    let connect = timing.connect.map { max(.zero, $0 - (timing.nameLookup ?? .zero)) }
    let phases: [(String, Duration?)] = [
      ("queued", timing.queued), ("name lookup", timing.nameLookup), ("connect", connect), ("TLS", timing.tls),
      ("first byte", timing.firstByte), ("total", timing.total),
    ]
    let shown = phases.map { ($0.0, $0.1.map(Self.milliseconds) ?? "-") }
    let width = shown.map(\.1.count).max() ?? 0
    let numbers = shown.map { ($0.0, String(repeating: " ", count: width - $0.1.count) + $0.1) }
    let rows = numbers + [("remote", remote), ("connection", connection.map { $0.isReused ? "reused" : "new" } ?? "-")]
    return rows.map { name, value in
      palette.paint(name, .name) + String(repeating: " ", count: 13 - name.count) + value + "\n"
    }.joined()
  }

  private var remote: String {
    guard let connection else { return "-" }
    guard let address = connection.remoteAddress else { return "unix socket" }
    let host = address.contains(":") ? "[\(address)]" : address
    return host + (connection.remotePort.map { ":\($0)" } ?? "")
  }

  private static func milliseconds(_ duration: Duration) -> String {
    String(format: "%.3f ms", duration / .milliseconds(1))
  }
}
