import CCurlLoop
import Foundation

/// A complete run of every client on every workload, in several rounds.
struct Session {
  private let options: Options

  init(_ options: Options) { self.options = options }

  func run() throws {
    let set = try ServerSet()
    let signals = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        set.stop()
        exit(130)
      }
      source.resume()
      return source
    }
    defer {
      for source in signals { source.cancel() }
      set.stop()
    }
    var results = Results()
    var busyShare = 0.0
    var roundTrips: [Double] = []
    for round in 1...options.rounds {
      busyShare = max(busyShare, Machine.measureBusyShare())
      for workload in options.workloads {
        for client in rotated(by: round) {
          let job = Job(client: client, workload: workload, servers: set.servers)
          roundTrips.append(Machine.waitForNearCores(asIn: roundTrips))
          let outcome = measure(job)
          note(round, job, outcome, roundTrips.last ?? 0)
          results.add(outcome, of: client, on: workload)
        }
      }
    }
    let report = Report(results: results, options: options, busyShare: busyShare, roundTrips: roundTrips)
    print(report.markdown)
    if let path = options.json { try report.json.write(to: URL(fileURLWithPath: path)) }
    if let path = options.markdown { try Data(report.markdown.utf8).write(to: URL(fileURLWithPath: path)) }
  }

  /// Rotates the clients, so no client always follows the same other client.
  private func rotated(by count: Int) -> [Client] {
    let first = count % max(1, options.clients.count)
    return Array(options.clients[first...] + options.clients[..<first])
  }

  /// Runs a job in its own process.
  private func measure(_ job: Job) -> Outcome {
    let child = Process()
    let output = Pipe()
    do {
      let text = String(decoding: try JSONEncoder().encode(job), as: UTF8.self)
      child.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      child.arguments = ["child", text]
      // A proxy would change the measurement.
      child.environment = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
      child.standardOutput = output
      try child.run()
      try output.fileHandleForWriting.close()
      let answer = output.fileHandleForReading.readDataToEndOfFile()
      child.waitUntilExit()
      guard child.terminationReason == .exit, !answer.isEmpty else {
        return .failed(child.terminationStatus == SIGALRM ? "hung" : "crashed with signal \(child.terminationStatus)")
      }
      return try JSONDecoder().decode(Outcome.self, from: answer)
    } catch {
      return .failed("\(error)")
    }
  }

  private func note(_ round: Int, _ job: Job, _ outcome: Outcome, _ roundTrip: Double) {
    let text =
      switch outcome {
      case .measured(let it):
        """
        \(decimal(Double(it.requests) / it.seconds, 1))/s, \
        \(decimal(it.cpuSeconds / Double(it.requests) * 1e6, 1)) µs CPU, +\(decimal(Double(it.peakBytes) / 1e6, 1)) MB
        """
      case .impossible(let reason): "– \(reason)"
      case .failed(let reason): "failed: \(reason)"
      }
    let line = """
      round \(round)/\(options.rounds) \(job.workload.rawValue) \(job.client.rawValue): \(text), \
      \(decimal(roundTrip, 0)) ns from core to core

      """
    FileHandle.standardError.write(Data(line.utf8))
  }
}

/// Returns a number with a fixed number of decimals.
func decimal(_ value: Double, _ places: Int) -> String { String(format: "%.\(places)f", value) }
