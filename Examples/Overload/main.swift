import Foundation
import Martlet
import MartletTesting
import Synchronization

// A server that can handle a thousand requests per second, twenty at a time, and queues all others without a limit.
// Like most servers, it also processes requests whose clients have disconnected.
//
//     swift run Overload
//     swift run martlet load URL --count 20000 --at-a-time 1000 --arrivals 2000 --deadline 0.5
//     swift run martlet load URL --count 20000 --at-a-time 1000 --arrivals 2000 --deadline 0.5 --adaptive

let workers = 20
let service = Duration.milliseconds(20)
let start = ContinuousClock.now
// The time, since the start, at which each worker becomes free.
let free = Mutex([Duration](repeating: .zero, count: workers))

let server = try MockServer { _ in
  let now = ContinuousClock.now - start
  let end = free.withLock { free in
    let worker = free.indices.min { free[$0] < free[$1] } ?? 0
    free[worker] = max(free[worker], now) + service
    return free[worker]
  }
  return .ok("done").delayed(by: end - now)
}
// Unbuffered, so a script can read the line at once.
FileHandle.standardOutput.write(Data("serves at \(server.url)\n".utf8))
while true { try await Task.sleep(for: .seconds(3600)) }
