import Foundation
import Martlet
import MartletBase

/// A server for one request on the IPv6 loopback address, where ``MockServer`` does not listen.
final class IPv6Responder: Sendable {
  let port: Int
  private let received = Promise<String>()

  /// Starts a server that sends `answer` after a request head, then closes.
  ///
  /// Returns `nil` on a machine without `::1`.
  init?(answering answer: String) {
    guard let listener = Self.listen() else { return nil }
    port = listener.port
    let received = received
    let thread = Thread {
      received.resolve(.success(Self.serve(listener.socket, answer)))
      Sockets.close(listener.socket)
    }
    thread.name = "IPv6Responder"
    thread.start()
  }

  /// The head of the request, or the part that arrived within a few seconds.
  func head() async throws -> String { try await received.take() }

  private static func serve(_ listener: Int32, _ answer: String) -> String {
    guard isReadable(listener), case .connection(let socket) = Sockets.acceptNext(listener) else { return "" }
    defer { Sockets.close(socket) }
    var head: [UInt8] = []
    while !String(decoding: head, as: UTF8.self).contains("\r\n\r\n"), isReadable(socket) {
      var piece = [UInt8](repeating: 0, count: 4096)
      guard case .moved(let count) = piece.withUnsafeMutableBytes({ Sockets.receive(socket, into: $0) }) else { break }
      head += piece.prefix(count)
    }
    _ = Array(answer.utf8).withUnsafeBytes { Sockets.send(socket, $0) }
    return String(decoding: head, as: UTF8.self)
  }

  private static func isReadable(_ socket: Int32) -> Bool {
    var poller = Poller()
    poller.add(socket, reads: true, writes: false)
    poller.wait(milliseconds: 5000)
    return poller.readiness(at: 0) != nil
  }

  private static func listen() -> (socket: Int32, port: Int)? {
    var address = sockaddr_in6()
    #if canImport(Darwin)
      address.sin6_len = UInt8(MemoryLayout<sockaddr_in6>.size)
    #endif
    address.sin6_family = sa_family_t(AF_INET6)
    inet_pton(AF_INET6, "::1", &address.sin6_addr)
    guard let bound = try? Sockets.bound(to: address, AF_INET6),
      (try? Sockets.startListening(bound.socket, backlog: 1)) != nil
    else { return nil }
    return (bound.socket, Int(UInt16(bigEndian: bound.address.sin6_port)))
  }
}
