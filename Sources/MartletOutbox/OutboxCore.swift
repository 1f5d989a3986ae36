import Martlet
import MartletBase

/// The state that an outbox shares with its loop.
///
/// ```
///   messages ─▶ lines ─▶ journal ─▶ changes ─▶ table ─▶ schedule ─▶ requests ─▶ messages
/// ```
///
/// Only the loop uses the journal and the table. Each round handles all pending messages, so any number of submissions
/// need one write and one sync.
final class OutboxCore: ClientWork {
  enum Message: Sendable {
    case submit(OutboxLine, Promise<Void>)
    /// Revives or removes a request.
    case change(OutboxChange, Promise<Bool>)
    case list(Promise<[Outbox.DeadLetter]>)
    case ended(OutboxEntry, OutboxVerdict)
    case network(ConnectivityState)
    case hurry
  }

  /// The state that other code reads and sets.
  struct Shared {
    var messages: [Message] = []
    var status = Outbox.Status()
    var isReleased = false
    var isClosing = false
    var isAborting = false
    var isOver = false
  }

  let client: HTTPClient
  let timeline: Timeline
  let options: Outbox.Options
  let journal: OutboxJournal
  let signal = ChangeSignal()
  let changed = ChangeSignal()
  let events = Broadcast<Outbox.Event>()
  let shared = Locked(Shared())

  init(_ client: HTTPClient, _ journal: OutboxJournal, _ options: Outbox.Options) {
    (self.client, self.journal, self.options) = (client, journal, options)
    timeline = Timeline(client.configuration.clock)
    signal.addWatcher()
  }

  /// Sends a message to the loop; returns `false` if the loop has ended.
  @discardableResult
  func post(_ message: Message) -> Bool {
    let isThere = shared.withLock { shared in
      guard !shared.isOver else { return false }
      shared.messages.append(message)
      return true
    }
    signal.signal()
    return isThere
  }

  var status: Outbox.Status { shared.withLock { $0.status } }
  var snapshot: any Sendable { status }
  var isClosing: Bool { shared.withLock { $0.isClosing } }
  var isAborting: Bool { shared.withLock { $0.isAborting } }
  var isReleased: Bool { shared.withLock { $0.isReleased } }
  var now: Date { client.configuration.now() }

  func takeMessages() -> [Message] {
    shared.withLock { shared in
      defer { shared.messages = [] }
      return shared.messages
    }
  }

  /// Stops starting requests; running ones finish.
  func beginDraining() { notifyLoop { $0.isClosing = true } }

  /// Stops starting requests, and cancels running ones.
  func abort() { notifyLoop { ($0.isClosing, $0.isAborting) = (true, true) } }

  /// Ends the loop once all requests are delivered, because no more can be submitted.
  func release() { notifyLoop { $0.isReleased = true } }

  private func notifyLoop(_ change: (inout Shared) -> Void) {
    shared.withLock { change(&$0) }
    signal.signal()
  }

  /// Waits until the loop has ended.
  func closed() async { await changed.wait { shared.withLock { $0.isOver } } }

  /// Waits until nothing is pending, or the loop has ended, or the task is cancelled.
  func waitUntilIdle() async {
    await changed.wait { shared.withLock { $0.isOver || $0.status.pending == 0 && $0.messages.isEmpty } }
  }

  func publish(_ change: (inout Outbox.Status) -> Void) {
    let isNew = shared.withLock { shared in
      let old = shared.status
      change(&shared.status)
      return old != shared.status
    }
    guard isNew else { return }
    changed.signal()
    client.workDidChange()
  }

  /// Ends the outbox and notifies all waiters.
  func end() {
    let messages = shared.withLock { shared in
      defer { shared.messages = [] }
      shared.isOver = true
      shared.status.isSender = false
      shared.status.sending = 0
      return shared.messages
    }
    for message in messages { refuse(message) }
    events.finish()
    client.detach(self)
    changed.signal()
  }

  func refuse(_ message: Message) {
    let error = HTTPError(.clientClosed, "the outbox is closed")
    switch message {
    case .submit(_, let done): done.resolve(.failure(error))
    case .change(_, let done): done.resolve(.failure(error))
    case .list(let done): done.resolve(.failure(error))
    case .ended, .network, .hurry: break
    }
  }

  // MARK: Sending

  func deliver(_ request: HTTPRequest) async -> OutboxVerdict {
    // A redirect must not turn the request into a GET, whose success would not confirm the delivery.
    var redirects = client.configuration.redirects
    redirects.keepsMethod = true
    let defaults = RequestOptions.timeout(nil).redirects(redirects)
    let options = options.request.over(defaults).accepts(.any).retry(.off).cache(.off).coalesces(false)
    let head = Locked<(status: HTTPStatus, headers: HTTPHeaders, method: HTTPMethod)?>(nil)
    var failure: any Error = CancellationError()
    do {
      try await client.stream(request, options: options) { [timeline] response in
        // The head decides, even if the call ends with an error while the body is read.
        head.withLock { $0 = (response.status, response.headers, response.request.method) }
        // Reading the body keeps the connection reusable; a slow body is not worth the wait.
        try? await race([
          { try await Self.skip(response.body, upTo: 64 << 10) }, { try await timeline.watch(.seconds(10)) },
        ])
      }
    } catch {
      if client.isClosed { beginDraining() }
      failure = error
    }
    guard let head = head.withLock({ $0 }) else { return OutboxVerdict(failure) }
    guard head.method == request.method || !head.status.isSuccess else {
      return .later(.redirected(head.method), isCounted: true, asked: nil)
    }
    return OutboxVerdict(head.status, head.headers, self.options, now: now)
  }

  private static func skip(_ body: ResponseBody, upTo limit: Int) async throws {
    var rest = limit
    for try await chunk in body {
      rest -= chunk.count
      if rest < 0 { return }
    }
  }
}
