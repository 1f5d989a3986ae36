// FetchTool [-H 'Name: value']… [--timeout SECONDS] [--retry COUNT] URL
// Writes the body to standard output. Exit codes: 22 for a status of 400 or more, 28 for a timeout, 130 for Ctrl-C.
import Foundation
import Martlet

struct Arguments: Sendable {
  var url: URL
  var headers: HTTPHeaders = [:]
  var timeout: Double = 30
  var retries = 0

  init?(_ arguments: [String]) {
    var found: URL?
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "-H":
        guard let field = rest.popFirst(), let colon = field.firstIndex(of: ":") else { return nil }
        let value = field[field.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        headers.append(value, for: String(field[..<colon]))
      case "--timeout":
        // A limit is at least 1 ms; the upper bound keeps out infinity, on which `Duration` traps.
        guard let seconds = rest.popFirst().flatMap({ Double($0) }), (0.001...1e9).contains(seconds) else { return nil }
        timeout = seconds
      case "--retry":
        guard let count = rest.popFirst().flatMap({ Int($0) }), (0...1000).contains(count) else { return nil }
        retries = count
      default:
        guard found == nil, let parsed = URL(string: argument), parsed.host() != nil else { return nil }
        found = parsed
      }
    }
    guard let found else { return nil }
    url = found
  }
}

@main enum FetchTool {
  static func main() async throws {
    guard let arguments = Arguments(Array(CommandLine.arguments.dropFirst())) else {
      fail("usage: FetchTool [-H 'Name: value']… [--timeout SECONDS] [--retry COUNT] URL", code: 64)
    }
    let client = HTTPClient {
      $0.proxy = .environment
      $0.timeout.total = .seconds(arguments.timeout)
      $0.retry = .backoff(attempts: arguments.retries + 1)
    }

    // Without SIG_IGN, the signal would end the process before the source handles it.
    signal(SIGINT, SIG_IGN)
    let interrupts = DispatchSource.makeSignalSource(signal: SIGINT)
    interrupts.setEventHandler { client.cancelAll() }
    interrupts.resume()
    // A released source no longer handles signals; this keeps it until the end.
    defer { interrupts.cancel() }

    do {
      try await client.stream(.get(RequestTarget(arguments.url), headers: arguments.headers)) { response in
        for try await piece in response.body { try FileHandle.standardOutput.write(contentsOf: piece) }
      }
    } catch is CancellationError {
      fail("interrupted", code: 130)
    } catch let error as HTTPError where error.kind == .status {
      if let body = error.response?.body { FileHandle.standardOutput.write(body) }
      fail("\(error)", code: 22)
    } catch let error as HTTPError where error.isTimeout {
      fail("\(error)", code: 28)
    } catch {
      fail("\(error)", code: 1)
    }
  }

  static func fail(_ message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(code)
  }
}
