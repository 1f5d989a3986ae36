import CCurlLoop
import Foundation

/// The machine that produced the figures.
struct Machine {
  var rounds: Int
  /// The largest measured share of the processors that other programs used.
  var busyShare: Double
  /// The nanoseconds in which a cache line travels between two processors and back, before each measurement.
  var roundTrips: [Double]

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
      Medians of \(rounds) \(rounds == 1 ? "round" : "rounds"), on one machine with the servers. \(load)
      \(distance)

      """
  }

  private var load: String {
    let share = "\(decimal(busyShare * 100, 0)) % of the processors"
    return busyShare > 0.05
      ? "**The machine was busy: others used up to \(share). These figures say little.**"
      : "Others used \(share) at the most, before each round."
  }

  /// The distance between the cores.
  ///
  /// A host may move a virtual machine's cores apart. Multithreaded programs then need more than half as much CPU
  /// again.
  private var distance: String {
    guard let nearest = Self.nearest(of: roundTrips), let farthest = roundTrips.max() else { return "" }
    let times = "\(decimal(nearest, 0)) to \(decimal(farthest, 0)) ns"
    let range = "A cache line took \(times) from one core to another and back."
    return farthest > Self.far * nearest ? "**The cores were not always equally near. \(range)**" : range
  }

  /// Measures the share of the processors that is used while this process is idle for half a second.
  static func measureBusyShare() -> Double {
    func times() -> [Double] {
      let line = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8))?.split(separator: "\n").first ?? ""
      return line.split(separator: " ").dropFirst().compactMap { Double($0) }
    }
    let before = times()
    usleep(500_000)
    let passed = zip(times(), before).map { $0 - $1 }
    guard passed.count > 4, passed.reduce(0, +) > 0 else { return 0 }
    // The fourth value is idle time, the fifth is time waiting for a disk.
    return 1 - (passed[3] + passed[4]) / passed.reduce(0, +)
  }

  /// The factor of round trips from which cores are far apart; near cores differ by at most a factor of two.
  private static let far = 2.5

  /// The shortest round trip; 0 means that it could not be measured.
  private static func nearest(of roundTrips: [Double]) -> Double? { roundTrips.filter { $0 > 0 }.min() }

  /// Waits at most half a minute until the cores are about as close as before.
  ///
  /// Returns the nanoseconds in which a cache line travels from one core to another and back.
  static func waitForNearCores(asIn before: [Double]) -> Double {
    var roundTrip = bench_line_round_trip()
    guard let nearest = nearest(of: before) else { return roundTrip }
    for _ in 0..<60 where roundTrip > far * nearest {
      usleep(500_000)
      roundTrip = bench_line_round_trip()
    }
    return roundTrip
  }

  private func field(_ name: String, of path: String, separator: Character) -> String? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
      let place = line.firstIndex(of: separator)
    else { return nil }
    return line[line.index(after: place)...].trimmingCharacters(in: .whitespaces)
  }

  /// The first line of a program's output.
  private func said(_ name: String, _ argument: String) -> String? {
    guard let output = try? Tool(name).run([argument]) else { return nil }
    return output.split(separator: "\n").first.map(String.init)
  }
}
