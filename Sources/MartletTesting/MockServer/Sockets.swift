import Foundation

// Outside of ``Sockets``, whose functions hide those of the system.
private func systemListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { listen(descriptor, backlog) }
private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
private func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, _ flags: Int32) -> Int {
  send(descriptor, bytes.baseAddress, bytes.count, flags)
}

/// The system calls of the server, with the differences between platforms.
enum Sockets {
  enum Outcome {
    case moved(Int)
    case wouldBlock
    case closed
  }

  #if canImport(Glibc)
    private static let stream = Int32(SOCK_STREAM.rawValue)
  #else
    private static let stream = SOCK_STREAM
  #endif

  #if canImport(Darwin)
    // Darwin has no flag for a single call; `SO_NOSIGPIPE` is set on each socket instead.
    private static let sendFlags: Int32 = 0
  #else
    private static let sendFlags = Int32(MSG_NOSIGNAL)
  #endif

  /// Opens a TCP socket bound to a port of 127.0.0.1 or another address of 127.0.0.0/24, by default a free one.
  static func bindToLoopback(
    _ port: Int = 0, host: UInt8 = 1, reuses: Bool = false
  ) throws -> (socket: Int32, port: Int) {
    let (descriptor, address) = try bound(to: loopback(port: port, host: host), AF_INET, reuses: reuses)
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
  }

  /// Opens a TCP socket bound to an address; returns the address that it has.
  static func bound<Address>(
    to address: Address, _ family: Int32, reuses: Bool = false
  ) throws -> (socket: Int32, address: Address) {
    let descriptor = try open(family)
    if reuses {
      var on: Int32 = 1
      _ = setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = address
    var length = socklen_t(MemoryLayout<Address>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else {
      let failure = MockServerError(operation: "bind", code: errno)
      close(descriptor)
      throw failure
    }
    return (descriptor, address)
  }

  /// Opens a non-blocking listening socket on 127.0.0.1, by default on a free port.
  static func listen(backlog: Int32, port: Int = 0, host: UInt8 = 1) throws -> (socket: Int32, port: Int) {
    // A server that is started again must not wait until its previous connections are forgotten.
    let bound = try bindToLoopback(port, host: host, reuses: port != 0)
    try startListening(bound.socket, backlog: backlog)
    return bound
  }

  /// Listens with a bound socket, which is closed if that fails.
  static func startListening(_ descriptor: Int32, backlog: Int32) throws {
    guard systemListen(descriptor, backlog) != 0 else { return }
    let failure = MockServerError(operation: "listen", code: errno)
    close(descriptor)
    throw failure
  }

  /// Starts connecting to a port of 127.0.0.1, without waiting for the result.
  static func startConnecting(to port: Int, host: UInt8 = 1) throws -> Int32 {
    let descriptor = try open(AF_INET)
    var address = loopback(port: port, host: host)
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) }
    }
    guard result == 0 || errno == EINPROGRESS else {
      let failure = MockServerError(operation: "connect", code: errno)
      close(descriptor)
      throw failure
    }
    return descriptor
  }

  /// The result of one attempt to accept.
  enum Acceptance {
    case connection(Int32)
    case nothing
    case exhausted
  }

  /// Accepts one waiting connection, if there is one.
  static func acceptNext(_ listener: Int32) -> Acceptance {
    while true {
      let descriptor = accept(listener, nil, nil)
      if descriptor >= 0 {
        prepare(descriptor)
        return .connection(descriptor)
      }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
      default: return .nothing
      }
    }
  }

  /// Receives the available bytes, without waiting.
  static func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
    outcome { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
  }

  /// Sends as many bytes as fit, without waiting or raising `SIGPIPE`.
  static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Outcome {
    outcome { systemSend(descriptor, bytes, sendFlags) }
  }

  /// Closes the sending direction (FIN); receiving continues.
  static func finishSending(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_WR)) }

  static func close(_ descriptor: Int32) { _ = systemClose(descriptor) }

  /// Closes a listening socket and frees its port, even if a child process that is being started still has a copy.
  static func stopListening(_ descriptor: Int32) {
    _ = shutdown(descriptor, Int32(SHUT_RDWR))
    close(descriptor)
  }

  /// Closes a connection with a reset (RST).
  static func reset(_ descriptor: Int32) {
    var option = linger(l_onoff: 1, l_linger: 0)
    _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close(descriptor)
  }

  /// Makes a descriptor non-blocking and keeps it from child processes.
  static func configure(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  private static func open(_ family: Int32) throws -> Int32 {
    let descriptor = socket(family, stream, 0)
    guard descriptor >= 0 else { throw MockServerError(operation: "socket", code: errno) }
    prepare(descriptor)
    return descriptor
  }

  private static func prepare(_ descriptor: Int32) {
    configure(descriptor)
    var on: Int32 = 1
    let length = socklen_t(MemoryLayout<Int32>.size)
    _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, length)
    #if canImport(Darwin)
      _ = setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, length)
    #endif
  }

  private static func loopback(port: Int, host: UInt8) -> sockaddr_in {
    var address = sockaddr_in()
    #if canImport(Darwin)
      address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
    #endif
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
    address.sin_addr.s_addr = (in_addr_t(0x7f00_0000) | in_addr_t(host)).bigEndian
    return address
  }

  private static func outcome(of call: () -> Int) -> Outcome {
    while true {
      let count = call()
      if count > 0 { return .moved(count) }
      if count == 0 { return .closed }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .wouldBlock : .closed
    }
  }
}
