import Foundation
import Martlet

/// `CacheSuite`: runs the public test suite for HTTP caches with Martlet.
@main
enum Program {
  static func main() async {
    do {
      let options = try Options(Array(CommandLine.arguments.dropFirst()))
      if options.wantsHelp { return print(Options.help) }
      let suites = options.selection(of: try Node.suites(of: options.checkout))
      if suites.isEmpty { throw Complaint("no test has that name, or none that browsers run") }
      let outcomes = if let path = options.results { try Report.read(path) } else { try await run(suites, options) }
      // Dependencies count only if all tests run; otherwise their results are unknown.
      let report = Report(score: Score(suites, outcomes, honorsDependencies: options.only.isEmpty))
      print(report.text)
      if let path = options.json { try report.write(to: path) }
    } catch {
      FileHandle.standardError.write(Data("CacheSuite: \(error)\n".utf8))
      exit(1)
    }
  }

  private static func run(_ suites: [Suite], _ options: Options) async throws -> [String: Outcome] {
    guard let url = options.url else {
      let server = try SuiteServer(options.checkout, isVerbose: options.isVerbose)
      defer { server.stop() }
      return await run(suites, at: server.url, options)
    }
    return await run(suites, at: url, options)
  }

  private static func run(_ suites: [Suite], at url: String, _ options: Options) async -> [String: Outcome] {
    let shared = client(options)
    // Martlet does not report interim responses, so tests of them cannot run.
    var waiting = suites.flatMap(\.tests).filter { !$0.needsInterimResponses }[...]
    return await withTaskGroup(of: (String, Outcome).self) { group in
      func startNext() {
        guard let test = waiting.popFirst() else { return }
        let run = TestRun(
          test: test, client: options.hasClientPerTest ? client(options) : shared, base: url,
          isVerbose: options.isVerbose)
        group.addTask { (test.id, await run.run()) }
      }
      for _ in 0..<options.parallel { startNext() }
      var outcomes: [String: Outcome] = [:]
      for await (id, outcome) in group {
        outcomes[id] = outcome
        startNext()
      }
      return outcomes
    }
  }

  private static func client(_ options: Options) -> HTTPClient {
    let transport = options.transport
    let parallel = options.parallel
    return HTTPClient {
      $0.maximumConnectionsPerHost = parallel
      $0.maximumConnections = max($0.maximumConnections, parallel)
      switch transport {
      case "curl": $0.transport = .curl
      case "urlsession": $0.transport = .urlSession
      default: break
      }
    }
  }
}
