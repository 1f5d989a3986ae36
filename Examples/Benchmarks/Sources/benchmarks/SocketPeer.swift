import Foundation

/// A measured WebSocket client.
protocol SocketPeer: Sendable {
  associatedtype Socket: SocketOfPeer

  /// Opens a WebSocket, passes it to a closure, and closes it.
  func withSocket<R: Sendable>(
    _ url: String, payload: Data, isCompressed: Bool, _ body: @Sendable (Socket) async throws -> R
  ) async throws -> R
}

/// An open WebSocket, with the message that it sends repeatedly.
protocol SocketOfPeer: Sendable {
  func send() async throws
  func send(_ text: String) async throws
  /// The length of the next message.
  func receive() async throws -> Int
}

extension SocketPeer {
  /// Sends messages one after the other, each after the echo of the last one; returns their number.
  func echo(_ url: String, payload: Data, isCompressed: Bool, concurrency: Int, seconds: Double) async throws -> Int {
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<concurrency {
        group.addTask {
          try await withSocket(url, payload: payload, isCompressed: isCompressed) { socket in
            let end = ContinuousClock.now + .seconds(seconds)
            var count = 0
            repeat {
              try await socket.send()
              try check(try await socket.receive(), payload.count)
              count += 1
            } while ContinuousClock.now < end
            return count
          }
        }
      }
      return try await group.reduce(0, +)
    }
  }

  /// Sends messages, and waits until the server has received all.
  func send(_ url: String, payload: Data, isCompressed: Bool, count: Int) async throws {
    try await withSocket(url, payload: payload, isCompressed: isCompressed) { socket in
      for _ in 0..<count { try await socket.send() }
      try await socket.send("end")
      try check(try await socket.receive(), 3)
    }
  }

  /// Receives messages.
  func receive(_ url: String, payload: Data, isCompressed: Bool, count: Int) async throws {
    try await withSocket(url, payload: payload, isCompressed: isCompressed) { socket in
      try await socket.send()
      try await socket.send(String(count))
      for _ in 0..<count { try check(try await socket.receive(), payload.count) }
    }
  }

  /// Keeps WebSockets open without using them; returns the memory and processor time.
  func keepIdle(_ url: String, count: Int) async throws -> Measurement {
    let gate = Gate()
    let idle = Memory.resident
    return try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 1...count {
        group.addTask {
          try await withSocket(url, payload: Data(), isCompressed: false) { _ in
            await gate.arrive()
            await gate.wait()
          }
        }
        // A listener's queue is limited.
        while await gate.arrived < number - 64 { try await Task.sleep(for: .milliseconds(1)) }
      }
      while await gate.arrived < count { try await Task.sleep(for: .milliseconds(1)) }
      try await Task.sleep(for: .seconds(0.5))
      var result = try await Meter.measure(idle: idle) {
        try await Task.sleep(for: .seconds(2))
        return count
      }
      result.waitingCores = result.cpuSeconds / result.seconds
      await gate.open()
      group.cancelAll()
      return result
    }
  }

  private func check(_ length: Int, _ expected: Int) throws {
    guard length == expected else { throw Complaint("a message of \(length) bytes instead of \(expected)") }
  }
}

/// Holds tasks until it is opened.
private actor Gate {
  private(set) var arrived = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var isOpen = false

  func arrive() { arrived += 1 }

  func wait() async {
    if isOpen { return }
    await withCheckedContinuation { waiting.append($0) }
  }

  func open() {
    isOpen = true
    for continuation in waiting { continuation.resume() }
    waiting = []
  }
}

/// The payloads of messages.
enum Payload {
  static let small = Data((0..<100).map { UInt8(97 + $0 % 26) })

  /// 64 KiB of JSON with numbers that differ, which zlib reduces to about a third.
  static let large: Data = {
    var text = "["
    var state: UInt64 = 1
    while text.utf8.count < 64 << 10 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      text += #"{"symbol":"AB\#(state >> 60)","price":\#(state >> 44),"size":\#(state >> 36 & 0xfff)},"#
    }
    return Data(text.utf8.prefix(64 << 10))
  }()
}
