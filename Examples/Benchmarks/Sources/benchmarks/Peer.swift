import Foundation

/// A measured client.
protocol Peer: Sendable {
  /// Sends a GET, checks status and length of the response, and drops it.
  func get(_ url: String, length: Int) async throws

  /// Sends as many GETs as possible within a time, and returns their number.
  func gets(_ url: String, length: Int, concurrency: Int, seconds: Double) async throws -> Int

  /// Sends a number of GETs at the same time.
  func burst(_ url: String, length: Int, count: Int) async throws

  /// Sends GETs that get no response and cancels them after a time; returns the seconds until all have returned.
  func cancel(_ url: String, count: Int, after seconds: Double) async throws -> Double

  /// Receives and discards a body in chunks, with a pause for each ``Servers/pauseLength`` bytes.
  func download(_ url: String, pause: Duration?) async throws

  /// Receives and discards several bodies at the same time, in chunks.
  func downloads(_ url: String, count: Int) async throws

  /// Receives a body into memory.
  func collect(_ url: String) async throws

  /// Sends a file.
  func upload(_ file: String, to url: String) async throws

  func close() async throws
}

/// The error of a client that does not support a workload.
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

  /// Checks the response to an upload, whose body is the number of bytes that the server received.
  func check(status: Int, count: some Sequence<UInt8>) throws {
    let text = String(decoding: Array(count), as: UTF8.self)
    guard status == 200, text == "\(Servers.bodyLength)\n" else { throw Complaint("status \(status), \(text)") }
  }
}

/// Decides when a slow reader must sleep.
struct PauseCounter {
  private var rest = 0

  /// Returns the number of pauses that are due after more bytes.
  mutating func count(_ bytes: Int) -> Int {
    rest += bytes
    defer { rest %= Servers.pauseLength }
    return rest / Servers.pauseLength
  }
}

extension Duration {
  var inSeconds: Double { self / .seconds(1) }
}
