import Foundation

/// The medians as text.
struct Report {
  var results: Results
  var options: Options
  var busyShare: Double
  var roundTrips: [Double]

  var json: Data {
    get throws {
      let all = options.workloads.flatMap { workload in
        options.clients.compactMap { results.summary(workload, $0) }
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      return try encoder.encode(all)
    }
  }

  var markdown: String {
    let sections = options.workloads.map { section($0) }
    return
      ([Machine(rounds: options.rounds, busyShare: busyShare, roundTrips: roundTrips).markdown] + sections
      + [Floors(results: results).markdown].filter { !$0.isEmpty }).joined(separator: "\n")
  }

  private func section(_ workload: Workload) -> String {
    let rate = workload.isTransfer ? "MB/s" : "requests/s"
    let cpu = workload.isTransfer ? "CPU s per GiB" : "CPU ms per 10,000"
    var lines = [
      "### \(workload.rawValue)", "", "\(workload.summary).", "",
      "| client | \(rate) | min–max | of the ceiling | \(cpu) | peak MB |",
      "|---|---:|---:|---:|---:|---:|",
    ]
    var footnotes: [String] = []
    let ceiling = results.summary(workload, .curlLoop)
    for client in options.clients {
      let problems = results.problems(workload, client)
      footnotes += problems.map { "\(client.rawValue): \($0)" }
      let mark = problems.isEmpty ? "" : " \\*"
      guard let it = results.summary(workload, client) else {
        lines.append("| \(client.rawValue)\(mark) | – | – | – | – | – |")
        continue
      }
      let unit = workload.isTransfer ? Double(Servers.bodyLength) / 1e6 : 1
      let ratio = ceiling.map { decimal(it.requestsPerSecond / $0.requestsPerSecond, 2) } ?? "–"
      let cost = it.cpuMicrosecondsPerRequest
      lines.append(
        """
        | \(client.rawValue)\(mark) | \(number(it.requestsPerSecond * unit)) \
        | \(number(it.requestsPerSecondMinimum * unit))–\(number(it.requestsPerSecondMaximum * unit)) | \(ratio) \
        | \(workload.isTransfer ? decimal(cost / 1e6, 2) : number(cost * 10)) | \(decimal(it.peakMegabytes, 1)) |
        """)
      if workload == .cancel {
        footnotes.append(
          """
          \(client.rawValue): all returned after \(decimal(it.seconds * 1e3, 1)) ms; 1,000 waiting took \
          \(decimal((it.waitingCores ?? 0) * 100, 2)) % of a core; \(it.descriptorsLeft ?? 0) descriptors left open
          """)
      }
    }
    if !footnotes.isEmpty { lines += [""] + footnotes.map { "- \\* \($0)" } }
    return lines.joined(separator: "\n") + "\n"
  }

  private func number(_ value: Double) -> String { decimal(value, value < 10 ? 2 : value < 100 ? 1 : 0) }
}
