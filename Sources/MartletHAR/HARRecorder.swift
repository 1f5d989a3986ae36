import Dispatch
public import Martlet
public import MartletBase

/// Records requests in a HAR file (HTTP Archive 1.2).
///
/// Browsers and many other tools can read the file.
///
/// ```swift
/// let recorder = try HARRecorder(to: file)
/// let client = HTTPClient { $0.instruments = [recorder] }
/// ```
///
/// The file contains an entry for each finished exchange: each request of a redirect chain and each attempt of a retry
/// is a separate entry. A request without an exchange also has an entry, because a stored response was used, or because
/// the request failed before. Each entry contains the phases as timings, and the client's decisions, as sentences in
/// `_explanation` and as codes in `_codes`.
///
/// Secrets are masked before anything is written, as in logs. Text bodies are recorded up to ``maximumBodyBytes``.
/// Other bodies are recorded if they are images, fonts, audio or video, which cannot be masked but are usually not
/// secret. Request bodies are recorded if they are in memory. Only the owner can read the file (mode 0600).
///
/// The entry of a WebSocket contains its messages (``HAREntry/webSocketMessages``), each up to ``maximumBodyBytes``, and in
/// total up to 10,000 messages and 16 MiB. They are masked like bodies. They stay in memory until the WebSocket ends.
///
/// Every state of the file is complete: if the process is killed, the file contains all entries up to at most 0.1
/// seconds before. (Some file systems, such as FAT, cannot swap the names of files; there, a kill can truncate the last
/// entry.) While a recorder writes, it keeps a copy beside the file, with `.part` added to its name. If a file of that
/// name remains after a kill, you can delete it.
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

  /// The number of bytes that are collected before they are written.
  private static let batch = 256 << 10

  /// The file.
  public let file: URL
  /// The maximum number of bytes to record of each body and message.
  public let maximumBodyBytes: Int
  private let delay: DispatchTimeInterval
  private let state: Locked<State>

  /// Creates a recorder, and replaces the file with an empty archive.
  ///
  /// - Parameters:
  ///   - file: The file. A file that exists is replaced.
  ///   - maximumBodyBytes: The maximum number of bytes to record of each body; 64 KiB by default, at most 16 MiB.
  ///   - redaction: The secrets to mask; by default those that the client masks in logs.
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

  /// Ends the recording: writes all entries, including those of unfinished exchanges, and removes the file's copy.
  ///
  /// A recorder is also closed when it is released, and when the program ends; events of the last 5 ms may then be
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
  /// This also happens when the program ends by `exit` or by returning from `main`. Call it before `_exit`, or before a
  /// signal ends the program.
  public static func closeAll() { recorders.withLock { $0 }.forEach { $0.recorder?.close() } }

  /// The number of entries so far, including unwritten ones.
  public var entryCount: Int { state.withLock { $0.entryCount } }

  /// The number of events that were lost.
  ///
  /// Events are lost when requests are faster than the recorder can write. Entries are missing or incomplete then. Up
  /// to 10,000 events may wait.
  public var droppedEventCount: Int { state.withLock { $0.droppedCount + $0.drafts.lostCount } }

  /// The reason why the file could not be written, or `nil`; nothing is recorded after that.
  public var problem: HTTPError? { state.withLock { $0.problem } }

  public func observe(_ event: InstrumentEvent) {
    let isFirst = state.withLock { state in
      guard state.writer != nil else { return false }
      state.droppedCount += event.droppedCount
      state.add(state.drafts.take(event))
      if state.waiting.count >= Self.batch || state.drafts.isEmpty { state.write() }
      // A finished exchange waits for decisions, such as a retry, but only for a short time.
      var isWaiting = !state.waiting.isEmpty
      if case .exchangeEnded = event.kind { isWaiting = true }
      guard isWaiting, !state.isTimed else { return false }
      state.isTimed = true
      return true
    }
    guard isFirst else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in self?.flush() }
  }

  /// Writes the entries of all finished exchanges.
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

  /// Registers a recorder to be closed when the program ends, because global recorders are never released.
  private static func finishAtExit(_ recorder: HARRecorder) {
    _ = registration
    recorders.withLock { recorders in
      recorders.removeAll { $0.recorder == nil }
      recorders.append(Weak(recorder: recorder))
    }
  }
}
