#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport

  @testable import MartletBase
  @testable import MartletTesting

  /// A server with one connection at a time, whose every step the test controls.
  ///
  /// It is for events that depend on an order rather than on a time.
  final class SteppedServer: Sendable {
    struct Ended: Error {}

    private struct State {
      var connection: Int32?
      /// The bytes after the last head.
      var rest = Data()
    }

    let port: Int
    private let listener: Int32
    private let state = Locked(State())

    /// Listens on a free port.
    ///
    /// - Throws: ``MockServerError`` if the system refuses a socket.
    init() throws {
      let bound = try Sockets.listen(backlog: 16)
      (listener, port) = (bound.socket, bound.port)
      // A small buffer fills quickly, so the client soon notices that the server has stopped reading.
      var size: Int32 = 64 << 10
      setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit {
      close()
      Sockets.close(listener)
    }

    var url: String { "http://127.0.0.1:\(port)" }
    var target: RequestTarget { RequestTarget(url) }

    /// Accepts the next connection, closes the last one, and reads the head of a request.
    @discardableResult
    func request() async throws -> String {
      try await accept()
      return try await nextRequest()
    }

    /// Reads the head of another request on the same connection and discards the rest of the one before.
    @discardableResult
    func nextRequest() async throws -> String {
      var bytes = Data()
      while true {
        if let end = bytes.firstRange(of: Data("\r\n\r\n".utf8)) {
          let rest = Data(bytes[end.upperBound...])
          state.withLock { $0.rest = rest }
          return String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        }
        guard let piece = try await receive() else { throw Ended() }
        bytes += piece
      }
    }

    /// Accepts the next connection, closes the last one, and waits until bytes have arrived.
    func firstBytes() async throws {
      try await accept()
      if try await receive() == nil { throw Ended() }
    }

    private func accept() async throws {
      close()
      while true {
        if case .connection(let socket) = Sockets.acceptNext(listener) {
          return state.withLock { $0 = State(connection: socket) }
        }
        try await Task.sleep(for: .milliseconds(1))
      }
    }

    func send(_ text: String) async throws { try await send(Data(text.utf8)) }

    /// Sends all bytes, or fails if the client has disconnected.
    func send(_ data: Data) async throws {
      var rest = data
      while !rest.isEmpty {
        guard let socket = state.withLock({ $0.connection }) else { throw Ended() }
        switch rest.withUnsafeBytes({ Sockets.send(socket, $0) }) {
        case .moved(let count): rest = Data(rest.dropFirst(count))
        case .wouldBlock: try await Task.sleep(for: .milliseconds(1))
        case .closed: throw Ended()
        }
      }
    }

    /// Reads everything after the head until the connection ends.
    ///
    /// - Returns: The number of bytes.
    func countToEnd() async throws -> Int {
      var count = state.withLock { $0.rest.count }
      while let piece = try await receive() { count += piece.count }
      return count
    }

    /// Reads everything after the head until it contains a text.
    func waitForBytes(_ text: String) async throws {
      while state.withLock({ $0.rest.firstRange(of: Data(text.utf8)) }) == nil {
        guard let piece = try await receive() else { throw Ended() }
        state.withLock { $0.rest += piece }
      }
    }

    /// Waits until the client can send no more, which is when the number of unread bytes stops growing.
    func waitForFullBuffers() async throws {
      guard let socket = state.withLock({ $0.connection }) else { throw Ended() }
      var (last, turns) = (Int32(0), 0)
      while last == 0 || turns < 20 {
        try await Task.sleep(for: .milliseconds(10))
        var count: Int32 = 0
        guard ioctl(socket, UInt(FIONREAD), &count) == 0 else { throw Ended() }
        (last, turns) = (count, count == last ? turns + 1 : 0)
      }
    }

    /// Waits until the client has closed the connection.
    func waitForEnd() async throws { _ = try await countToEnd() }

    /// Stops sending but can still read.
    func finish() { if let socket = state.withLock({ $0.connection }) { shutdown(socket, Int32(SHUT_WR)) } }

    func close() {
      let socket = state.withLock { state in
        defer { state.connection = nil }
        return state.connection
      }
      if let socket { Sockets.close(socket) }
    }

    func reset() {
      let socket = state.withLock { state in
        defer { state.connection = nil }
        return state.connection
      }
      if let socket { Sockets.reset(socket) }
    }

    /// Returns the received bytes, or `nil` at the end.
    private func receive() async throws -> Data? {
      while true {
        guard let socket = state.withLock({ $0.connection }) else { return nil }
        var data = Data(count: 64 << 10)
        switch data.withUnsafeMutableBytes({ Sockets.receive(socket, into: $0) }) {
        case .moved(let count): return data.prefix(count)
        case .wouldBlock: try await Task.sleep(for: .milliseconds(1))
        case .closed: return nil
        }
      }
    }
  }
#endif
