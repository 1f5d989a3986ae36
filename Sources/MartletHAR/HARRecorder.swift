import Dispatch
public import Martlet
public import MartletBase

/// Records the requests of clients in a HAR file (HTTP Archive 1.2), which browsers and many other tools can read.
///
/// ```swift
/// let recorder = try HARRecorder(to: file)
/// let client = HTTPClient { $0.instruments = [recorder] }
/// ```
///
/// The file has an entry for each exchange that is over: the requests of a redirect chain and the attempts of a retry
/// are entries of their own. A request that needed no exchange has an entry too, because a stored response was used, or
/// because it failed before. Each entry has the phases as timings, and the client's decisions, as sentences in
/// `_explanation` and as codes in `_codes`.
///
/// Secrets are masked before anything is written, like in logs. Bodies that are text are recorded up to
/// ``maximumBodyBytes``; other bodies are recorded if they are images, fonts, audio or video, in which nothing can be
/// masked but nothing is usually secret. Bodies of requests are recorded if they are in memory. The file belongs to its
/// owner alone (mode 0600).
///
/// Every state of the file is complete: if the process is killed, it contains all entries until at most 0.1 seconds
/// before. (Some file systems, such as FAT, cannot exchange the names of files; there, a kill can cut the last entry.)
/// While a recorder writes, it keeps a copy beside the file, with `.part` added to its name. A file of that
/// name that remains after a kill can be deleted.
///
/// Several clients may share a recorder. A second recorder of the process for the same file is refused until the first
/// one is closed or released. Recorders of several processes must not share a file.
public final class HARRecorder: Instrument {
  private struct State {
    var drafts: HAREntryBuilder
    var writer: HARWriter?
    /// The entries that are not written yet.
    var waiting: [UInt8] = []
    var isTimed = false
    var entryCount = 0
    var droppedCount = 0
    var problem: HTTPError?

    mutating func add(_ entries: [HAREntry]) {
      guard writer != nil else { return }
      HAREntry.append(entries, to: &waiting)
      entryCount += entries.count
    }

    mutating func write() {
      guard !waiting.isEmpty else { return }
      defer { waiting.removeAll(keepingCapacity: true) }
      guard writer != nil else { return }
      do throws(HTTPError) {
        try writer?.add(waiting)
      } catch {
        problem = error
        writer?.close()
        writer = nil
      }
    }
  }

  /// The number of bytes that are gathered before they are written.
  private static let batch = 256 << 10

  /// The file.
  public let file: URL
  /// The maximum number of bytes to record of each body.
  public let maximumBodyBytes: Int
  private let delay: DispatchTimeInterval
  private let state: Locked<State>

  /// Creates a recorder, and replaces the file with one that has no entries.
  ///
  /// - Parameters:
  ///   - file: The file. A file that exists is replaced.
  ///   - maximumBodyBytes: The maximum number of bytes to record of each body; 64 KiB by default, at most 16 MiB.
  ///   - redaction: What to mask; by default what the client masks in logs.
  /// - Throws: `HTTPError.Kind.fileFailed` if the file cannot be written, or if another recorder of the process writes
  ///   it.
  public convenience init(to file: URL, maximumBodyBytes: Int = 64 << 10, redaction: Redaction? = nil) throws {
    try self.init(to: file, maximumBodyBytes: maximumBodyBytes, redaction: redaction, delay: .milliseconds(100))
  }

  /// Creates a recorder that writes an entry at most a given time after the end of its exchange.
  init(to file: URL, maximumBodyBytes: Int, redaction: Redaction?, delay: DispatchTimeInterval) throws {
    guard file.isFileURL else { throw HARFileErrors.needsFileURL(file) }
    self.file = file
    self.maximumBodyBytes = min(max(0, maximumBodyBytes), 16 << 20)
    self.delay = delay
    let drafts = HAREntryBuilder(redaction: redaction, maximumBodyBytes: self.maximumBodyBytes)
    state = Locked(State(drafts: drafts, writer: try HARWriter(at: file.path(percentEncoded: false))))
    HARRecorder.finishAtExit(self)
  }

  deinit { close() }

  /// Ends the recording: writes all entries, also those of exchanges that are not over, and removes the copy of the
  /// file.
  ///
  /// Happens by itself when the recorder is released, and when the program ends; events of the last 5 ms may then be
  /// missing, unless the client was drained. Later requests are not recorded.
  public func close() {
    flush()
    state.withLock { state in
      state.add(state.drafts.takeEntries(isClosing: true))
      state.write()
      state.writer?.close()
      state.writer = nil
    }
  }

  /// Closes all recorders of the program.
  ///
  /// Happens by itself when the program ends by `exit` or by returning from `main`. Call it before `_exit`, or before a
  /// signal ends the program.
  public static func closeAll() { recorders.withLock { $0 }.forEach { $0.recorder?.close() } }

  /// The number of entries so far, including those that are not written yet.
  public var entryCount: Int { state.withLock { $0.entryCount } }

  /// The number of events that were lost, because requests were faster than the recorder could write.
  ///
  /// Entries are missing or incomplete then. Up to 10,000 events may wait.
  public var droppedEventCount: Int { state.withLock { $0.droppedCount + $0.drafts.lostCount } }

  /// Why the file could not be written, or `nil`; nothing is recorded after that.
  public var problem: HTTPError? { state.withLock { $0.problem } }

  public func observe(_ event: InstrumentEvent) {
    let isFirst = state.withLock { state in
      guard state.writer != nil else { return false }
      state.droppedCount += event.droppedCount
      state.add(state.drafts.take(event))
      if state.waiting.count >= Self.batch || state.drafts.isEmpty { state.write() }
      // An exchange that is over waits for decisions, such as a retry, but not for long.
      var isWaiting = !state.waiting.isEmpty
      if case .exchangeEnded = event.kind { isWaiting = true }
      guard isWaiting, !state.isTimed else { return false }
      state.isTimed = true
      return true
    }
    guard isFirst else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in self?.flush() }
  }

  /// Writes the entries of all exchanges that are over.
  ///
  /// Not needed after `HTTPClient.drain(timeout:)`, which waits until all requests are over and recorded.
  public func flush() {
    state.withLock { state in
      state.isTimed = false
      state.add(state.drafts.takeEntries())
      state.write()
    }
  }

  // MARK: The end of the program

  private struct Weak { weak var recorder: HARRecorder? }

  private static let recorders = Locked<[Weak]>([])
  private static let registration = atexit { HARRecorder.closeAll() }

  /// Recorders of a program are often global, and then released by nobody.
  private static func finishAtExit(_ recorder: HARRecorder) {
    _ = registration
    recorders.withLock { recorders in
      recorders.removeAll { $0.recorder == nil }
      recorders.append(Weak(recorder: recorder))
    }
  }
}
