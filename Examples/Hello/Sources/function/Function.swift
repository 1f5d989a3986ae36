import FoundationEssentials
import Martlet

/// A function for AWS Lambda's runtime interface: it fetches the URL of each event, and returns the status and the size.
///
/// The runtime freezes the process between events. Connections that a server closes meanwhile are not used again.
@main struct Function {
  struct Event: Decodable {
    let url: String
  }

  struct Result: Encodable {
    let status: Int
    let bytes: Int
  }

  struct Failure: Encodable {
    let errorMessage: String
    let errorType: String
  }

  static func main() async throws {
    guard let host = ProcessInfo.processInfo.environment["AWS_LAMBDA_RUNTIME_API"] else {
      fatalError("AWS_LAMBDA_RUNTIME_API is not set: the runtime sets it")
    }
    // Created once, before the first event, to reuse its connections.
    let client = HTTPClient { $0.timeout.total = .seconds(2) }
    let runtime = HTTPClient {
      $0.baseURL = "http://\(raw: host)/2018-06-01/runtime/"
      $0.cache = .off
      // The next event may come after hours.
      $0.timeout = TimeoutPolicy(idle: nil, firstByte: nil, total: nil)
    }
    while true {
      let outcome: (path: String, body: HTTPBody)
      let next = try await runtime.get("invocation/next")
      guard let id = next.headers["Lambda-Runtime-Aws-Request-Id"] else {
        fatalError("AWS_LAMBDA_RUNTIME_API does not name a runtime")
      }
      // A result that cannot be reported ends the process, and the runtime starts another one.
      do {
        let event = try next.json(Event.self)
        let response = try await client.get("\(raw: event.url)")
        outcome = ("response", .json(Result(status: response.status.rawValue, bytes: response.body.count)))
      } catch {
        outcome = ("error", .json(Failure(errorMessage: "\(error)", errorType: "RequestFailed")))
      }
      try await runtime.post("invocation/\(id)/\(outcome.path)", body: outcome.body)
    }
  }
}
