import Foundation
import Martlet

// Compares the time for a `JSONValue` in a model with that of `JSONDecoder` for a plain array of the same size. Fails if
// the value takes more than five times as long.
struct Wrap: Decodable { var v: JSONValue }

/// The text of an array of numbers, nested in other arrays.
func array(_ count: Int, depth: Int) -> String {
  let numbers = Array(repeating: "12.34", count: count).joined(separator: ",")
  return String(repeating: "[", count: depth) + numbers + String(repeating: "]", count: depth)
}

/// The processor time of this process, in milliseconds.
func processorTime() -> Double { Double(clock()) / Double(CLOCKS_PER_SEC) * 1e3 }

/// The minimum time of several runs, because other programs disturb some of them.
func milliseconds(_ body: () throws -> Void) rethrows -> Double {
  var least = Double.infinity
  for _ in 0..<10 {
    let start = processorTime()
    try body()
    least = min(least, processorTime() - start)
  }
  return least
}

let count = 100_000
let plain = Data(array(count, depth: 1).utf8)
let nested = HTTPResponse(status: .ok, body: Data("{\"v\":\(array(count, depth: 60))}".utf8))
let elements = HTTPResponse(status: .ok, body: Data(array(count, depth: 1).utf8))

let yardstick = try milliseconds { _ = try JSONDecoder().decode([Double].self, from: plain) }
let rows = [
  ("JSONDecoder, [Double]", yardstick),
  ("JSONValue, alone", try milliseconds { _ = try nested.json(JSONValue.self) }),
  ("Wrap, 60 levels", try milliseconds { _ = try nested.json(Wrap.self) }),
  ("[JSONValue]", try milliseconds { _ = try elements.json([JSONValue].self) }),
]
print("\(count) numbers, \(plain.count) bytes; the least of 10 runs")
for (name, time) in rows {
  let columns = [String(format: "%8.1f ms", time), String(format: "%6.2f", time / yardstick)]
  print(name.padding(toLength: 24, withPad: " ", startingAt: 0), columns.joined(separator: "  "))
}
let wrapped = rows[2].1
exit(wrapped <= 5 * yardstick ? 0 : 1)
