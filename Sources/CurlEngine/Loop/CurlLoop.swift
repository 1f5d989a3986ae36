import MartletBase
import CMartletShim

/// The work of the engine's thread: waits for events, and lets libcurl work.
///
/// Its state and libcurl are used only under the lock of its ``CurlMailbox``. The thread holds the lock whenever it
/// does not wait. A caller takes the lock if the thread sleeps with nothing in flight, and again to receive for the
/// transfer that it waits for.
final class CurlLoop {
  private static let maximumFree = 256
  private static let longestSleep: Int64 = 5_000_000
  /// The longest time that fast bytes may wait for more, in microseconds.
  private static let flushPatience: Int64 = 500

  private let mailbox: CurlMailbox
  let poll: CInt
  /// Released after all handles, which use it.
  let tls: CurlTLS
  private(set) var multi: UnsafeMutableRawPointer?
  private(set) var handles: [UnsafeMutableRawPointer: CurlHandle] = [:]
  private var free: [CurlHandle] = []
  /// By socket; an array would grow with all descriptors of the process.
  var watches: [CInt: CurlWatch] = [:]
  private var deadline: Int64?
  /// The transfers without a handle.
  ///
  /// They are not started yet, because a stream that must be empty has shown neither bytes nor its end. Or libcurl has
  /// ended them, and their last bytes wait for the reader.
  private var waiting: [ObjectIdentifier: CurlTransfer] = [:]
  var uploads = RunningUploads()
  /// The number of transfers that ask for another protocol, or have changed to it.
  var upgradeCount = 0
  /// The upgraded transfers whose side of the connection is to be closed once all bytes are sent.
  var halfClosing: [CurlTransfer] = []
  var vainWrites = VainWrites()
  /// Transfers whose response may be complete although libcurl is still sending.
  var mayBeAnswered: [CurlTransfer] = []
  var goaways = RecentTable<UInt64, UInt32>(limit: 64)
  /// The HTTP/2 connections whose frames libcurl can no longer read; since 8.14 it would reuse them.
  var broken = RecentTable<UInt64, Void>(limit: 64)
  /// Transfers for which libcurl may have read more than it has delivered.
  var mayHoldMore: [CurlTransfer] = []
  /// The origins whose waiting requests are to look for a connection.
  var joinable: Set<Origin> = []
  private var heads: [CurlTransfer] = []
  private var bodies: [CurlTransfer] = []
  /// The transfers with gathered bytes for their readers, and when to deliver them at the latest.
  private var unflushed: [CurlTransfer] = []
  private var flushTime: Int64?
  /// The transfers that wait for bandwidth, and when to check them.
  var throttled: [CurlTransfer] = []
  var throttleTime: Int64?
  var marks: ReceiveLowWaterMarks
  var resting = IdleConnections()
  var exclusive: ExclusiveConnections
  var aged = AgedConnections()
  /// The origins that open sockets were made for.
  var origins: [CInt: Origin] = [:]
  var multiplexed = MultiplexedConnections<CurlHandle>()
  var ended: [(handle: CurlHandle, code: CInt)] = []
  /// Transfers whose requests libcurl before 7.80 has repeated automatically.
  var unwanted: [CurlTransfer] = []
  /// The number of transfers whose connection has no addresses.
  var unnamedCount: UInt64 = 0
  private var isClosing = false
  var isClosingIdle = false
  /// When to make libcurl close the sockets that were shut down.
  var sweepTime: Int64?
  /// The time since which nothing is in flight, waited for, or held.
  private var idleSince: Int64?
  /// The number of transfers whose chunked coding is checked for overhead.
  var metered = 0
  /// The time until which the thread waits without an event.
  private var sleepsUntil: Int64?
  var answer: InlineWait
  var lookups: AbandonedLookups
  var addresses = AddressRaces()
  var scouts: [UnsafeMutableRawPointer: AddressScout] = [:]
  /// The handles for which libcurl has to try the next address.
  var unproceeded: [UnsafeMutableRawPointer] = []

  var connections: CurlConnectionSettings { mailbox.settings }

  init?(_ mailbox: CurlMailbox, _ poll: CInt) {
    self.mailbox = mailbox
    self.poll = poll
    isClosing = mailbox.isClosed
    (answer, marks) = (InlineWait(mailbox.settings.answerPace), mailbox.settings.receiveMarks)
    lookups = AbandonedLookups(poll: poll)
    exclusive = ExclusiveConnections(hasMaximumAge: mailbox.settings.maximumAge != nil)
    // A loop that could not be secured sends nothing.
    guard let tls = CurlTLS(mailbox.settings.tls) else { return nil }
    self.tls = tls
    multi = CurlCallbacks.makeMulti(Unmanaged.passUnretained(self).toOpaque(), mailbox.settings)
    guard multi != nil else { return nil }
  }

  /// Does all pending work; returns how long to wait for events in milliseconds.
  ///
  /// Returns `nil` if the loop has ended.
  func turn(_ events: ArraySlice<martlet_event>) -> CInt? {
    guard let multi else { return nil }
    mailbox.awoke()
    // The thread is awake, so it waits for the socket itself.
    endAwaiting()
    for event in events where event.socket != mailbox.wake { act(on: event, multi) }
    endTurn(multi)
    while performWaiting(multi) {}
    if hasEnded() { return nil }
    // No longer than any usual time limit: otherwise each request that its caller sends would have to wake the thread.
    let now = martlet_microseconds()
    mailbox.counts.update { countConnections() }
    let end = min(nextTime ?? .max, now + Self.longestSleep)
    sleepsUntil = end
    return CInt(clamping: (max(0, end - now) + 999) / 1000)
  }

  enum InlineDriveResult {
    case done
    /// Wake the loop's thread: more work or transfers are pending, or it would sleep too long.
    case threadIsNeeded
    /// Wait for the socket, and call ``receive(_:on:_:)``.
    case answerIsNear(CInt)
  }

  /// Performs operations on a caller's thread while the loop's own thread sleeps.
  func drive(for transfer: CurlTransfer) -> InlineDriveResult {
    guard let multi, running == 0 else { return .threadIsNeeded }
    endAwaiting()
    answer.begin(transfer)
    // The transfer may have ended already, or may never begin.
    defer { if transfer.handle == nil { answer.forget(transfer) } }
    // Bounded, because the caller has other work.
    for _ in 0..<4 where !performWaiting(multi) {
      if isClosing || isClosingIdle { return .threadIsNeeded }
      let now = martlet_microseconds()
      answer.wasSent(transfer, at: now)
      return nextStep(at: now)
    }
    return .threadIsNeeded
  }

  /// Receives for the transfer and socket of ``drive(for:)`` on the caller's thread.
  ///
  /// `events` is 0 if the time for waiting is over. Returns the next step.
  func receive(_ transfer: CurlTransfer, on socket: CInt, _ events: CInt) -> InlineDriveResult {
    // If the loop's thread has woken, it has taken the transfer over.
    guard let multi, answer.transfer === transfer, answer.socket == socket else { return .done }
    if events == 0 {
      answer.wasInVain()
      endAwaiting()
    } else {
      act(on: martlet_event(socket: socket, events: events), multi)
      endTurn(multi)
      // The caller looks at the bytes first.
      if transfer.job.isUpgrade { endAwaiting() }
    }
    return nextStep(at: martlet_microseconds())
  }

  /// Sends bytes of an upgraded connection on a caller's thread while the loop's own thread sleeps.
  ///
  /// Returns `nil` if libcurl waits for another reason than the bytes, or if there are several upgraded connections,
  /// because then one wake of the thread serves many writes. Everything that libcurl receives meanwhile is left to the
  /// thread.
  func writeInline(_ transfer: CurlTransfer) -> InlineDriveResult? {
    guard let multi, upgradeCount == 1, !transfer.isEnded, transfer.life.upgrade == .upgraded,
      !transfer.life.holdsUpload, write(transfer, isResumed: false, multi)
    else { return nil }
    findEnded(multi)
    let isComplete = ended.isEmpty && bodies.isEmpty && heads.isEmpty && mayBeAnswered.isEmpty && halfClosing.isEmpty
    guard isComplete, nextTime ?? .max >= sleepsUntil ?? .max else { return .threadIsNeeded }
    return .done
  }

  private func nextStep(at now: Int64) -> InlineDriveResult {
    recordIdleness(at: now)
    if running == 1, let transfer = answer.transfer, transfer.handle != nil, !transfer.isLarge,
      let socket = answer.socket
    {
      return .answerIsNear(socket)
    }
    endAwaiting()
    if isIdle, isClosing || isClosingIdle { return .threadIsNeeded }
    // The thread would sleep too long.
    if let nextTime, nextTime < sleepsUntil ?? .max { return .threadIsNeeded }
    return .done
  }

  func endAwaiting() {
    guard let socket = answer.takeSocket(), let known = watches[socket] else { return }
    if known.wanted != known.registered { register(socket) }
  }

  private func performWaiting(_ multi: UnsafeMutableRawPointer) -> Bool {
    let operations = mailbox.takeOrSleep()
    if operations.isEmpty { return false }
    for operation in operations { perform(operation, multi) }
    endTurn(multi)
    return true
  }

  func close() {
    // Freed before the multi handle, whose connections call back once more.
    free = []
    (handles, scouts) = ([:], [:])
    if let multi { martlet_multi_free(multi) }
    multi = nil
    lookups.endAll()
  }

  /// Performs libcurl's due work, then reports everything that arrived in this turn to the callers.
  private func endTurn(_ multi: UnsafeMutableRawPointer) {
    if let throttleTime { serveThrottled(from: throttleTime) }
    if marks.time != nil { lookAtMarks(multi) }
    if let time = uploads.time { checkUploads(from: time) }
    if let time = vainWrites.time { resumeWrites(from: time) }
    if !lookups.isEmpty { lookups.endOverdue() }
    if let sweepTime { sweep(from: sweepTime, multi) }
    // Bounded, so the sockets are served.
    for _ in 0..<8 {
      guard let deadline, deadline <= martlet_microseconds() else { break }
      self.deadline = nil
      _ = martlet_multi_act(multi, -1, 0)
    }
    if !addresses.isIdle || !unproceeded.isEmpty { lookAtAddresses(multi) }
    if !halfClosing.isEmpty { halfClose() }
    if !mayHoldMore.isEmpty { readOn(multi) }
    takeEnded(multi)
    // Not before, because joining discards ends that libcurl has reported.
    if !joinable.isEmpty { joinWaiting(multi) }
    for transfer in bodies { transfer.endTurn() }
    bodies.removeAll(keepingCapacity: true)
    if let flushTime, flushTime <= martlet_microseconds() { flushAll() }
    guard !heads.isEmpty else { return }
    for transfer in heads { transfer.deliverHead() }
    heads.removeAll(keepingCapacity: true)
  }

  /// Takes ended transfers, first those that libcurl has ended.
  func takeEnded(_ multi: UnsafeMutableRawPointer, asks: Bool = true) {
    findEnded(multi)
    for (handle, code) in ended {
      guard let transfer = handle.transfer else { continue }
      let wasOutdated = exchange(&transfer.isOutdated, with: false)
      // ABORTED_BY_CALLBACK
      if transfer.isMisplaced || wasOutdated, transfer.life.sends.count == 0, code == 42 {
        recycle(handle, multi)
        start(transfer, multi)
        continue
      }
      end(handle, handle.result(code), multi, isClean: code == 0)
    }
    ended.removeAll(keepingCapacity: true)
    endAnswered(multi, asks: asks)
  }

  // MARK: Rest

  /// The number of transfers with a handle.
  private var running: Int { handles.count - free.count }

  private var isIdle: Bool { running == 0 && waiting.isEmpty && (isClosing || lookups.isEmpty) }

  private func recordIdleness(at now: Int64) {
    mailbox.isIdle = running == 0
    idleSince = isIdle ? idleSince ?? now : nil
  }

  /// Ends the loop if it is idle and no longer needed; returns whether it has ended.
  private func hasEnded() -> Bool {
    let now = martlet_microseconds()
    recordIdleness(at: now)
    guard let idleSince else {
      if isClosingIdle { closeIdle() }
      return false
    }
    let isOver = isClosing || isClosingIdle || now - idleSince >= connections.idleLifetime
    return isOver && mailbox.end()
  }

  // MARK: Operations

  private func perform(_ operation: CurlMailbox.Operation, _ multi: UnsafeMutableRawPointer) {
    switch operation {
    case .start(let transfer): start(transfer, multi)
    case .cancel(let transfer):
      forget(transfer)
      if let handle = transfer.handle { resetStream(of: handle, multi) }
      if let handle = transfer.handle { recycle(handle, multi) }
      transfer.release()
    case .drained(let transfer):
      if transfer.drained() { resume(with: transfer) }
      if !transfer.life.isLingering { forget(transfer) }
    case .fed(let transfer):
      let isResumed = transfer.fed()
      if isResumed { resume(with: transfer) }
      if transfer.life.upgrade == .upgraded { _ = write(transfer, isResumed: isResumed, multi) }
      if transfer.life.isHeld { start(transfer, multi) }
    case .closeIdle: isClosingIdle = true
    case .close: (isClosing, isClosingIdle) = (true, true)
    }
  }

  private func forget(_ transfer: CurlTransfer) {
    if !waiting.isEmpty { waiting[ObjectIdentifier(transfer)] = nil }
  }

  /// Ends a transfer, whether or not libcurl has ended it.
  func end(_ handle: CurlHandle, _ ending: TransferCompletion, _ multi: UnsafeMutableRawPointer, isClean: Bool = false)
  {
    guard let transfer = handle.transfer else { return }
    recycle(handle, multi, isClean: isClean)
    if transfer.completed(ending) { waiting[ObjectIdentifier(transfer)] = transfer }
    transfer.release()
  }

  private func start(_ transfer: CurlTransfer, _ multi: UnsafeMutableRawPointer) {
    guard !transfer.isEnded else { return transfer.release() }
    guard transfer.isReady() else { return waiting[ObjectIdentifier(transfer)] = transfer }
    forget(transfer)
    if !CurlLibrary.tellsBeforeSending { for socket in resting.takeSpoiled() { abandon(socket) } }
    // A proxy's response to CONNECT cannot be guarded, so a used handle is not safe there.
    let needsNew = CurlLibrary.needsGuard && transfer.route?.proxy != nil
    while true {
      let isNew = needsNew || free.isEmpty
      guard let handle = (isNew ? nil : free.popLast()) ?? newHandle() else {
        exclusive.release(transfer)
        return transfer.refuse()
      }
      if !transfer.job.isUpgrade, transfer.job.hasBody || CurlLibrary.readsWhilePaused {
        // The connections that the handle used before do not belong to this transfer; upgraded ones are closed.
        for (socket, watch) in watches where watch.easy == handle.easy { watches[socket]?.easy = nil }
      }
      var code = handle.set(transfer, connectionKey: connectionKey(for: transfer))
      if code == 0 { code = martlet_multi_add(multi, handle.easy) == 0 ? 0 : 2 }  // FAILED_INIT
      if code == 0 {
        transfer.handle = handle
        if transfer.job.isUpgrade {
          upgradeCount += 1
        } else if transfer.job.hasBody {
          uploads.add(transfer, at: martlet_microseconds())
        }
        idleSince = nil
        return
      }
      // A used handle may have kept a buffer, and libcurl does not set up such a handle again. A failure with a new
      // handle is final.
      handle.transfer = nil
      handles.removeValue(forKey: handle.easy)
      guard isNew else { continue }
      exclusive.release(transfer)
      _ = transfer.completed(TransferCompletion(code: code, text: handle.error, isReused: false))
      return transfer.release()
    }
  }

  private func newHandle() -> CurlHandle? {
    let handle = CurlHandle(self)
    if let handle { handles[handle.easy] = handle }
    return handle
  }

  /// Removes a handle from its transfer, which closes an HTTP/1 connection whose transfer is unfinished.
  ///
  /// A handle whose transfer failed or was cancelled is not reused, because the state that libcurl leaves in it is
  /// unknown.
  private func recycle(_ handle: CurlHandle, _ multi: UnsafeMutableRawPointer, isClean: Bool = false) {
    handle.leaveConnection(isDoubtful: false)
    if !addresses.isIdle { endRace(handle) }
    if !scouts.isEmpty { endScouts(of: handle, multi) }
    let transfer = handle.transfer
    // No other transfer will use the connection.
    if isClosing { isClosingIdle = true }
    // Before another transfer gets the connection.
    if let transfer {
      if handle.waitsForSharing, transfer.life.sends.count == 0 { joinable.insert(transfer.job.origin) }
      if transfer.job.isPreconnect { handle.keepConnection() }
      marks.forget(transfer)
      exclusive.release(transfer)
      if transfer.job.isUpgrade {
        upgradeCount -= 1
        halfClosing.removeAll { $0 === transfer }
      } else if transfer.job.hasBody {
        uploads.remove(transfer)
      }
      let isReusable = isClean && transfer.life.isAlone
      let spoiled = handle.resting.flatMap {
        resting.end(
          $0, of: transfer, socket: isReusable ? handle.keptSocket : nil, tls: handle.tls, within: handle.proxyTLS)
      }
      if let spoiled { abandon(spoiled) }
      closeUnusable(handle)
    }
    _ = martlet_multi_remove(multi, handle.easy)
    if let transfer {
      if !lookups.isEmpty { lookups.ends(transfer, slot: transfer.slot) }
      if transfer.throttle != nil || transfer.isListed { endThrottling(transfer) }
      if transfer.overhead != nil { metered -= 1 }
      answer.forget(transfer)
    }
    // libcurl before 8.7 would also treat the next chunked body as trailers.
    let isClean = isClean && transfer?.upload?.trailers == nil
    handle.release()
    if isClean && free.count < Self.maximumFree { return free.append(handle) }
    handles.removeValue(forKey: handle.easy)
  }

  /// Ends a connection that is idle to libcurl, which sees the end before reusing it.
  func abandon(_ socket: CInt) {
    ignore(socket)
    origins[socket] = nil
    martlet_replace_with_end(socket)
  }

  /// Removes a socket from the poll set until it is registered again.
  func ignore(_ socket: CInt) {
    martlet_poll_forget(poll, socket)
    watches[socket]?.registered = 0
  }

  /// Records a head, which is delivered at the end of the turn, perhaps with the whole body.
  func hasHead(_ transfer: CurlTransfer) {
    heads.append(transfer)
    answer.wasAnswered(transfer, at: martlet_microseconds())
  }

  func hasBytes(_ transfer: CurlTransfer) {
    bodies.append(transfer)
    if transfer.job.isUpgrade { answer.wasAnswered(transfer, at: martlet_microseconds()) }
  }

  /// Delays the fast bytes of a transfer, to wait for more.
  func flushLater(_ transfer: CurlTransfer) {
    let now = martlet_microseconds()
    if flushTime == nil { flushTime = now + Self.flushPatience }
    marks.hasTurn(of: transfer, transfer.life.received, rest: transfer.rest, at: now, on: socket(of: transfer))
    if !unflushed.contains(where: { $0 === transfer }) { unflushed.append(transfer) }
  }

  private func flushAll() {
    flushTime = nil
    for transfer in unflushed { transfer.flush() }
    unflushed.removeAll(keepingCapacity: true)
  }

  // MARK: Sockets and time

  private var nextTime: Int64? {
    if !mayHoldMore.isEmpty || !joinable.isEmpty || !unproceeded.isEmpty { return 0 }
    var end = idleSince.map { $0 + connections.idleLifetime }
    if let deadline { end = min(end ?? deadline, deadline) }
    if let throttleTime { end = min(end ?? throttleTime, throttleTime) }
    if let flushTime { end = min(end ?? flushTime, flushTime) }
    if let time = marks.time { end = min(end ?? time, time) }
    if let time = uploads.time { end = min(end ?? time, time) }
    if let time = vainWrites.time { end = min(end ?? time, time) }
    if let time = lookups.time { end = min(end ?? time, time) }
    if let sweepTime { end = min(end ?? sweepTime, sweepTime) }
    if !addresses.isIdle, let time = addresses.time { end = min(end ?? time, time) }
    return end
  }

  func act(on event: martlet_event, _ multi: UnsafeMutableRawPointer) {
    guard let watch = watches[event.socket] else {
      return raced(event.socket) ? () : lookups.act(on: event.socket)
    }
    guard watch.wanted != 0 else {
      if let isSpoiled = resting.check(event.socket) { return isSpoiled ? abandon(event.socket) : () }
      return ignore(event.socket)
    }
    if CurlLibrary.readsWhilePaused, event.events & 4 == 0, isPaused(watch) { return actUnread(event, watch, multi) }
    // libcurl would write whatever the event is, even while it waits before sending.
    var events = event.events & (watch.wanted | 5)
    if watch.wanted == 3, events & 1 != 0 || isReadable(event.socket) {
      // The response is read first: if the server has closed, sending fails, and with it the transfer.
      _ = martlet_multi_act(multi, event.socket, 1)
      takeEnded(multi)
      events &= events & 4 == 0 ? (watches[event.socket]?.wanted ?? 0) & 2 : 0
    }
    if events != 0 { _ = martlet_multi_act(multi, event.socket, events) }
    recordWrites(event)
    if upgradeCount > 0, event.events & 2 != 0 { register(event.socket) }
    // The socket may belong to another transfer by now.
    if metered > 0 { watches[event.socket]?.easy.flatMap { handles[$0]?.transfer }?.checkOverhead(event.socket) }
  }

  func setTimer(_ milliseconds: Int) {
    deadline = milliseconds < 0 ? nil : martlet_microseconds() + Int64(min(milliseconds, 1 << 31)) * 1000
  }
}
