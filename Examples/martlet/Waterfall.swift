import Foundation
import Martlet
import MartletHAR

/// The requests of a HAR file as lines with bars for the phases.
struct Waterfall {
  private let entries: [HAREntry]
  private let start: Date
  private let length: TimeInterval

  init(_ entries: [HAREntry]) {
    self.entries = entries.sorted { $0.startedAt < $1.startedAt }
    start = self.entries.first?.startedAt ?? Date(timeIntervalSince1970: 0)
    let end = self.entries.map { $0.startedAt.addingTimeInterval($0.timings.total / .seconds(1)) }.max() ?? start
    length = max(end.timeIntervalSince(start), 0.000_001)
  }

  /// Returns the lines.
  ///
  /// Each request's line fits into `width`, at least 60 columns, if each character takes one column.
  func lines(width: Int, _ palette: Palette, explains: Bool) -> [String] {
    guard !entries.isEmpty else { return ["no requests"] }
    let barWidth = width >= 90 ? 30 : 16
    var lines: [String] = []
    for entry in entries {
      let method = Self.fitted(Visible.line(entry.request.method), 6)
      let status = (1...999).contains(entry.response.status) ? "\(entry.response.status)" : "–"
      let size = Self.right(entry.isFromCache ? "stored" : Self.size(entry.receivedBytes), 8)
      let time = Self.right(Self.time(entry.timings.total), 9)
      let rest = max(width - 31 - barWidth - 2, 10)
      let painted =
        "\(method) \(palette.paint(Self.right(status, 3), Self.role(entry))) \(size) \(time)  "
      lines.append(
        painted + bar(of: entry, barWidth, palette) + "  "
          + Self.cut(Visible.line(Self.address(entry.request.url)), rest))
      if let failure = entry.failure {
        lines.append("    " + palette.paint(Self.cut(Visible.line(failure), max(width - 4, 10)), .bad))
      }
      if let messages = entry.webSocketMessages, !messages.isEmpty {
        let sent = messages.count(where: \.isSent)
        lines.append("    " + palette.paint("messages: \(sent) sent, \(messages.count - sent) received", .dim))
      }
      guard explains else { continue }
      for sentence in entry.explanation { lines.append("    " + palette.paint(Visible.line(sentence), .dim)) }
    }
    lines += ["", summary, Self.legend(palette)]
    return lines
  }

  private var summary: String {
    let bytes = entries.reduce(Int64(0)) { sum, entry in
      let (next, isTooLarge) = sum.addingReportingOverflow(max(entry.receivedBytes, 0))
      return isTooLarge ? .max : next
    }
    let failed = entries.count { $0.failure != nil || $0.response.status <= 0 }
    let count = entries.count == 1 ? "1 request" : "\(entries.count) requests"
    return "\(count), \(Self.size(bytes)) received, \(Self.time(.seconds(length)))"
      + (failed > 0 ? ", \(failed) failed" : "")
  }

  private static func legend(_ palette: Palette) -> String {
    Phase.allCases.map { "\(palette.paint($0.mark, $0.role)) \($0.rawValue)" }.joined(separator: "  ")
  }

  /// The phases that a bar distinguishes.
  enum Phase: String, CaseIterable {
    case blocked, connecting, waiting, receiving

    var mark: String {
      switch self {
      case .blocked: "·"
      case .connecting: "─"
      case .waiting: "▒"
      case .receiving: "█"
      }
    }

    var role: Palette.Role {
      switch self {
      case .blocked: .dim
      case .connecting: .notice
      case .waiting: .name
      case .receiving: .good
      }
    }
  }

  private func bar(of entry: HAREntry, _ width: Int, _ palette: Palette) -> String {
    let timings = entry.timings
    let parts: [(Phase, Duration)] = [
      (.blocked, timings.blocked ?? .zero), (.connecting, (timings.dns ?? .zero) + (timings.connect ?? .zero)),
      (.waiting, timings.send + timings.wait), (.receiving, timings.receive),
    ]
    var at = entry.startedAt.timeIntervalSince(start)
    func column(_ time: TimeInterval) -> Int { Int((min(max(time / length, 0), 1) * Double(width)).rounded()) }
    var cells = [Phase?](repeating: nil, count: width)
    for (phase, duration) in parts where duration > .zero {
      let end = at + duration / .seconds(1)
      for index in column(at)..<max(column(end), column(at)) where index < width { cells[index] = phase }
      at = end
    }
    // A bar that would be too short still gets one mark.
    if cells.allSatisfy({ $0 == nil }) {
      cells[min(column(entry.startedAt.timeIntervalSince(start)), width - 1)] = .waiting
    }
    return cells.map { $0.map { palette.paint($0.mark, $0.role) } ?? " " }.joined()
  }

  private static func role(_ entry: HAREntry) -> Palette.Role {
    if entry.failure != nil { return .bad }
    return switch entry.response.status {
    case 200..<300: .good
    case 300..<400: .notice
    default: .bad
    }
  }

  // MARK: Formatting

  /// The URL without its scheme.
  static func address(_ url: String) -> String {
    for scheme in ["https://", "http://"] where url.hasPrefix(scheme) { return String(url.dropFirst(scheme.count)) }
    return url
  }

  static func size(_ bytes: Int64) -> String {
    switch bytes {
    case ..<0: "?"
    case ..<1000: "\(bytes) B"
    case ..<1_000_000: String(format: "%.1f kB", Double(bytes) / 1e3)
    case ..<1_000_000_000: String(format: "%.1f MB", Double(bytes) / 1e6)
    default: String(format: "%.1f GB", Double(bytes) / 1e9)
    }
  }

  static func time(_ duration: Duration) -> String {
    let milliseconds = duration / .milliseconds(1)
    if milliseconds < 10 { return String(format: "%.1f ms", milliseconds) }
    return milliseconds < 1000 ? String(format: "%.0f ms", milliseconds) : String(format: "%.2f s", milliseconds / 1000)
  }

  private static func cut(_ text: String, _ width: Int) -> String {
    let text = text.replacing("\t", with: " ")
    let scalars = text.unicodeScalars
    return scalars.count <= width ? text : String(String.UnicodeScalarView(scalars.prefix(width - 1))) + "…"
  }

  private static func fitted(_ text: String, _ width: Int) -> String {
    let text = cut(text, width)
    return text + String(repeating: " ", count: width - text.count)
  }

  private static func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(width - text.count, 0)) + text
  }
}

extension HAREntry {
  /// The received bytes of the body, or the decoded bytes if that number is unknown.
  var receivedBytes: Int64 {
    response.bodySize >= 0 ? response.bodySize : response.body?.size ?? (response.status > 0 ? 0 : -1)
  }
}
