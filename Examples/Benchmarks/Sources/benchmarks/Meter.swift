import CCurlLoop
import Foundation

/// Measures the time, processor time and memory of an operation.
enum Meter {
  /// Measures an operation that returns its number of requests; peaks are counted from `idle` bytes.
  static func measure(idle: Int, _ work: () async throws -> Int) async throws -> Measurement {
    Memory.forgetPeak()
    let cpu = bench_cpu_seconds()
    let start = ContinuousClock.now
    let requests = try await work()
    let seconds = (ContinuousClock.now - start).inSeconds
    return Measurement(
      requests: requests, seconds: seconds, cpuSeconds: bench_cpu_seconds() - cpu,
      peakBytes: max(0, Memory.peak - idle))
  }
}

/// The memory and descriptors of this process, as reported by Linux.
enum Memory {
  /// The resident memory, in bytes.
  static var resident: Int { field("VmRSS:") }

  /// The peak memory since ``forgetPeak()``, in bytes.
  static var peak: Int { field("VmHWM:") }

  /// Resets the peak to the resident memory.
  static func forgetPeak() {
    guard let file = FileHandle(forWritingAtPath: "/proc/self/clear_refs") else { return }
    file.write(Data("5".utf8))
    try? file.close()
  }

  /// The number of open descriptors.
  static var descriptors: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
  }

  private static func field(_ name: String) -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
    for line in text.split(separator: "\n") where line.hasPrefix(name) {
      return (line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
    }
    return 0
  }
}
