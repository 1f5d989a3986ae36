import MartletBase
import Martlet
import Foundation

/// The state shared by a server, its loop and its responder's tasks.
final class ServerCore: Sendable {
  /// A response that a task delivers to the loop.
  struct Delivery: Sendable {
    let connection: Int
    let request: Int
    let response: MockResponse
  }

  private struct Mailbox {
    var deliveries: [Delivery] = []
    var isStopping = false
    var loopThread: UInt?
  }

  /// Whether the caller runs on the loop's thread, which must not wait for itself.
  var isOnLoopThread: Bool { mailbox.withLock { $0.loopThread } == Self.currentThread }

  let options: MockServer.Options
  let responder: Responder
  let journal = Locked(ServerJournal())
  /// Signals that the loop has closed everything.
  let finished: SignalPipe
  /// Signals new items in the mailbox.
  let wake: SignalPipe
  private let mailbox = Locked(Mailbox())

  init(options: MockServer.Options, responder: Responder) throws {
    self.options = options
    self.responder = responder
    finished = try SignalPipe()
    wake = try SignalPipe()
  }

  /// Makes the calling thread the loop's thread.
  func adoptThread() { mailbox.withLock { $0.loopThread = Self.currentThread } }

  func deliver(_ delivery: Delivery) {
    let isFirst = mailbox.withLock { mailbox in
      mailbox.deliveries.append(delivery)
      return mailbox.deliveries.count == 1
    }
    if isFirst { wake.raise() }
  }

  /// Takes the deliveries; `nil` once the loop has to end.
  func takeDeliveries() -> [Delivery]? {
    mailbox.withLock { mailbox in
      defer { mailbox.deliveries = [] }
      return mailbox.isStopping ? nil : mailbox.deliveries
    }
  }

  func stop() {
    mailbox.withLock { $0.isStopping = true }
    wake.raise()
  }

  #if canImport(Glibc)
    private static var currentThread: UInt { UInt(pthread_self()) }
  #else
    private static var currentThread: UInt { UInt(bitPattern: pthread_self()) }
  #endif
}
