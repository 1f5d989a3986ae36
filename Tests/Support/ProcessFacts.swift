#if os(Linux)
  import CTestSupport
  import Foundation
  import Martlet
  package import Testing

  /// Facts about this process, as reported by the system.
  package enum ProcessFacts {
    /// The number of open descriptors, without those of timers.
    ///
    /// A Dispatch thread opens a timer for each of its clocks, some time after the first task sleeps.
    package static var descriptorCount: Int {
      entries("/proc/self/fd").count {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)) != "anon_inode:[timerfd]"
      }
    }

    package static var threadCount: Int { entries("/proc/self/task").count }

    /// The number of Martlet's engine threads.
    package static var engineThreadCount: Int {
      entries("/proc/self/task").count {
        (try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)) == "martlet-curl\n"
      }
    }

    package static var residentBytes: Int {
      let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
      return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4096 : 0
    }

    /// The peak resident memory.
    package static var peakBytes: Int { status("VmHWM:") }

    /// Makes ``reservedBytes`` depend on the requested memory, not on the number of threads.
    package static func limitArenas() { limit_arenas() }

    /// The writable memory that the process has requested from the system, whether or not it is used.
    package static var reservedBytes: Int { status("VmData:") }

    private static func status(_ name: String) -> Int {
      let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
      let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
      return (line?.split { $0 == " " || $0 == "\t" }.dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }

    /// The processor time of all threads together.
    package static var processorTime: Duration {
      var time = timespec()
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
      return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Returns the peak growth of the resident memory while work runs.
    package static func peakGrowth(_ work: () async throws -> Void) async rethrows -> Int {
      let before = residentBytes
      let peak = Shared(0)
      let watcher = Task {
        while !Task.isCancelled {
          peak.withLock { $0 = max($0, residentBytes) }
          try await Task.sleep(for: .milliseconds(2))
        }
      }
      defer { watcher.cancel() }
      try await work()
      return max(peak.withLock { $0 }, residentBytes) - before
    }

    /// Raises the descriptor limit to the maximum allowed.
    package static func raiseDescriptorLimit() {
      #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
      #else
        let resource = RLIMIT_NOFILE
      #endif
      var limit = rlimit()
      guard getrlimit(resource, &limit) == 0 else { return }
      limit.rlim_cur = limit.rlim_max
      _ = setrlimit(resource, &limit)
    }

    private static func entries(_ folder: String) -> [String] {
      (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }
  }

  /// Measurements that are printed even if they are within their bounds.
  package enum Figures {
    /// Prints a line; in a child process, the parent prints it with ``show(_:)``.
    package static func record(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }

    /// Prints the lines that a child process recorded.
    package static func show(_ child: ExitTest.Result?) {
      guard let child, !child.standardErrorContent.isEmpty else { return }
      FileHandle.standardError.write(Data(child.standardErrorContent))
    }

    /// Returns a number from the environment, for longer or repeated runs.
    package static func setting(_ name: String) -> Int? {
      ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    package static func milliseconds(_ duration: Duration) -> String {
      String(format: "%.1f ms", duration / .milliseconds(1))
    }
  }

  extension Array where Element: Comparable {
    /// The middle element, or `nil` if the array is empty.
    package var median: Element? { isEmpty ? nil : sorted()[count / 2] }
  }
#endif
