#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A connected socket that blocks for a bounded time, and is closed with its last reference.
final class RedisSocket {
  #if canImport(Glibc)
    private static let stream = Int32(SOCK_STREAM.rawValue)
  #else
    private static let stream = SOCK_STREAM
  #endif
  #if canImport(Darwin)
    // Darwin has no flag per call; `SO_NOSIGPIPE` is set on the socket instead.
    private static let sendFlags: Int32 = 0
  #else
    private static let sendFlags = Int32(MSG_NOSIGNAL)
  #endif
  private static let pieceBytes = 64 << 10

  private let descriptor: Int32
  /// The deadline of the current command; one call takes at most the socket's patience.
  var deadline = ContinuousClock.now

  /// Connects to the first address that accepts in time.
  init(host: String, port: Int, _ patience: Duration) throws(RedisError) {
    let start = ContinuousClock.now
    var hints = addrinfo()
    hints.ai_socktype = Self.stream
    var addresses: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, "\(port)", &hints, &addresses) == 0 else { throw .unreachable }
    defer { freeaddrinfo(addresses) }
    var (next, connected) = (addresses, Int32(-1))
    while let address = next?.pointee, connected < 0 {
      connected = Self.connected(to: address, patience)
      next = address.ai_next
    }
    guard connected >= 0 else { throw start.duration(to: .now) < patience ? .unreachable : .timedOut }
    descriptor = connected
  }

  deinit { close(descriptor) }

  func send(_ bytes: [UInt8]) throws(RedisError) {
    var sent = 0
    while sent < bytes.count {
      try checkTime()
      let (count, code) = bytes.withUnsafeBytes { bytes in
        let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
        #if canImport(Darwin)
          return (Darwin.send(descriptor, rest.baseAddress, rest.count, Self.sendFlags), errno)
        #elseif canImport(Musl)
          return (Musl.send(descriptor, rest.baseAddress, rest.count, Self.sendFlags), errno)
        #else
          return (Glibc.send(descriptor, rest.baseAddress, rest.count, Self.sendFlags), errno)
        #endif
      }
      if count > 0 { sent += count } else { try check(count, code) }
    }
  }

  /// Waits for the next bytes.
  func receive() throws(RedisError) -> [UInt8] {
    while true {
      try checkTime()
      var (count, code) = (0, Int32(0))
      let bytes = [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { buffer, length in
        count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        code = errno
        length = max(0, count)
      }
      if count > 0 { return bytes }
      try check(count, code)
    }
  }

  private func checkTime() throws(RedisError) {
    guard ContinuousClock.now < deadline else { throw .timedOut }
  }

  /// Evaluates a call that moved no byte; returns if the call is to be repeated.
  private func check(_ count: Int, _ code: Int32) throws(RedisError) {
    guard count < 0 else { throw .lost }
    if code == EINTR { return }
    throw code == EAGAIN || code == EWOULDBLOCK ? .timedOut : .lost
  }

  private static func connected(to address: addrinfo, _ patience: Duration) -> Int32 {
    let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
    guard descriptor >= 0 else { return -1 }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    let (seconds, attoseconds) = patience.components
    var limit = timeval(tv_sec: .init(seconds), tv_usec: .init(attoseconds / 1_000_000_000_000))
    let length = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, length)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, length)
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    #if canImport(Darwin)
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
    // On some systems, a socket's time limits do not apply to connecting.
    let flags = fcntl(descriptor, F_GETFL)
    _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
    guard connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 || isConnected(descriptor, patience) else {
      close(descriptor)
      return -1
    }
    _ = fcntl(descriptor, F_SETFL, flags)
    return descriptor
  }

  /// Waits until a pending connection is established.
  private static func isConnected(_ descriptor: Int32, _ patience: Duration) -> Bool {
    guard errno == EINPROGRESS else { return false }
    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    guard poll(&waiting, 1, Int32(patience / .milliseconds(1))) > 0 else { return false }
    var (failure, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &length) == 0 && failure == 0
  }
}
