/// The measurements of all rounds.
struct Results {
  private struct Key: Hashable {
    var workload: Workload
    var client: Client
  }

  private var measurements: [Key: [Measurement]] = [:]
  private var problems: [Key: [String]] = [:]

  mutating func add(_ outcome: Outcome, of client: Client, on workload: Workload) {
    let key = Key(workload: workload, client: client)
    switch outcome {
    case .measured(let measurement): measurements[key, default: []].append(measurement)
    case .impossible(let reason): problems[key] = [reason]
    case .failed(let reason): problems[key, default: []].append(reason)
    }
  }

  /// The reasons for missing rounds, each reason once.
  func problems(_ workload: Workload, _ client: Client) -> [String] {
    var seen: Set<String> = []
    return (problems[Key(workload: workload, client: client)] ?? []).filter { seen.insert($0).inserted }
  }

  func summary(_ workload: Workload, _ client: Client) -> Summary? {
    guard let all = measurements[Key(workload: workload, client: client)], !all.isEmpty else { return nil }
    let rates = all.map { Double($0.requests) / $0.seconds }.sorted()
    let waiting = all.compactMap(\.waitingCores)
    return Summary(
      workload: workload.rawValue, client: client.rawValue, requestsPerSecond: median(rates),
      cpuMicrosecondsPerRequest: median(all.map { $0.cpuSeconds / Double($0.requests) * 1e6 }),
      peakMegabytes: median(all.map { Double($0.peakBytes) / 1e6 }), rounds: all.count,
      requestsPerSecondMinimum: rates.first ?? 0, requestsPerSecondMaximum: rates.last ?? 0,
      megabytesPerSecond: workload.isTransfer ? median(rates) * Double(Servers.bodyLength) / 1e6 : nil,
      seconds: median(all.map(\.seconds)), waitingCores: waiting.isEmpty ? nil : median(waiting),
      descriptorsLeft: all.compactMap(\.descriptorsLeft).max())
  }

  private func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}

/// The medians of one client on one workload.
struct Summary: Codable {
  var workload: String
  var client: String
  var requestsPerSecond: Double
  var cpuMicrosecondsPerRequest: Double
  var peakMegabytes: Double
  var rounds: Int
  var requestsPerSecondMinimum: Double
  var requestsPerSecondMaximum: Double
  /// The transfer rate of a workload whose requests are a gigabyte each.
  var megabytesPerSecond: Double?
  var seconds: Double
  /// The processor time of 1,000 waiting requests, as a part of one core.
  var waitingCores: Double?
  var descriptorsLeft: Int?
}
