import MartletBase
import Martlet
import Foundation

/// The loop of a mock server: waits for sockets, timers and responses.
///
/// It lives on one thread, so its state needs no lock.
final class ServerLoop {
  private let core: ServerCore
  private let listener: Int32
  private var connections: [Int: ServerConnection] = [:]
  private var polled: [ServerConnection] = []
  private var poller = Poller()
  private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 16)
  /// The time until which no connections are accepted, for lack of descriptors.
  private var acceptsAgain: ContinuousClock.Instant?

  init(core: ServerCore, listener: Int32) {
    self.core = core
    self.listener = listener
  }

  deinit { scratch.deallocate() }

  /// Serves until the server is stopped.
  func run() {
    while let deliveries = core.takeDeliveries() {
      let now = ContinuousClock.now
      for delivery in deliveries {
        guard let connection = connections[delivery.connection] else { continue }
        connection.deliver(delivery.response, for: delivery.request, now: now)
        forget(connection)
      }
      waitForEvents()
      handleEvents()
    }
    Sockets.stopListening(listener)
    for connection in connections.values { connection.close() }
    connections = [:]
    core.finished.raise()
  }

  private func waitForEvents() {
    let now = ContinuousClock.now
    if let again = acceptsAgain, again <= now { acceptsAgain = nil }
    var deadline = acceptsAgain
    poller.removeAll()
    poller.add(core.wake.readEnd, reads: true, writes: false)
    poller.add(listener, reads: acceptsAgain == nil, writes: false)
    polled.removeAll(keepingCapacity: true)
    for connection in connections.values {
      polled.append(connection)
      poller.add(
        connection.socket, reads: connection.wantsRead(now: now), writes: connection.wantsWrite,
        closes: connection.watchesForClose(now: now))
      guard let timer = connection.nextTimer else { continue }
      deadline = deadline.map { min($0, timer) } ?? timer
    }
    poller.wait(milliseconds: Self.milliseconds(until: deadline, now: now))
  }

  private func handleEvents() {
    if poller.readiness(at: 0) != nil { core.wake.clear() }
    let now = ContinuousClock.now
    for (index, connection) in polled.enumerated() {
      if let readiness = poller.readiness(at: index + 2) {
        connection.handle(readiness, scratch: scratch, now: now)
      }
      if let timer = connection.nextTimer, timer <= now { connection.handleTimers(now: now) }
      forget(connection)
    }
    if poller.readiness(at: 1) != nil { acceptAll(now: now) }
  }

  private func acceptAll(now: ContinuousClock.Instant) {
    while true {
      switch Sockets.acceptNext(listener) {
      case .nothing: return
      case .exhausted:
        // Without this pause the loop would spin until a file is closed.
        acceptsAgain = now + .milliseconds(20)
        return
      case .connection(let socket):
        let number = core.journal.withLock { $0.opened() }
        let connection = ServerConnection(socket: socket, number: number, core: core)
        connections[number] = connection
        connection.start(core.options.onConnect(number), now: now)
        forget(connection)
      }
    }
  }

  private func forget(_ connection: ServerConnection) {
    if connection.isClosed { connections[connection.number] = nil }
  }

  /// The time until a deadline, rounded up because its timer must be due afterwards.
  private static func milliseconds(until deadline: ContinuousClock.Instant?, now: ContinuousClock.Instant) -> Int32 {
    guard let deadline else { return -1 }
    guard deadline > now else { return 0 }
    let rest = (deadline - now).components
    guard rest.seconds < 3600 else { return 3_600_000 }
    return Int32(rest.seconds) * 1000 + Int32(rest.attoseconds / 1_000_000_000_000_000) + 1
  }
}
