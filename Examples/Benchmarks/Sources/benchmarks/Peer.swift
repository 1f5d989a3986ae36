import Foundation

/// A client that is measured.
protocol Peer: Sendable {
  /// Sends a GET, checks status and length of the response, and drops it.
  func get(_ url: String, length: Int) async throws

  /// Sends as many GETs as fit into a time, and returns their number.
  func gets(_ url: String, length: Int, concurrency: Int, seconds: Double) async throws -> Int

  /// Sends a number of GETs at the same time.
  func burst(_ url: String, length: Int, count: Int) async throws

  /// Sends GETs that are never answered and cancels them after a time; returns the seconds until all have returned.
  func cancel(_ url: String, count: Int, after seconds: Double) async throws -> Double

  /// Receives a body in pieces and throws it away, with a pause for each ``Servers/pauseLength`` bytes.
  func download(_ url: String, pause: Duration?) async throws

  /// Receives bodies at the same time in pieces, and throws them away.
  func downloads(_ url: String, count: Int) async throws

  /// Receives a body into memory.
  func collect(_ url: String) async throws

  /// Sends a file.
  func upload(_ file: String, to url: String) async throws

  func close() async throws
}

/// A client has no way to do what a workload needs.
struct Impossible: Error {
  var reason: String

  init(_ reason: String) { self.reason = reason }
}

extension Peer {
  func gets(_ url: String, length: Int, concurrency: Int, seconds: Double) async throws -> Int {
    let end = ContinuousClock.now + .seconds(seconds)
    @Sendable func worker() async throws -> Int {
      var count = 0
      repeat {
        try await get(url, length: length)
        count += 1
      } while ContinuousClock.now < end
      return count
    }
    if concurrency == 1 { return try await worker() }
    return try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<concurrency { group.addTask { try await worker() } }
      return try await group.reduce(0, +)
    }
  }

  func burst(_ url: String, length: Int, count: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<count { group.addTask { try await get(url, length: length) } }
      try await group.waitForAll()
    }
  }

  func downloads(_ url: String, count: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<count { group.addTask { try await download(url, pause: nil) } }
      try await group.waitForAll()
    }
  }

  func cancel(_ url: String, count: Int, after seconds: Double) async throws -> Double {
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<count {
        group.addTask {
          do {
            try await get(url, length: 0)
            return false
          } catch {
            return Task.isCancelled
          }
        }
      }
      try await Task.sleep(for: .seconds(seconds))
      let start = ContinuousClock.now
      group.cancelAll()
      let isClean = try await group.allSatisfy { $0 }
      guard isClean else { throw Complaint("a request ended before it was cancelled") }
      return (ContinuousClock.now - start).inSeconds
    }
  }

  func close() async throws {}

  func check(status: Int, length: Int, expected: Int) throws {
    guard status == 200, length == expected else { throw Complaint("status \(status) with \(length) bytes") }
  }

  /// The server answers an upload with what it has counted.
  func check(status: Int, count: some Sequence<UInt8>) throws {
    let text = String(decoding: Array(count), as: UTF8.self)
    guard status == 200, text == "\(Servers.bodyLength)\n" else { throw Complaint("status \(status), \(text)") }
  }
}

/// Says when a slow reader has to sleep.
struct PauseCounter {
  private var rest = 0

  /// How often to sleep after some more bytes.
  mutating func count(_ bytes: Int) -> Int {
    rest += bytes
    defer { rest %= Servers.pauseLength }
    return rest / Servers.pauseLength
  }
}

extension Duration {
  var inSeconds: Double { self / .seconds(1) }
}
