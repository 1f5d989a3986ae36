import CCurlLoop
import Foundation

/// Where the figures come from.
struct Machine {
  var rounds: Int

  var markdown: String {
    let processor = field("model name", of: "/proc/cpuinfo", separator: ":") ?? "an unknown processor"
    let memory = field("MemTotal", of: "/proc/meminfo", separator: ":").flatMap { Int($0.prefix { $0 != " " }) } ?? 0
    let system = field("PRETTY_NAME", of: "/etc/os-release", separator: "=") ?? "an unknown system"
    let kernel = try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)
    return """
      \(ProcessInfo.processInfo.processorCount) cores of \(processor), \(memory >> 20) GiB; \
      \(system.trimmingCharacters(in: ["\""])), Linux \((kernel ?? "?").trimmingCharacters(in: .whitespacesAndNewlines)).
      \(said("swift", "--version") ?? "Swift"); \(curl_loop_version().map { String(cString: $0) } ?? "no libcurl");
      \(said("nginx", "-v") ?? "nginx") with one worker; AsyncHTTPClient 1.37.0.
      Medians of \(rounds) \(rounds == 1 ? "round" : "rounds"), on one machine with the servers.

      """
  }

  private func field(_ name: String, of path: String, separator: Character) -> String? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
      let place = line.firstIndex(of: separator)
    else { return nil }
    return line[line.index(after: place)...].trimmingCharacters(in: .whitespaces)
  }

  /// The first line that a program says.
  private func said(_ name: String, _ argument: String) -> String? {
    guard let output = try? Tool(name).run([argument]) else { return nil }
    return output.split(separator: "\n").first.map(String.init)
  }
}
