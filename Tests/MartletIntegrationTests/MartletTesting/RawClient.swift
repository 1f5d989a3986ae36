import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A blocking socket that sends and receives exact bytes.
///
/// Its functions block, so a test calls it from ``onThread(_:)``.
final class RawClient {
  struct Failure: Error {
    let call: String
    let code: Int32
  }

  private let descriptor: Int32
  /// Bytes that have been received but not yet returned.
  private var received: [UInt8] = []
  private(set) var isAtEnd = false

  /// Connects to a local port.
  ///
  /// - Parameters:
  ///   - port: A port of 127.0.0.1.
  ///   - timeout: The limit in seconds, which prevents hanging unless a test covers something that never arrives.
  /// - Throws: ``Failure`` if the connection fails.
  init(port: Int, timeout: Double = 55) throws {
    #if canImport(Glibc)
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
    var limit = timeval()
    limit.tv_sec = Int(timeout)
    limit.tv_usec = .init(timeout.truncatingRemainder(dividingBy: 1) * 1_000_000)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    #if canImport(Darwin)
      var on: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    // `deinit` closes the socket even if `init` fails here, because all properties are set. Closing it twice could
    // close another file.
    guard result == 0 else { throw Failure(call: "connect", code: errno) }
  }

  deinit { close(descriptor) }

  func send(_ text: String) throws { try send([UInt8](text.utf8)) }

  func send(_ bytes: [UInt8]) throws {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes { buffer -> Int in
        let rest = UnsafeRawBufferPointer(rebasing: buffer[sent...])
        #if canImport(Darwin)
          return Darwin.send(descriptor, rest.baseAddress, rest.count, flags)
        #elseif canImport(Musl)
          return Musl.send(descriptor, rest.baseAddress, rest.count, flags)
        #else
          return Glibc.send(descriptor, rest.baseAddress, rest.count, flags)
        #endif
      }
      guard count > 0 else { throw Failure(call: "send", code: errno) }
      sent += count
    }
  }

  /// Receives until the text received so far ends with `mark`, and returns that text.
  func receive(until mark: String) throws -> String {
    while true {
      let text = String(decoding: received, as: UTF8.self)
      if let range = text.range(of: mark) {
        received = Array(text[range.upperBound...].utf8)
        return String(text[..<range.upperBound])
      }
      guard try receiveSome() > 0 else { throw Failure(call: "end before \(mark) in \(text)", code: 0) }
    }
  }

  /// Receives some bytes, or none at the end of the connection.
  func receiveBytes() throws -> [UInt8] {
    if received.isEmpty { _ = try receiveSome() }
    defer { received = [] }
    return received
  }

  /// Receives to the end of the connection.
  func receiveAll() throws -> String {
    while try receiveSome() > 0 {}
    defer { received = [] }
    return String(decoding: received, as: UTF8.self)
  }

  /// Receives to the end of the connection and returns only the number of bytes.
  func countAll() throws -> Int {
    var total = 0
    while true {
      let count = try receiveSome()
      if count == 0 { return total }
      total += count
      received.removeAll(keepingCapacity: true)
    }
  }

  private func receiveSome() throws -> Int {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count >= 0 else { throw Failure(call: "recv", code: errno) }
    isAtEnd = count == 0
    received += buffer.prefix(count)
    return count
  }
}

/// Runs blocking work on its own thread, so it does not block a thread of the task pool.
@concurrent
func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    let thread = Thread { continuation.resume(with: Result(catching: work)) }
    thread.stackSize = 1 << 19
    thread.start()
  }
}

/// Returns a request without a body.
func rawGet(_ target: String = "/", _ fields: String = "") -> String {
  "GET \(target) HTTP/1.1\r\nHost: test\r\n\(fields)\r\n"
}
