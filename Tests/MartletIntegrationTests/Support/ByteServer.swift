#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport

  @testable import MartletTesting

  /// A fast server that sends bytes unchanged.
  ///
  /// It has one thread, and reads only the number of a request. A request for `/17` gets script 17. So does a request
  /// to a proxy for `http://a.example/17` or for a tunnel to `a.example:17`. Over TLS, each chunk is a separate
  /// message. The server can be stopped and restarted on the same port.
  final class ByteServer: Sendable {
    typealias Script = DeliveryPlan

    private struct State {
      var isRunning = false
      var hasThread = false
      var connectionCount = 0
    }

    private struct Connection {
      let socket: Int32
      let tls: ServerTLS.Connection?
      var received: [UInt8] = []
      /// The plan for the connection, the index of the next chunk, and its time.
      var plan: DeliveryPlan?
      var next = 0
      var due: ContinuousClock.Instant?

      mutating func endPlan() {
        plan?.onEnd?()
        (plan, next, due) = (nil, 0, nil)
      }
    }

    let port: Int
    private let script: @Sendable (Int) -> Script
    private let state = Shared(State())
    private let wake: SignalPipe
    private let reservation: Int32
    private let tls: ServerTLS?

    /// Starts the server.
    ///
    /// - Parameters:
    ///   - identity: The server's certificate and key; without them, it does not use TLS.
    ///   - script: The response to the request with a number; called on the server's thread.
    /// - Throws: ``MockServerError`` if the system refuses a socket, or an error if the identity is invalid.
    init(_ identity: CertificateAuthority.Identity? = nil, _ script: @escaping @Sendable (Int) -> Script) throws {
      tls = try identity.map { try ServerTLS(certificate: $0.certificate, key: $0.key) }
      // The port is reserved without listening. Otherwise the port of a stopped server could become the source port of
      // a connection to it.
      let bound = try Self.bind(0)
      reservation = bound.socket
      port = bound.port
      wake = try SignalPipe()
      self.script = script
      try start()
    }

    deinit {
      stop()
      Sockets.close(reservation)
    }

    /// The number of open connections.
    var connectionCount: Int { state.withLock { $0.connectionCount } }

    var url: String { "\(tls == nil ? "http" : "https")://127.0.0.1:\(port)" }

    func url(_ number: Int) -> RequestTarget { RequestTarget("\(raw: url)/\(number)") }

    /// Listens again after ``stop()``.
    func start() throws {
      let listener = try listen()
      state.withLock { $0 = State(isRunning: true, hasThread: true) }
      let loop = Loop(listener: listener, tls: tls, wake: wake, script: script) { [state] count in
        state.withLock {
          $0.connectionCount = count
          return $0.isRunning
        }
      } ended: { [state] in
        state.withLock { $0.hasThread = false }
      }
      let thread = Thread { loop.run() }
      thread.name = "ByteServer"
      thread.stackSize = 1 << 20
      thread.start()
    }

    /// Resets all connections, and refuses new ones from now on.
    func stop() {
      guard state.withLock({ $0.hasThread }) else { return }
      state.withLock { $0.isRunning = false }
      wake.raise()
      for _ in 0..<5_000 where state.withLock({ $0.hasThread }) { usleep(200) }
    }

    private func listen() throws -> Int32 {
      let bound = try Self.bind(port)
      guard Glibc.listen(bound.socket, 4096) == 0 else {
        defer { Sockets.close(bound.socket) }
        throw MockServerError(operation: "listen", code: errno)
      }
      return bound.socket
    }

    private static func bind(_ port: Int) throws -> (socket: Int32, port: Int) {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      guard descriptor >= 0 else { throw MockServerError(operation: "socket", code: errno) }
      Sockets.configure(descriptor)
      var on: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
      address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isBound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
        }
      }
      guard isBound else {
        defer { Sockets.close(descriptor) }
        throw MockServerError(operation: "bind", code: errno)
      }
      return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// The loop on the server's thread.
    private final class Loop: @unchecked Sendable {
      private let listener: Int32
      private let tls: ServerTLS?
      private let wake: SignalPipe
      private let script: @Sendable (Int) -> Script
      private let report: @Sendable (Int) -> Bool
      private let ended: @Sendable () -> Void
      private var connections: [Connection] = []
      private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)

      init(
        listener: Int32, tls: ServerTLS?, wake: SignalPipe, script: @escaping @Sendable (Int) -> Script,
        report: @escaping @Sendable (Int) -> Bool, ended: @escaping @Sendable () -> Void
      ) {
        self.listener = listener
        self.tls = tls
        self.wake = wake
        self.script = script
        self.report = report
        self.ended = ended
      }

      deinit { buffer.deallocate() }

      func run() {
        var poller = Poller()
        while report(connections.count) {
          poller.removeAll()
          poller.add(wake.readEnd, reads: true, writes: false)
          poller.add(listener, reads: true, writes: false)
          var next: ContinuousClock.Instant?
          for connection in connections {
            poller.add(connection.socket, reads: true, writes: false)
            if let time = connection.due { next = next.map { min($0, time) } ?? time }
          }
          let rest = next.map { max(0, ($0 - ContinuousClock.now) / .milliseconds(1)).rounded(.up) }
          poller.wait(milliseconds: rest.map { Int32($0) } ?? -1)
          if poller.readiness(at: 0) != nil { wake.clear() }
          serve(poller)
          if poller.readiness(at: 1) != nil { acceptAll() }
        }
        Sockets.close(listener)
        for var connection in connections {
          Sockets.reset(connection.socket)
          connection.endPlan()
        }
        ended()
      }

      private func acceptAll() {
        while case .connection(let socket) = Sockets.acceptNext(listener) {
          connections.append(Connection(socket: socket, tls: tls?.accept()))
        }
      }

      private func serve(_ poller: Poller) {
        var kept: [Connection] = []
        kept.reserveCapacity(connections.count)
        for (index, connection) in connections.enumerated() {
          var connection = connection
          var isThere = true
          if poller.readiness(at: index + 2) != nil { isThere = receive(&connection) }
          if isThere, let due = connection.due, due <= ContinuousClock.now { isThere = advance(&connection) }
          if isThere { kept.append(connection) } else { connection.endPlan() }
        }
        connections = kept
      }

      /// Receives bytes; a new request ends the response to the previous one.
      ///
      /// - Returns: Whether the connection is still open.
      private func receive(_ connection: inout Connection) -> Bool {
        switch Sockets.receive(connection.socket, into: buffer) {
        case .wouldBlock: return true
        case .closed:
          Sockets.close(connection.socket)
          return false
        case .moved(let count):
          if let tls = connection.tls {
            connection.received += tls.receive(buffer[..<count])
            guard sendRaw(tls.takeOutput(), to: connection.socket), !tls.isOver else {
              Sockets.close(connection.socket)
              return false
            }
          } else {
            connection.received += buffer[..<count]
          }
        }
        if connection.plan?.outlivesRequests == true { return true }
        guard let number = Self.takeRequest(&connection.received) else { return true }
        connection.endPlan()
        connection.plan = script(number)
        connection.due = .now
        return true
      }

      /// Sends everything that is due.
      ///
      /// - Returns: Whether the connection is still open.
      private func advance(_ connection: inout Connection) -> Bool {
        guard let plan = connection.plan else { return true }
        while connection.next < plan.pieces.count {
          let number = connection.next
          guard send(plan.pieces[number], on: connection) else {
            Sockets.close(connection.socket)
            return false
          }
          connection.next += 1
          let pause = number < plan.pauses.count ? plan.pauses[number] : .zero
          if pause > .zero {
            connection.due = .now + pause
            return true
          }
          if connection.next < plan.pieces.count { usleep(50) }
        }
        switch plan.end {
        case .close:
          if let tls = connection.tls { _ = sendRaw(tls.end(), to: connection.socket) }
          Sockets.close(connection.socket)
        case .reset: Sockets.reset(connection.socket)
        case .keep:
          connection.endPlan()
          return true
        }
        return false
      }

      /// Returns the request's number and consumes the bytes if the request is complete.
      private static func takeRequest(_ bytes: inout [UInt8]) -> Int? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.utf8.firstRange(of: "\r\n\r\n".utf8) else { return nil }
        let head = text[..<end.lowerBound]
        var length = 0
        // Only a real field counts: a cookie comes from a server, which may have sent anything.
        if let field = head.firstRange(of: "\r\nContent-Length: ") {
          length = Int(head[field.upperBound...].prefix { $0.isNumber }) ?? 0
        }
        guard text.utf8.distance(from: end.upperBound, to: text.utf8.endIndex) >= length else { return nil }
        bytes = []
        let target = head.split(separator: " ", maxSplits: 2).dropFirst().first ?? ""
        let last = target.split { $0 == "/" || $0 == ":" }.last ?? ""
        return Int(last.prefix { $0.isNumber }) ?? 0
      }

      private func send(_ bytes: [UInt8], on connection: Connection) -> Bool {
        sendRaw(connection.tls?.send(bytes) ?? bytes, to: connection.socket)
      }

      /// Waits for buffer space, but at most one second: the client may have stopped reading or disconnected.
      private func sendRaw(_ bytes: [UInt8], to socket: Int32) -> Bool {
        bytes.withUnsafeBytes { bytes in
          var sent = 0
          while sent < bytes.count {
            switch Sockets.send(socket, UnsafeRawBufferPointer(rebasing: bytes[sent...])) {
            case .moved(let count): sent += count
            case .closed: return false
            case .wouldBlock:
              var poller = Poller()
              poller.add(socket, reads: false, writes: true)
              poller.wait(milliseconds: 1000)
              guard poller.readiness(at: 0)?.isWritable == true else { return false }
            }
          }
          return true
        }
      }
    }
  }
#endif
