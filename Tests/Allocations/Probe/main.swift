import AllocationCounter
import Foundation
import Martlet
import MartletWebSocket

// Counts the allocations of a small GET, in Martlet and in the libraries below it. A disabled policy must cost nothing,
// whichever other policies are enabled. With `--limit`, for CI (release build, Swift 6.3, libcurl 7.88), the cost of a
// request must not grow.
guard allocations_are_counted() else {
  print("allocations cannot be counted here")
  exit(0)
}
let port = allocations_serve()
guard port > 0 else {
  print("no server could be started")
  exit(1)
}
let url = "http://127.0.0.1:\(port)/"

/// A policy and a closure that enables it.
struct Policy {
  let name: String
  let enable: @Sendable (inout HTTPClient.Configuration) -> Void
}

let policies: [Policy] = [
  Policy(name: "retries") { $0.options.retry = .standard },
  Policy(name: "redirects") { $0.options.redirects = .follow },
  Policy(name: "cookies") { $0.options.cookies = .automatic },
  Policy(name: "cache") { $0.cache = .memory() },
]

/// Returns the number of allocations per request: the minimum of several rounds, because timers allocate during some of
/// them.
func count(_ lane: Lane, _ policies: [Policy]) async throws -> Int {
  let client = HTTPClient {
    $0.transport = lane.transport
    $0.cache = .off
    $0.options.retry = RetryPolicy.off
    $0.options.redirects = RedirectPolicy.off
    $0.options.cookies = CookiePolicy.off
    for policy in policies { policy.enable(&$0) }
  }
  let target = RequestTarget(url)
  for _ in 0..<200 { _ = try await client.get(target) }
  var least = Int64.max
  for _ in 0..<40 {
    let before = allocations_count()
    for _ in 0..<25 { _ = try await client.get(target) }
    least = min(least, allocations_count() - before)
  }
  return Int((Double(least) / 25).rounded())
}

/// A transport that responds in the same step, without a server, so each request does the same work.
struct Echo: Transport {
  func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
    StreamedResponse(status: .ok, headers: ["Content-Length": "13"], body: ResponseBody(Self.body), request: request)
  }

  private static let body = Data("Hello, world!".utf8)
}

struct Lane {
  let name: String
  let transport: any Transport
}

var problems: [String] = []
let echo = Lane(name: "echo", transport: Echo())
let nothing = try await count(echo, [])
let everything = try await count(echo, policies)
print("echo: \(nothing) with nothing, \(everything) with everything")
for (index, policy) in policies.enumerated() {
  let alone = try await count(echo, [policy])
  var others = policies
  others.remove(at: index)
  let without = try await count(echo, others)
  print("echo: \(alone) with \(policy.name) alone, \(without) with all others")
  // Each of the four counts may be off by one, because tasks change threads.
  if without > everything - (alone - nothing) + 4 {
    problems.append("\(policy.name) cost something though they are off")
  }
}

if CommandLine.arguments.contains("--limit") {
  if nothing > 24 { problems.append("echo: \(nothing) allocations for a request with nothing, 24 are allowed") }
  let limit = 61
  var lanes = [Lane(name: "curl", transport: .curl)]
  #if URLSession
    lanes.append(Lane(name: "urlSession", transport: .urlSession))
  #endif
  for lane in lanes {
    do {
      let count = try await count(lane, policies)
      print("\(lane.name): \(count) with everything")
      if count > limit { problems.append("\(lane.name): \(count) allocations for a request, \(limit) are allowed") }
    } catch {
      problems.append("\(lane.name): \(error)")
    }
  }
}

/// Returns the number of allocations of a message of 100 bytes and its echo, as above.
func countMessage() async throws -> Int {
  let client = HTTPClient { $0.transport = .curl }
  return try await client.webSocket(HTTPRequest(RequestTarget(url))) { socket in
    let message = Data(count: 100)
    var least = Int64.max
    for round in 0..<48 {
      let before = allocations_count()
      for _ in 0..<25 {
        try await socket.send(message)
        _ = try await socket.receive()
      }
      // The first rounds warm up.
      if round >= 8 { least = min(least, allocations_count() - before) }
    }
    return Int((Double(least) / 25).rounded())
  }
}

if CommandLine.arguments.contains("--limit") {
  do {
    let count = try await countMessage()
    print("WebSocket: \(count) for a message and its echo")
    let limit = 14
    if count > limit { problems.append("WebSocket: \(count) allocations for a message, \(limit) are allowed") }
  } catch {
    problems.append("WebSocket: \(error)")
  }
}
for problem in problems { print(problem) }
exit(problems.isEmpty ? 0 : 1)
