/// The transfers of a loop with request bodies, and when to check their progress.
struct RunningUploads {
  private static let shortestInterval: Int64 = 5_000

  private var running: [(transfer: CurlTransfer, pace: UploadProgressMonitor)] = []
  var isEmpty: Bool { running.isEmpty }
  /// The time of the next check, in microseconds.
  private(set) var time: Int64?

  mutating func add(_ transfer: CurlTransfer, at now: Int64) {
    running.append((transfer, UploadProgressMonitor()))
    if let interval = Self.interval(transfer) { time = min(time ?? .max, now + interval) }
  }

  mutating func remove(_ transfer: CurlTransfer) {
    running.removeAll { $0.transfer === transfer }
    if running.isEmpty { time = nil }
  }

  mutating func look(at now: Int64, _ body: (CurlTransfer, inout UploadProgressMonitor) -> Void) {
    time = running.compactMap { Self.interval($0.transfer) }.min().map { now + $0 }
    for index in running.indices { body(running[index].transfer, &running[index].pace) }
  }

  /// The interval between checks in microseconds; `nil` without a limit.
  ///
  /// There are several checks within the limit for silence.
  private static func interval(_ transfer: CurlTransfer) -> Int64? {
    transfer.job.silenceLimit.map {
      max(shortestInterval, Int64(min(max($0, .zero), .seconds(3600)) / .microseconds(4)))
    }
  }
}
