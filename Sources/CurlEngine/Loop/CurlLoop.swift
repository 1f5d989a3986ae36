import MartletBase
import CMartletShim

/// What the engine's thread does: waits for sockets, time and operations, and lets libcurl work.
///
/// Everything in it, and of libcurl, is touched under the lock of its ``CurlMailbox`` alone: by the thread, which has it
/// whenever it does not wait, and by a caller that finds the thread asleep with nothing in flight.
final class CurlLoop {
  private static let maximumFree = 256
  private static let longestSleep: Int64 = 5_000_000
  /// How long what comes fast may wait for more, in microseconds.
  private static let flushPatience: Int64 = 500

  private let mailbox: CurlMailbox
  let poll: CInt
  /// Released after all handles, of which it is a part.
  let tls: CurlTLS
  private(set) var multi: UnsafeMutableRawPointer?
  private(set) var handles: [UnsafeMutableRawPointer: CurlHandle] = [:]
  private var free: [CurlHandle] = []
  /// By socket; an array would grow with all descriptors of the process.
  var watches: [CInt: CurlWatch] = [:]
  private var deadline: Int64?
  /// The transfers that have a handle, and those whose last bytes wait for the reader.
  private var running = 0
  private var lingering: [ObjectIdentifier: CurlTransfer] = [:]
  /// The transfers that are not started yet, because their streams have shown nothing.
  private var held: [ObjectIdentifier: CurlTransfer] = [:]
  var uploads = RunningUploads()
  /// Those of which libcurl may read no more though it still sends.
  var mayBeAnswered: [CurlTransfer] = []
  /// What servers have said with GOAWAY, by the connection's name.
  var goaways = RecentTable<UInt64, GoAway>(limit: 64)
  /// Those of whose connections libcurl may have read more than it has handed over.
  var mayHoldMore: [CurlTransfer] = []
  /// The origins whose waiting requests are to look for a connection.
  var joinable: Set<Origin> = []
  private var heads: [CurlTransfer] = []
  private var bodies: [CurlTransfer] = []
  /// The transfers whose readers are to get what has come when a piece is full, and when at the latest.
  private var unflushed: [CurlTransfer] = []
  private var flushTime: Int64?
  /// The transfers that wait for the limit of bandwidth, and when to look after them.
  var throttled: [CurlTransfer] = []
  var throttleTime: Int64?
  private var marks: ReceiveMarks
  var resting = RestingConnections()
  var exclusive = ExclusiveConnections()
  var multiplexed = MultiplexedConnections<CurlHandle>()
  /// The transfers that libcurl has ended in this turn.
  var ended: [(handle: CurlHandle, code: CInt)] = []
  /// Those whose requests libcurl before 7.80 has sent once more by itself.
  var unwanted: [CurlTransfer] = []
  /// How many transfers have had a connection that no address names.
  var unnamedCount: UInt64 = 0
  private var isClosing = false
  private var isClosingIdle = false
  /// Since when there is nothing in flight.
  private var idleSince: Int64?
  /// How many transfers have a body whose coding has to be watched.
  var metered = 0
  /// Until when the thread waits, if nothing happens.
  private var sleepsUntil: Int64?
  private var answer: AwaitedAnswer
  private var lookups: AbandonedLookups

  /// What is set on each handle.
  var connections: CurlConnectionSettings { mailbox.settings }

  init?(_ mailbox: CurlMailbox, _ poll: CInt) {
    self.mailbox = mailbox
    self.poll = poll
    (answer, marks) = (AwaitedAnswer(mailbox.settings.answerPace), mailbox.settings.receiveMarks)
    lookups = AbandonedLookups(poll: poll)
    // Nothing is sent by a loop that could not be secured.
    guard let tls = CurlTLS(mailbox.settings.tls) else { return nil }
    self.tls = tls
    multi = CurlCallbacks.makeMulti(Unmanaged.passUnretained(self).toOpaque(), mailbox.settings)
    guard multi != nil else { return nil }
  }

  /// Does what there is to do; returns how long to wait for the next event in milliseconds, `nil` if there is none.
  func turn(_ events: ArraySlice<martlet_event>) -> CInt? {
    guard let multi else { return nil }
    mailbox.awoke()
    // It is here itself now.
    endAwaiting()
    for event in events where event.socket != mailbox.wake { act(on: event, multi) }
    endTurn(multi)
    while performWaiting(multi) {}
    if hasEnded() { return nil }
    // Not longer than any usual limit: else each request that its caller sends would have to wake the thread for its limit.
    let now = martlet_microseconds()
    let end = min(nextTime ?? .max, now + Self.longestSleep)
    sleepsUntil = end
    return CInt(clamping: (max(0, end - now) + 999) / 1000)
  }

  /// What a caller that has lent its thread is to do.
  enum Drive {
    case done
    /// The loop's own thread has to be woken: there is more to do, others are in flight, or it would sleep too long.
    case threadIsNeeded
    /// Wait for the socket, and call ``receive(_:on:_:)``.
    case answerIsNear(CInt)
  }

  /// Does what was posted, on the thread of a caller, while the loop's own thread sleeps on.
  func drive(for transfer: CurlTransfer) -> Drive {
    guard let multi, running == 0 else { return .threadIsNeeded }
    endAwaiting()
    answer.begin(transfer)
    // It may be over already, or never begin.
    defer { if transfer.handle == nil { answer.forget(transfer) } }
    // Bounded, because the caller has something else to do.
    for _ in 0..<4 where !performWaiting(multi) {
      if isClosing || isClosingIdle { return .threadIsNeeded }
      let now = martlet_microseconds()
      answer.wasSent(transfer, at: now)
      return nextStep(at: now)
    }
    return .threadIsNeeded
  }

  /// Takes what came for the transfer and the socket of ``drive(for:)``, on the thread of its caller, and says what is
  /// to be done now; `events` is 0 if the time for waiting is over.
  func receive(_ transfer: CurlTransfer, on socket: CInt, _ events: CInt) -> Drive {
    // The thread may have woken, for whatever reason, and then has it.
    guard let multi, answer.transfer === transfer, answer.socket == socket else { return .done }
    if events == 0 {
      answer.wasInVain()
      endAwaiting()
    } else {
      act(on: martlet_event(socket: socket, events: events), multi)
      endTurn(multi)
    }
    return nextStep(at: martlet_microseconds())
  }

  private func nextStep(at now: Int64) -> Drive {
    noteIdleness(at: now)
    if running == 1, let transfer = answer.transfer, transfer.handle != nil, !transfer.isLarge,
      let socket = answer.socket
    {
      return .answerIsNear(socket)
    }
    endAwaiting()
    // The thread would sleep too long.
    if let nextTime, nextTime < sleepsUntil ?? .max { return .threadIsNeeded }
    return .done
  }

  /// Gives the loop's own thread the socket that a caller has waited for.
  private func endAwaiting() {
    guard let socket = answer.takeSocket(), let known = watches[socket] else { return }
    if known.wanted != known.registered { watch(socket, known.wanted, for: known.easy) }
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
    handles = [:]
    if let multi { martlet_multi_free(multi) }
    multi = nil
    lookups.endAll()
  }

  /// What libcurl has to do by now, and then what its callers are to hear: once for all that came in this turn.
  private func endTurn(_ multi: UnsafeMutableRawPointer) {
    if let throttleTime { serveThrottled(from: throttleTime) }
    if marks.time != nil { lookAtMarks(multi) }
    if let time = uploads.time { lookAtUploads(from: time) }
    if !lookups.isEmpty { lookups.endOverdue() }
    // Bounded, for the sake of the sockets.
    for _ in 0..<8 {
      guard let deadline, deadline <= martlet_microseconds() else { break }
      self.deadline = nil
      _ = martlet_multi_act(multi, -1, 0)
    }
    if !mayHoldMore.isEmpty { readOn(multi) }
    if !joinable.isEmpty { joinWaiting(multi) }
    takeEnded(multi)
    for transfer in bodies { transfer.endTurn() }
    bodies.removeAll(keepingCapacity: true)
    if let flushTime, flushTime <= martlet_microseconds() { flushAll() }
    guard !heads.isEmpty else { return }
    for transfer in heads { transfer.deliverHead() }
    heads.removeAll(keepingCapacity: true)
  }

  /// Takes the transfers that have ended, those first that libcurl has ended.
  func takeEnded(_ multi: UnsafeMutableRawPointer, asks: Bool = true) {
    findEnded(multi)
    for (handle, code) in ended {
      guard let transfer = handle.transfer else { continue }
      if transfer.isMisplaced, transfer.life.sends.count == 0, code == 42 {  // ABORTED_BY_CALLBACK
        recycle(handle, multi)
        start(transfer, multi)
        continue
      }
      end(handle, handle.result(code), multi, isClean: code == 0)
    }
    ended.removeAll(keepingCapacity: true)
    endAnswered(multi, asks: asks)
    multiplexed.endTurn()
  }

  // MARK: Rest

  private var isIdle: Bool { running == 0 && lingering.isEmpty && held.isEmpty && (isClosing || lookups.isEmpty) }

  private func noteIdleness(at now: Int64) {
    mailbox.isIdle = running == 0
    idleSince = isIdle ? idleSince ?? now : nil
  }

  /// Whether there is nothing to wait for, and nobody counts on this loop any more.
  private func hasEnded() -> Bool {
    let now = martlet_microseconds()
    noteIdleness(at: now)
    guard let idleSince else {
      if isClosingIdle { closeIdle() }
      return false
    }
    let isOver = isClosing || isClosingIdle || now - idleSince >= connections.idleLifetime
    return isOver && mailbox.end()
  }

  /// Ends the connections that no transfer uses: libcurl then finds them dead before it would use them.
  private func closeIdle() {
    // The connection of a paused transfer looks like an idle one.
    guard !handles.values.contains(where: { $0.transfer?.life.isPaused == true }) else { return }
    isClosingIdle = false
    for (socket, watch) in watches where watch.isConnection && watch.wanted == 0 {
      ignore(socket)
      martlet_shutdown(socket)
    }
  }

  // MARK: Operations

  private func perform(_ operation: CurlMailbox.Operation, _ multi: UnsafeMutableRawPointer) {
    switch operation {
    case .start(let transfer): start(transfer, multi)
    case .cancel(let transfer):
      forget(transfer)
      if let handle = transfer.handle { recycle(handle, multi) }
      transfer.release()
    case .drained(let transfer):
      if transfer.drained() { goOn(with: transfer) }
      if !transfer.life.isLingering { lingering[ObjectIdentifier(transfer)] = nil }
    case .fed(let transfer):
      if transfer.fed() { goOn(with: transfer) }
      if transfer.life.isHeld { start(transfer, multi) }
    case .closeIdle: isClosingIdle = true
    case .close: isClosing = true
    }
  }

  private func forget(_ transfer: CurlTransfer) {
    if !lingering.isEmpty { lingering[ObjectIdentifier(transfer)] = nil }
    if !held.isEmpty { held[ObjectIdentifier(transfer)] = nil }
  }

  /// Ends a transfer, whether or not libcurl has.
  func end(
    _ handle: CurlHandle, _ result: CurlTransfer.Result, _ multi: UnsafeMutableRawPointer, isClean: Bool = false
  ) {
    guard let transfer = handle.transfer else { return }
    recycle(handle, multi, isClean: isClean)
    if transfer.completed(result) { lingering[ObjectIdentifier(transfer)] = transfer }
    transfer.release()
  }

  private func start(_ transfer: CurlTransfer, _ multi: UnsafeMutableRawPointer) {
    guard !transfer.isEnded else { return transfer.release() }
    guard transfer.isReady() else { return held[ObjectIdentifier(transfer)] = transfer }
    if !held.isEmpty { held[ObjectIdentifier(transfer)] = nil }
    if !CurlLibrary.tellsBeforeSending { for socket in resting.takeSpoiled() { giveUp(socket) } }
    // A proxy's answer to CONNECT cannot be guarded, so there a used handle will not do.
    let needsNew = CurlLibrary.needsGuard && transfer.route?.proxy != nil
    while true {
      let isNew = needsNew || free.isEmpty
      guard let handle = (isNew ? nil : free.popLast()) ?? newHandle() else {
        exclusive.giveBack(transfer)
        return transfer.refuse()
      }
      if transfer.job.hasBody || CurlLibrary.readsWhilePaused {
        // The ends of connections that the handle has used before are not this transfer's.
        for (socket, watch) in watches where watch.easy == handle.easy { watches[socket]?.easy = nil }
      }
      var code = handle.set(transfer, connectionKey: connectionKey(for: transfer))
      if code == 0 { code = martlet_multi_add(multi, handle.easy) == 0 ? 0 : 2 }  // FAILED_INIT
      if code == 0 {
        transfer.handle = handle
        if transfer.job.hasBody { uploads.add(transfer, at: martlet_microseconds()) }
        running += 1
        idleSince = nil
        return
      }
      // A used handle may have kept a buffer, and libcurl sets up no handle with a buffer anew. What fails with a new
      // one fails for good.
      handle.transfer = nil
      handles.removeValue(forKey: handle.easy)
      guard isNew else { continue }
      exclusive.giveBack(transfer)
      _ = transfer.completed(CurlTransfer.Result(code: code, text: handle.error, isReused: false))
      return transfer.release()
    }
  }

  private func newHandle() -> CurlHandle? {
    let handle = CurlHandle(self)
    if let handle { handles[handle.easy] = handle }
    return handle
  }

  /// Takes a handle off its transfer; a connection in the middle of one is closed by that.
  ///
  /// What libcurl leaves in a handle whose transfer failed or was given up is not ours to know: it is used no more.
  private func recycle(_ handle: CurlHandle, _ multi: UnsafeMutableRawPointer, isClean: Bool = false) {
    handle.leaveConnection(.surely)
    if handle.waitsForSharing, let transfer = handle.transfer, transfer.life.sends.count == 0 {
      joinable.insert(transfer.job.origin)
    }
    // Before another transfer gets the connection.
    if let transfer = handle.transfer {
      marks.forget(transfer)
      exclusive.giveBack(transfer)
      if transfer.job.hasBody { uploads.remove(transfer) }
      let isReusable = isClean && transfer.life.isAlone
      let spoiled = handle.connectionName.flatMap {
        resting.end(
          $0, of: transfer, socket: isReusable ? handle.keptSocket : nil, tls: handle.tls, within: handle.proxyTLS)
      }
      if let spoiled { giveUp(spoiled) }
      if handle.closesKeptConnection, let name = handle.connectionName, !multiplexed.isUsed(name) {
        // libcurl keeps the connection of a cancelled transfer only when that is removed.
        if let socket = handle.keptSocket { giveUp(socket) } else { handle.closeConnection() }
      }
    }
    _ = martlet_multi_remove(multi, handle.easy)
    if !lookups.isEmpty, let transfer = handle.transfer { lookups.ends(transfer, slot: transfer.slot) }
    if let transfer = handle.transfer, transfer.throttle != nil || transfer.isListed { endThrottling(transfer) }
    // To libcurl before 8.7 the next chunked body would be trailers, too.
    let isClean = isClean && handle.transfer?.upload?.trailers == nil
    if handle.transfer?.overhead != nil { metered -= 1 }
    answer.forget(handle.transfer)
    handle.release()
    running -= 1
    if isClean && free.count < Self.maximumFree { return free.append(handle) }
    handles.removeValue(forKey: handle.easy)
  }

  /// Ends a connection that libcurl takes for an idle one; it sees the end before it uses it again.
  func giveUp(_ socket: CInt) {
    ignore(socket)
    martlet_replace_with_end(socket)
  }

  /// Takes a socket out of the system's set, as long as nothing puts it in.
  func ignore(_ socket: CInt) {
    martlet_poll_forget(poll, socket)
    watches[socket]?.registered = 0
  }

  /// The head of the transfer has come; it is handed over at the end of the turn, perhaps with the whole body.
  func hasHead(_ transfer: CurlTransfer) {
    heads.append(transfer)
    answer.hasHead(transfer, at: martlet_microseconds())
  }

  /// Bytes of the body have come, the first ones in this turn.
  func hasBytes(_ transfer: CurlTransfer) { bodies.append(transfer) }

  /// Lets the bytes of a transfer that come fast wait for more of them.
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

  private func lookAtMarks(_ multi: UnsafeMutableRawPointer) {
    for socket in marks.look(at: martlet_microseconds()) where (watches[socket]?.wanted ?? 0) & 1 != 0 {
      act(on: martlet_event(socket: socket, events: 1), multi)
    }
  }

  // MARK: Sockets and time

  private var nextTime: Int64? {
    if !mayHoldMore.isEmpty || !joinable.isEmpty { return 0 }
    var end = idleSince.map { $0 + connections.idleLifetime }
    if let deadline { end = min(end ?? deadline, deadline) }
    if let throttleTime { end = min(end ?? throttleTime, throttleTime) }
    if let flushTime { end = min(end ?? flushTime, flushTime) }
    if let time = marks.time { end = min(end ?? time, time) }
    if let time = uploads.time { end = min(end ?? time, time) }
    if let time = lookups.time { end = min(end ?? time, time) }
    return end
  }

  func act(on event: martlet_event, _ multi: UnsafeMutableRawPointer) {
    guard let watch = watches[event.socket] else { return lookups.act(on: event.socket) }
    guard watch.wanted != 0 else {
      if let isSpoiled = resting.check(event.socket) { return isSpoiled ? giveUp(event.socket) : () }
      return ignore(event.socket)
    }
    if CurlLibrary.readsWhilePaused, event.events & 4 == 0, isPaused(watch) { return actUnread(event, watch, multi) }
    // libcurl would write whatever the event says, also where it waits before it sends.
    var events = event.events & (watch.wanted | 5)
    if watch.wanted == 3, events & 1 != 0 {
      // A response is read first: to send fails, and with it the transfer, where the server has closed.
      _ = martlet_multi_act(multi, event.socket, 1)
      takeEnded(multi)
      events &= events & 4 == 0 ? (watches[event.socket]?.wanted ?? 0) & 2 : 0
    }
    if events != 0 { _ = martlet_multi_act(multi, event.socket, events) }
    // It may be another one's by now.
    if metered > 0 { watches[event.socket]?.easy.flatMap { handles[$0]?.transfer }?.checkOverhead(event.socket) }
  }

  func setTimer(_ milliseconds: Int) {
    deadline = milliseconds < 0 ? nil : martlet_microseconds() + Int64(min(milliseconds, 1 << 31)) * 1000
  }

  func watch(_ socket: CInt, _ what: CInt, for easy: UnsafeMutableRawPointer?) {
    guard socket >= 0 else { return }
    // CURL_POLL_IN and CURL_POLL_OUT are bits; CURL_POLL_REMOVE is none of them.
    var known = watches[socket, default: CurlWatch()]
    if !known.isConnection {
      // The only other sockets are those by which libcurl's threads tell it of addresses.
      if what & 3 != 0 { martlet_keep_from_children(socket) }
      if what & 3 == 0, let transfer = known.easy.flatMap({ handles[$0]?.transfer }) {
        lookups.closes(socket, of: transfer)
      }
    }
    // Also after a write: what libcurl wrote of a stream that was reset before has told it nothing.
    if !uploads.isEmpty, known.wanted & ~what & 3 != 0, let transfer = easy.flatMap({ handles[$0]?.transfer }) {
      if transfer.job.hasBody { mayBeAnswered.append(transfer) }
      known.easy = easy
    }
    known.wanted = what & 3
    if known.wanted != 0 { known.easy = easy }
    register(&known, socket)
    watches[socket] = known.isConnection || known.wanted != 0 ? known : nil
  }

  /// Has the system's set watch a socket as it is wanted.
  private func register(_ watch: inout CurlWatch, _ socket: CInt) {
    if watch.wanted == 1 && watch.isConnection && answer.takes(socket, of: watch.easy) {
      if watch.registered != 0 { martlet_poll_forget(poll, socket) }
      watch.registered = 0
    }
    if watch.wanted == watch.registered || socket == answer.socket { return }
    if watch.wanted == 0 {
      // Left in the set while it is idle, which saves two system calls for each request.
      if watch.isConnection && watch.registered == 1 { return }
      // What comes while it is idle has to be heard of.
      let staysIn = watch.isConnection && martlet_poll_watch(poll, socket, 1, false)
      if !staysIn { martlet_poll_forget(poll, socket) }
      watch.registered = staysIn ? 1 : 0
    } else {
      let isWatched = martlet_poll_watch(poll, socket, watch.wanted, watch.registered == 0)
      watch.registered = isWatched ? watch.wanted : 0
    }
  }

  /// The system forgets a closed socket by itself.
  func closed(_ socket: CInt) {
    watches[socket] = nil
    marks.closed(socket)
    resting.closed(socket)
    // The next one may have its number.
    if socket == answer.socket { _ = answer.takeSocket() }
  }
}
