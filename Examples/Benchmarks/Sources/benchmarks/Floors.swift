/// The results that Martlet must reach, as ratios within one run.
struct Floors {
  var results: Results

  /// One line for each floor that has figures.
  var markdown: String {
    let lines = checks().compactMap { $0 }.map { check in
      let sign = check.isMinimum ? "≥" : "≤"
      let passed = check.isMinimum ? check.value >= check.floor : check.value <= check.floor
      return """
        | \(check.name) | \(decimal(check.value, check.places)) | \(sign) \(decimal(check.floor, check.places)) \
        | \(passed ? "pass" : "**fail**") |
        """
    }
    guard !lines.isEmpty else { return "" }
    return (["### Floors", "", "| what | is | floor | |", "|---|---:|---:|---|"] + lines).joined(separator: "\n") + "\n"
  }

  private struct Check {
    var name: String
    var value: Double
    var floor: Double
    var isMinimum = true
    var places = 2
  }

  private func checks() -> [Check?] {
    var checks: [Check?] = []
    for (workload, floor) in [(Workload.getSequential, 1.8), (.get64, 1.2), (.get256, 1.2)] {
      checks.append(rate(workload, .martletCurl, .asyncHTTPClient, floor))
      checks.append(cpu(workload, .martletCurl, .asyncHTTPClient, 0.75))
    }
    checks.append(rate(.getSequential, .martletCurl, .curlLoop, 0.45))
    checks.append(rate(.get64, .martletCurl, .curlLoop, 0.65))
    for workload in [Workload.getSequential, .get64] {
      checks.append(rate(workload, .martletURLSession, .urlSession, 3))
      checks.append(cpu(workload, .martletURLSession, .urlSession, 1.0 / 3))
    }
    checks.append(rate(.getSequential, .martletURLSession, .asyncHTTPClient, 1))
    // A fresh response costs at most a tenth of an exchange from memory, and half of one from disk.
    for (workload, floor) in [(Workload.cacheMemory, 10.0), (.cacheDisk, 2)] {
      guard let hit = results.summary(workload, .martletCurl), let get = results.summary(.getSequential, .martletCurl)
      else { continue }
      checks.append(
        Check(
          name: "\(workload.rawValue): to get-sequential of martlet-curl, throughput",
          value: hit.requestsPerSecond / get.requestsPerSecond, floor: floor))
    }
    for workload in [Workload.download, .copiedDownload, .upload] {
      checks.append(bytesPerCPU(workload, .martletCurl, 0.8))
    }
    for workload in [Workload.download, .slowDownload, .upload] {
      for client in [Client.martletCurl, .martletURLSession] { checks.append(peak(workload, client, 16)) }
    }
    for client in [Client.martletCurl, .martletURLSession] {
      checks.append(peak(.buffered, client, 1.1 * Double(Servers.bodyLength) / 1e6))
    }
    for client in [Client.martletCurl, .martletURLSession] {
      checks.append(rate(.tlsNew, client, .urlSession, 10))
    }
    checks.append(rate(.tlsNew, .martletCurl, .asyncHTTPClient, 0.85))
    for client in [Client.martletCurl, .martletURLSession] { checks += [idle(client)] + waiting(client) }
    return checks
  }

  private func rate(_ workload: Workload, _ client: Client, _ other: Client, _ floor: Double) -> Check? {
    guard let own = results.summary(workload, client), let peer = results.summary(workload, other) else { return nil }
    return Check(
      name: "\(workload.rawValue): \(client.rawValue) to \(other.rawValue), throughput",
      value: own.requestsPerSecond / peer.requestsPerSecond, floor: floor)
  }

  private func cpu(_ workload: Workload, _ client: Client, _ other: Client, _ floor: Double) -> Check? {
    guard let own = results.summary(workload, client), let peer = results.summary(workload, other) else { return nil }
    return Check(
      name: "\(workload.rawValue): \(client.rawValue) to \(other.rawValue), CPU per request",
      value: own.cpuMicrosecondsPerRequest / peer.cpuMicrosecondsPerRequest, floor: floor, isMinimum: false)
  }

  private func bytesPerCPU(_ workload: Workload, _ client: Client, _ floor: Double) -> Check? {
    guard let own = results.summary(workload, client), let ceiling = results.summary(workload, .curlLoop) else {
      return nil
    }
    return Check(
      name: "\(workload.rawValue): \(client.rawValue) to the ceiling, bytes per CPU second",
      value: ceiling.cpuMicrosecondsPerRequest / own.cpuMicrosecondsPerRequest, floor: floor)
  }

  private func peak(_ workload: Workload, _ client: Client, _ limit: Double) -> Check? {
    results.summary(workload, client).map {
      Check(
        name: "\(workload.rawValue): \(client.rawValue), peak MB above idle", value: $0.peakMegabytes, floor: limit,
        isMinimum: false, places: 1)
    }
  }

  private func idle(_ client: Client) -> Check? {
    results.summary(.idleClients, client).map {
      Check(
        name: "\(Workload.idleClients.rawValue): \(client.rawValue), KiB for each",
        value: $0.peakMegabytes * 1e6 / 1024 / Double(Workload.idleClientCount), floor: 64, isMinimum: false, places: 1)
    }
  }

  private func waiting(_ client: Client) -> [Check?] {
    let name = "1,000 in flight: \(client.rawValue)"
    var checks: [Check?] = []
    if let it = results.summary(.inFlight, client) {
      checks.append(
        Check(
          name: "\(name), KiB for each", value: it.peakMegabytes * 1e6 / 1024 / 1000, floor: 32, isMinimum: false,
          places: 1))
    }
    if let it = results.summary(.cancel, client) {
      checks.append(
        Check(name: "\(name), ms to cancel all", value: it.seconds * 1e3, floor: 100, isMinimum: false, places: 1))
      // The floor is 1 % for 100; ten times as many may take ten times as much.
      checks.append(
        Check(
          name: "\(name), % of a core to wait", value: (it.waitingCores ?? 0) * 100, floor: 10, isMinimum: false))
      checks.append(
        Check(
          name: "\(name), descriptors left", value: Double(it.descriptorsLeft ?? 0), floor: 0, isMinimum: false,
          places: 0))
    }
    return checks
  }
}
