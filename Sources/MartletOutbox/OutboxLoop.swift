import Martlet
import MartletBase

/// The loop of an outbox, with its state.
///
/// ```
///            ┌──────────────────────────────── 1 s, or something has happened ◀──┐
///   open ─▶ standing by ── the lease is free ─▶ sending ───────────────────────────┤
///            └───────────── closed, or released and empty ─▶ over ◀────────────────┘
/// ```
actor OutboxLoop {
  private let core: OutboxCore
  private let journal: OutboxJournal
  private let options: Outbox.Options
  private let timeline: Timeline
  private var table: OutboxTable
  /// The system's lock of the sending process; released when the process ends, however it ends.
  private var lease: OpenFile?
  /// Outcomes that are not written yet: even with a full disk nothing is sent twice.
  private var unwritten: [OutboxChange] = []
  /// `nil` until the first report.
  private var network: ConnectivityState?
  /// The time after which a missing report counts as unknown.
  private let networkDeadline: Duration
  private var delivered = 0
  private var damaged = 0

  /// The interval between checks of the folder: another process may have submitted a request, or ended.
  private static let watchPause = Duration.seconds(1)
  /// The interval between searches for abandoned bodies.
  private static let sweepPause = Duration.seconds(600)
  private var sweptAt: Duration?
  /// The length of the journal when it was rewritten, or when rewriting failed.
  private var compactedLength: Int64 = 0

  init(_ core: OutboxCore) {
    self.core = core
    journal = core.journal
    options = core.options
    timeline = core.timeline
    table = OutboxTable(core.options.limits)
    networkDeadline = timeline.now() + (core.options.connectivity == nil ? .zero : Self.watchPause)
  }

  // MARK: The rounds

  /// Reads the requests that were submitted earlier.
  func open() async throws {
    take(try await onFileQueue { [journal] () throws(HTTPError) in try journal.catchUp() })
    try await seekLease()
    publish()
  }

  func run() async {
    // Requests are tasks of the group, so none outlives the loop.
    await withDiscardingTaskGroup { group in
      if let connectivity = options.connectivity {
        group.addTask { [core] in for await state in connectivity.states { core.post(.network(state)) } }
      }
      while true {
        let version = core.signal.version
        let messages = core.takeMessages()
        await take(messages)
        await checkFolder()
        if isOver { break }
        if core.isAborting { group.cancelAll() }
        start(&group, await read(maySend ? table.start(now: timeline.now()) : []))
        await compact()
        publish()
        // A task may wait for exactly these messages.
        if !messages.isEmpty { core.changed.signal() }
        await pause(version)
      }
      group.cancelAll()
    }
    // This also records the outcomes of the last requests.
    await take(core.takeMessages())
    lease = nil
    core.end()
  }

  private var isOver: Bool {
    guard table.sending.isEmpty, unwritten.isEmpty || core.isClosing else { return false }
    return core.isClosing || core.isReleased && (table.pending == 0 || lease == nil)
  }

  private var maySend: Bool { lease != nil && !core.isClosing && unwritten.isEmpty && mayBeConnected }

  private var mayBeConnected: Bool { network.map { $0 != .disconnected } ?? (timeline.now() >= networkDeadline) }

  /// Waits for an event, for the next retry of a host, or for the next check of the folder.
  private func pause(_ version: Int) async {
    let now = timeline.now()
    let next = maySend ? table.nextTurn(after: now).map { $0 - now } : nil
    var ends: [@Sendable () async throws -> Void] = [
      { [core] in await core.signal.wait(after: version) }, { [timeline] in try await timeline.watch(Self.watchPause) },
    ]
    if let next { ends.append { [timeline] in try await timeline.pause(next) } }
    try? await race(ends)
  }

  /// Reads what others have added, and becomes the sender if there is none.
  private func checkFolder() async {
    do {
      take(try await onFileQueue { [journal] () throws(HTTPError) in try journal.catchUp() })
      if !core.isClosing { try await seekLease() }
    } catch {
      core.events.yield(.problem(error))
    }
  }

  private func seekLease() async throws {
    if lease == nil {
      let free = await onFileQueue { [journal] in journal.lease() }
      guard let free else { return }
      // The previous sender may have sent requests since the last check.
      take(try await onFileQueue { [journal] () throws(HTTPError) in try journal.catchUp() })
      lease = free
    }
    if sweptAt.map({ timeline.now() - $0 > Self.sweepPause }) ?? true { try await removeAbandoned() }
  }

  /// Removes the bodies of a process that was killed before the journal mentioned them.
  private func removeAbandoned() async throws {
    let known = Set(table.entries.keys)
    let found = await onFileQueue { [journal] in OutboxBody.abandoned(in: journal.folder, except: known) }
    guard !found.isEmpty else { return sweptAt = timeline.now() }
    // A process that locked one until a moment ago has recorded it before releasing it.
    take(try await onFileQueue { [journal] () throws(HTTPError) in try journal.catchUp() })
    for (id, body) in found where table.entries[id] == nil { body.discard() }
  }

  private func publish() {
    core.publish {
      $0.pending = table.pending
      $0.sending = table.sending.count
      $0.delivered = delivered
      $0.dead = table.dead
      $0.bytes = table.bytes
      $0.isSender = lease != nil
      $0.damaged = damaged
    }
  }

  // MARK: State

  private func take(_ news: OutboxJournal.JournalChanges) {
    if news.isAnew {
      table.forget()
      // The length belonged to another file.
      compactedLength = 0
    }
    damaged += news.damaged
    for change in news.changes { table.apply(change) }
  }

  /// Writes lines, and applies their changes.
  private func write(_ lines: [OutboxLine], isSynced: Bool) async throws {
    take(try await onFileQueue { [journal] () throws(HTTPError) in try journal.append(lines, isSynced: isSynced) })
  }

  // MARK: Messages

  private func take(_ messages: [OutboxCore.Message]) async {
    var submissions: [(line: OutboxLine, done: Promise<Void>)] = []
    var bytes = table.bytes
    for message in messages {
      switch message {
      case .submit(let line, let done):
        let length = line.storedBytes
        if core.isClosing {
          core.refuse(message)
        } else if bytes + length > options.maximumBytes {
          let problem = "the outbox has \(bytes) bytes, and \(length) more would exceed \(options.maximumBytes)"
          done.resolve(.failure(HTTPError(.queueFailed, problem)))
        } else {
          bytes += length
          submissions.append((line, done))
        }
      case .change(let change, let done): await perform(change, done)
      case .list(let done): done.resolve(.success(await deadLetters()))
      case .ended(let entry, let verdict): record(entry, verdict)
      case .network(let state):
        network = state
        if state == .connected { table.forgetPauses() }
      case .hurry: table.forgetPauses()
      }
    }
    await writeUnwritten()
    await write(submissions)
  }

  private func write(_ submissions: [(line: OutboxLine, done: Promise<Void>)]) async {
    guard !submissions.isEmpty else { return }
    do {
      try await write(submissions.map(\.line), isSynced: true)
      publish()
      for (line, done) in submissions {
        if let id = line.change?.id { core.events.yield(.submitted(id)) }
        done.resolve(.success(()))
      }
    } catch {
      for (_, done) in submissions { done.resolve(.failure(error)) }
    }
  }

  /// Writes the outcomes of requests; body files are removed when the outcomes are synced.
  private func writeUnwritten() async {
    guard !unwritten.isEmpty else { return }
    let files = unwritten.compactMap(goneFile)
    do {
      try await write(unwritten.map { change throws(HTTPError) in try OutboxLine(change) }, isSynced: !files.isEmpty)
      unwritten = []
      await onFileQueue { [folder = journal.folder] in for id in files { OutboxBody.remove(id, in: folder) } }
    } catch {
      core.events.yield(.problem(error))
    }
  }

  /// The request whose body file a change makes useless.
  private func goneFile(_ change: OutboxChange) -> UUID? {
    if case .gone(let id) = change, table.entries[id]?.bodyLength != nil { id } else { nil }
  }

  private func perform(_ change: OutboxChange, _ done: Promise<Bool>) async {
    let entry = change.id.flatMap { table.entries[$0] }
    let isPossible =
      if case .gone(let id) = change { entry != nil && !table.sending.contains(id) } else { entry?.death != nil }
    guard isPossible else { return _ = done.resolve(.success(false)) }
    let file = goneFile(change)
    do {
      try await write([OutboxLine(change)], isSynced: true)
      if let file { await onFileQueue { [folder = journal.folder] in OutboxBody.remove(file, in: folder) } }
      publish()
      done.resolve(.success(true))
    } catch {
      done.resolve(.failure(error))
    }
  }

  private func deadLetters() async -> [Outbox.DeadLetter] {
    let dead = table.entries.values.filter { $0.death != nil }.sorted { $0.submittedAt < $1.submittedAt }
    return await onFileQueue { [journal] in
      dead.compactMap { entry in
        guard let death = entry.death, let contents = try? journal.contents(of: entry) else { return nil }
        return Outbox.DeadLetter(
          id: entry.id, request: contents.request(entry, in: journal.folder), key: entry.key, failure: death.failure,
          attempts: Int(entry.attempts), submittedAt: entry.submittedAt, failedAt: death.date)
      }
    }
  }

  // MARK: Delivering

  private func read(_ entries: [OutboxEntry]) async -> [(OutboxEntry, Result<HTTPRequest, OutboxVerdict>)] {
    guard !entries.isEmpty else { return [] }
    return await onFileQueue { [journal] in
      entries.map { entry in (entry, Result { () throws(OutboxVerdict) in try Self.read(entry, journal) }) }
    }
  }

  /// The request to send; throws the verdict on one that cannot be read.
  private static func read(_ entry: OutboxEntry, _ journal: OutboxJournal) throws(OutboxVerdict) -> HTTPRequest {
    let contents: OutboxContents?
    do {
      contents = try journal.contents(of: entry)
    } catch {
      throw .later(.unreadable("the journal cannot be read"), isCounted: false, asked: nil)
    }
    guard let contents else { throw .dead(.unreadable("it can no longer be read")) }
    switch entry.bodyLength.map({ OutboxBody.isWhole(entry.id, in: journal.folder, length: $0) }) {
    case nil, true??: return contents.request(entry, in: journal.folder)
    case false??: throw .dead(.unreadable("its body file is missing or was replaced"))
    case .some(nil): throw .later(.unreadable("its body file cannot be read"), isCounted: false, asked: nil)
    }
  }

  private func start(
    _ group: inout DiscardingTaskGroup, _ entries: [(OutboxEntry, Result<HTTPRequest, OutboxVerdict>)]
  ) {
    for (entry, reading) in entries {
      switch reading {
      case _ where isTooOld(entry): core.post(.ended(entry, .dead(.expired)))
      case .success(let request):
        group.addTask { [core] in core.post(.ended(entry, await core.deliver(request))) }
      case .failure(let verdict): core.post(.ended(entry, verdict))
      }
    }
  }

  private func record(_ entry: OutboxEntry, _ verdict: OutboxVerdict) {
    let now = timeline.now()
    var isFirst = true
    switch verdict {
    case .delivered(let status):
      table.hasAnswered(entry.host, now: now)
      // It may have been removed in the meantime, or another program has changed the folder.
      if table.entries[entry.id] != nil { unwritten.append(.gone(entry.id)) }
      delivered += 1
      core.events.yield(.delivered(entry.id, status))
    case .dead(let failure): moveToDeadLetters(entry.id, failure)
    case .refused(let status):
      table.hasAnswered(entry.host, now: now)
      unwritten.append(.attempted(entry.id, UInt32(clamping: attempts(after: entry))))
      moveToDeadLetters(entry.id, .status(status))
    case .later(let failure, let isCounted, let asked):
      isFirst = !isCounted
      later(entry, failure, isCounted, asked, now)
    case .stopped:
      // A caller has cancelled the delivery, and may do so again: it is retried after a delay.
      if !core.isClosing { later(entry, .cancelled, false, nil, now) }
    }
    // Nothing is sent before the journal, and with it the table, contains the outcome.
    table.stop(entry, isFirst: isFirst)
  }

  private func later(
    _ entry: OutboxEntry, _ failure: Outbox.Failure, _ isCounted: Bool, _ asked: Duration?, _ now: Duration
  ) {
    let attempts = attempts(after: entry)
    let pause = table.hasFailed(
      entry.host, now: now, asked: asked, options, random: core.client.configuration.random())
    if isCounted { unwritten.append(.attempted(entry.id, UInt32(clamping: attempts))) }
    if isTooOld(entry) || isCounted && attempts >= options.maximumAttempts {
      moveToDeadLetters(entry.id, failure)
    } else {
      core.events.yield(.failed(entry.id, failure, delay: pause))
    }
  }

  /// The number of counted attempts, with the one that has just ended.
  private func attempts(after entry: OutboxEntry) -> Int {
    Int(table.entries[entry.id]?.attempts ?? entry.attempts) + 1
  }

  private func isTooOld(_ entry: OutboxEntry) -> Bool {
    let age = core.now.timeIntervalSince(entry.revivedAt ?? entry.submittedAt)
    return age > options.maximumAge.inSeconds
  }

  private func moveToDeadLetters(_ id: UUID, _ failure: Outbox.Failure) {
    unwritten.append(.deadLettered(id, OutboxEntry.DeadLetterInfo(date: core.now, failure: failure)))
    core.events.yield(.deadLettered(id, failure))
  }

  // MARK: The journal

  /// Removes lines that are no longer needed.
  private func compact() async {
    let length = journal.length
    guard lease != nil, length > compactedLength + options.compactBytes, length > 2 * table.lineBytes else { return }
    let entries = table.entries.values.sorted { $0.turn < $1.turn }
    do {
      let spans = try await onFileQueue { [journal] () throws(HTTPError) in try journal.compact(entries) }
      guard let spans else { return }
      damaged += entries.count - spans.count
      table.move(spans)
      compactedLength = journal.length
    } catch {
      // Not again immediately: the result would be the same.
      compactedLength = length
      core.events.yield(.problem(error))
    }
  }
}
