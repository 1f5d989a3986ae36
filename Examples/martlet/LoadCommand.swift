import Foundation
import Martlet
import MartletBase

/// `martlet load`: sends a request many times, and shows the behavior of the server and the client's limits.
struct LoadCommand: Equatable, Sendable {
  /// The number of requests, and the number of callers that send them.
  var count = 200
  var callers = 50
  /// The number of requests started per second; with `nil`, a caller starts its next request when the previous one has
  /// ended.
  var arrivals: Double?
  var isAdaptive = false
  var rate: Double?
  var hedge: Int?
  var breaker: Int?
  var deadline: Double?
  /// The request, and the connection and identity options.
  var template: RequestCommand

  /// Reads the words after `load`, and the options.
  init(_ words: [String], _ arguments: Arguments) throws(UsageError) {
    template = try arguments.request(words, for: .load)
    if template.content != .none { throw UsageError("'martlet load' sends no body") }
    func count(_ name: String, upTo most: Int) throws(UsageError) -> Int? {
      guard let value = arguments.own[name] else { return nil }
      return try Arguments.count(value, of: name, in: 1...most)
    }
    func number(_ name: String) throws(UsageError) -> Double? {
      guard let value = arguments.own[name] else { return nil }
      return try Arguments.number(value, of: name, in: 0.001...1e6)
    }
    self.count = try count("--count", upTo: 1_000_000) ?? self.count
    callers = try count("--at-a-time", upTo: 1_000) ?? callers
    arrivals = try number("--arrivals")
    isAdaptive = arguments.own["--adaptive"] != nil
    rate = try number("--rate")
    hedge = try count("--hedge", upTo: 60_000)
    breaker = try count("--breaker", upTo: 1_000)
    deadline = try number("--deadline")
  }

  /// The options of each request.
  var options: RequestOptions {
    var options = template.options.accepts(.success)
    options.coalesces = false
    if let rate { options.rate = .perSecond(rate, burst: max(1, Int(min(rate / 10, 1_000)))) }
    if let hedge { options.hedging = .after(.milliseconds(hedge)) }
    return options
  }

  /// Runs the command.
  func run(_ output: Terminal, _ errors: Terminal) async -> ExitCode {
    do {
      let base = try await DownloadCommand.client(template)
      let client = base.derived { configuration in
        configuration.maximumConnectionsPerHost = max(callers, configuration.maximumConnectionsPerHost)
        configuration.maximumConnections = max(callers, configuration.maximumConnections)
        if isAdaptive { configuration.concurrency = .adaptive(1...max(callers, 200)) }
        if let breaker { configuration.circuitBreaker = .afterFailures(breaker) }
      }
      let results = LoadResults()
      let signals = Signals { client.cancelAll() }
      defer { signals.ignore() }
      let start = ContinuousClock.now
      let watcher = Task { [line = LiveLine(output: errors), count] in
        for await now in client.activity.snapshots { line.show(Self.text(of: now, results.count, of: count)) }
      }
      await send(client, results)
      watcher.cancel()
      LiveLine(output: errors).clear()
      let seconds = (ContinuousClock.now - start) / .seconds(1)
      try output.write(results.table(seconds, client.activity.current))
      return results.failures == 0 ? .success : .noResponse
    } catch let error as WriteError {
      return error.isBrokenPipe ? .brokenPipe : .failure
    } catch {
      errors.complain("\(error)")
      return .usage
    }
  }

  private func send(_ client: HTTPClient, _ results: LoadResults) async {
    let start = ContinuousClock.now
    await withDiscardingTaskGroup { group in
      guard let arrivals else {
        for number in 0..<callers {
          group.addTask {
            for _ in stride(from: number, to: count, by: callers) where !results.isStopped {
              await sendOne(client, results)
            }
          }
        }
        return
      }
      for number in 0..<count where !results.isStopped {
        try? await Task.sleep(until: start + .seconds(Double(number) / arrivals))
        group.addTask { await sendOne(client, results) }
      }
    }
  }

  private func sendOne(_ client: HTTPClient, _ results: LoadResults) async {
    let start = ContinuousClock.now
    do {
      let limit = deadline.map { Deadline(.seconds($0)) }
      let response = try await withDeadline(limit) { try await client.send(template.request, options: options) }
      results.add("\(response.status.rawValue)", ContinuousClock.now - start, isSuccess: true)
    } catch let error as HTTPError {
      results.add(error.status.map { "\($0.rawValue)" } ?? "\(error.kind)", ContinuousClock.now - start)
    } catch {
      results.add("cancelled", ContinuousClock.now - start)
      results.stop()
    }
  }

  /// The line that a terminal shows while the requests run.
  static func text(of now: ActivityMonitor.Snapshot, _ done: Int, of count: Int) -> String {
    var parts = ["\(done) of \(count)", "\(now.running.count) running"]
    if !now.waiting.isEmpty { parts.append("\(now.waiting.count) waiting") }
    for load in now.loads {
      if let limit = load.limit { parts.append("limit \(limit)") }
      if let pause = load.pause { parts.append("paused \(pause.text)") }
      switch load.circuit {
      case .closed: break
      case .open(let time): parts.append("circuit open \(time.text)")
      case .probing: parts.append("circuit probing")
      }
    }
    return parts.joined(separator: ", ")
  }
}

/// The results of the requests.
final class LoadResults: Sendable {
  private struct State {
    var byOutcome: [String: Int] = [:]
    var latencies: [Duration] = []
    var failures = 0
    var isStopped = false
  }

  private let state = Locked(State())

  var count: Int { state.withLock { $0.byOutcome.values.reduce(0, +) } }
  var failures: Int { state.withLock { $0.failures } }
  /// Whether the user has cancelled the requests.
  var isStopped: Bool { state.withLock { $0.isStopped } }

  func stop() { state.withLock { $0.isStopped = true } }

  func add(_ outcome: String, _ latency: Duration, isSuccess: Bool = false) {
    state.withLock { state in
      state.byOutcome[outcome, default: 0] += 1
      if isSuccess { state.latencies.append(latency) } else { state.failures += 1 }
    }
  }

  /// The table printed at the end.
  func table(_ seconds: Double, _ now: ActivityMonitor.Snapshot) -> String {
    let (byOutcome, latencies) = state.withLock { ($0.byOutcome, $0.latencies.sorted()) }
    var lines: [(String, String)] = []
    for (outcome, count) in byOutcome.sorted(by: { $0.key < $1.key }) { lines.append((outcome, "\(count)")) }
    lines.append(("good responses/s", "\(Int((Double(latencies.count) / max(seconds, 1e-3)).rounded()))"))
    for (name, share) in [("median", 0.5), ("95 %", 0.95), ("99 %", 0.99)] where !latencies.isEmpty {
      lines.append((name, latencies[min(latencies.count - 1, Int(Double(latencies.count) * share))].text))
    }
    let totals = now.totals
    if totals.hedges > 0 { lines.append(("hedges", "\(totals.hedges), of which \(totals.hedgesWon) won")) }
    for load in now.loads {
      if let limit = load.limit { lines.append(("limit of \(load.name)", "\(limit)")) }
      if case .open(let time) = load.circuit { lines.append(("circuit of \(load.name)", "open for \(time.text)")) }
    }
    return lines.map { "\($0.0): \($0.1)\n" }.joined()
  }
}
