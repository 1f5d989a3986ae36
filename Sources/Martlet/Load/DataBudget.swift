public import MartletBase

/// A limit on the bytes that a client transfers in a period.
///
/// ```swift
/// let client = HTTPClient { $0.dataBudget = .perDay(50 << 20) }
/// ```
///
/// Bodies count as they are transferred, in their content coding, and header sections in the form of HTTP/1.1; TLS and
/// the compression of HTTP/2 header sections do not count. Retries, redirects and hedges count, cached responses do
/// not. A request is sent only if the remaining budget is not zero and covers the length of its body, if known. A
/// response that exceeds the remaining budget is still received.
///
/// The budget belongs to the configuration: clients ``HTTPClient/derived(_:)`` from a client and all copies of its
/// configuration share it, until it is set again.
public struct DataBudget: Sendable, Hashable {
  /// The requests that are counted together.
  @nonexhaustive public enum Scope: Sendable, Hashable {
    /// All requests.
    case client
    /// The requests with the same ``RequestOptions/tag``; requests without a tag are counted together.
    case tag
  }

  /// The treatment of requests after the budget is used up.
  @nonexhaustive public enum Exhaustion: Sendable, Hashable {
    /// The request fails with ``HTTPError/Kind/dataBudgetExceeded``.
    case fails
    /// The request waits for the next period, within its own time limits.
    case waits
  }

  /// The number of bytes; `nil` without a budget.
  let bytes: Int64?
  let period: Duration

  /// The requests that are counted together; all of them by default.
  public var scope = Scope.client

  /// The treatment of requests after the budget is used up; they fail by default.
  public var whenExhausted = Exhaustion.fails

  /// The file that keeps the count across processes; `nil` by default.
  ///
  /// Only the owner can read the file, and several processes can share it. It is written a second after a transfer, or
  /// earlier after a large one; if the process is killed, the count of that second is lost. If the file cannot be read
  /// or written, requests fail with ``HTTPError/Kind/fileFailed``.
  public var file: URL?

  /// Whether to use networks that the system considers expensive; `true` by default.
  ///
  /// An example is a cellular network. On Apple platforms, this is the request's `allowsExpensiveNetworkAccess`; Linux
  /// has no such networks.
  public var allowsExpensiveNetworks = true

  /// Whether to use networks in Low Data Mode; `true` by default.
  ///
  /// On Apple platforms, this is the request's `allowsConstrainedNetworkAccess`; Linux has no such networks.
  public var allowsConstrainedNetworks = true

  /// No budget.
  public static let off = DataBudget(bytes: nil, period: .zero)

  /// A number of bytes per day, from midnight UTC.
  ///
  /// - Parameter bytes: The number, at least 1.
  /// - Returns: The budget.
  public static func perDay(_ bytes: Int64) -> DataBudget { limit(bytes, per: .seconds(86_400)) }

  /// A number of bytes per hour, from the first minute.
  ///
  /// - Parameter bytes: The number, at least 1.
  /// - Returns: The budget.
  public static func perHour(_ bytes: Int64) -> DataBudget { limit(bytes, per: .seconds(3_600)) }

  /// A number of bytes per period.
  ///
  /// Periods are counted from midnight UTC on 1 January 1970.
  ///
  /// - Parameters:
  ///   - bytes: The number, at least 1.
  ///   - period: The period, in whole seconds, from a second to 366 days.
  /// - Returns: The budget.
  public static func limit(_ bytes: Int64, per period: Duration) -> DataBudget {
    DataBudget(bytes: bytes, period: period)
  }

  var problem: InvalidInput? {
    guard let bytes else { return nil }
    guard bytes >= 1 else { return InvalidInput("the data budget is \(bytes) bytes; it must be at least 1") }
    guard period >= .seconds(1), period <= .seconds(366 * 86_400), period.clampedComponents.attoseconds == 0 else {
      return InvalidInput("the data budget's period is \(period); it must be in whole seconds, from 1 to 366 days")
    }
    if let file, !file.isFileURL { return InvalidInput("the data budget's file needs a file URL") }
    return nil
  }

  /// The number of the period of a date, and the remaining time of the period.
  func period(at date: Date) -> (number: Int64, rest: Duration) {
    let length = Double(max(period.clampedComponents.seconds, 1))
    let time = min(max(date.timeIntervalSince1970, 0), 1e12)
    let number = (time / length).rounded(.down)
    return (Int64(number), .seconds((number + 1) * length - time))
  }
}

/// The bytes of a period, by tag.
struct DataUse: Codable, Equatable {
  /// The number of tags above which further tags count as one.
  private static let maximumTags = 1_000

  private(set) var period: Int64 = 0
  private(set) var used: [String: Int64] = [:]

  /// Begins the period of a date.
  ///
  /// If the clock was set back by more than a period, the count is kept. It must neither last until the clock has
  /// caught up, nor be lost.
  mutating func enter(_ number: Int64) {
    guard number > period || number < period - 1 else { return }
    if number > period { used = [:] }
    period = number
  }

  mutating func add(_ bytes: Int64, _ tag: String) {
    let tag = used[tag] != nil || used.count < Self.maximumTags ? tag : ""
    let (sum, overflow) = (used[tag] ?? 0).addingReportingOverflow(max(bytes, 0))
    used[tag] = overflow ? .max : sum
  }

  func used(_ tag: String) -> Int64 {
    let tag = used[tag] != nil || used.count < Self.maximumTags ? tag : ""
    return max(used[tag] ?? 0, 0)
  }
}

/// The count of a ``DataBudget``, which all copies of a configuration share.
final class DataLedger: Sendable {
  private struct State: ~Copyable {
    var use = DataUse()
    /// The counts that the file does not contain yet.
    var unsaved: [String: Int64] = [:]
    var isLoaded = false
    /// The start of the next write; `nil` if none is planned.
    var planned: Duration?
    /// The reason why the last save failed.
    var problem: HTTPError?
  }

  /// The limits after which the file is written: a delay on the client's clock, and a number of bytes.
  private static let lag = Duration.seconds(1)
  private static let lagBytes: Int64 = 256 << 10

  let budget: DataBudget
  /// The path of the file: JSON, replaced atomically under a lock.
  private let path: String?
  /// Takes and writes the unsaved counts, one call at a time.
  private let saves = SaveQueue(label: "Martlet.DataLedger")
  private let state = Locked(State())

  init(_ budget: DataBudget) {
    self.budget = budget
    path = budget.file?.path(percentEncoded: false)
  }

  func key(_ tag: String?) -> String { budget.scope == .tag ? tag ?? "" : "" }

  /// The remaining bytes for a tag, and the time until the next period; reads the file first.
  func rest(_ tag: String?, now: Date) async throws -> (bytes: Int64, until: Duration) {
    if let path, !state.withLock({ $0.isLoaded }) {
      let stored = try await onFileQueue { () throws(HTTPError) in try Self.read(path) }
      state.withLock { state in
        if let stored, !state.isLoaded { state.use = stored }
        state.isLoaded = true
      }
    }
    let (number, rest) = budget.period(at: now)
    let key = key(tag)
    if path != nil, state.withLock({ $0.problem }) != nil { try await save(now: now) }
    return state.withLock { state in
      state.use.enter(number)
      return (max((budget.bytes ?? .max) - state.use.used(key), 0), rest)
    }
  }

  /// Counts bytes; the file is written later.
  func add(_ bytes: Int, _ tag: String?, now: @escaping @Sendable () -> Date, _ timeline: Timeline) {
    guard bytes > 0 else { return }
    let number = budget.period(at: now()).number
    let key = key(tag)
    let pause: Duration? = state.withLock { state in
      state.use.enter(number)
      state.use.add(Int64(bytes), key)
      guard path != nil else { return nil }
      state.unsaved[key, default: 0] += Int64(bytes)
      let pause = (state.unsaved[key] ?? 0) >= Self.lagBytes ? .zero : Self.lag
      guard state.planned.map({ pause < $0 }) ?? true else { return nil }
      state.planned = pause
      return pause
    }
    guard let pause else { return }
    Task {
      if pause > .zero { try? await timeline.watch(pause) }
      // Use the date of the write, because the process may have been suspended.
      try? await save(now: now())
    }
  }

  /// Adds the unsaved bytes to the file, which other processes may have changed.
  ///
  /// When this returns, the file contains everything that was counted before the call.
  func save(now: Date) async throws {
    guard let path else { return }
    let number = budget.period(at: now).number
    // Taking and writing are one step; otherwise a call could return while another call still writes its counts.
    try await saves.save(isAsked: true) { [self] () throws(HTTPError) in try write(to: path, number) }
  }

  private func write(to path: String, _ number: Int64) throws(HTTPError) {
    let unsaved = state.withLock { state in
      defer { (state.unsaved, state.planned) = ([:], nil) }
      return state.unsaved
    }
    guard !unsaved.isEmpty else { return }
    do throws(HTTPError) {
      let lock = try FileLock(path + ".lock")
      defer { lock.release() }
      var use = try Self.read(path) ?? DataUse()
      use.enter(number)
      for (tag, bytes) in unsaved { use.add(bytes, tag) }
      try PrivateFile.replace(path, withJSON: use, isPretty: false, isSynced: false)
      state.withLock { state in
        // The file does not contain the bytes that were counted in the meantime.
        for (tag, bytes) in state.unsaved { use.add(bytes, tag) }
        (state.use, state.problem) = (use, nil)
      }
    } catch {
      state.withLock { state in
        state.unsaved.merge(unsaved) { $0.addingReportingOverflow($1).partialValue }
        state.problem = error
      }
      throw error
    }
  }

  /// The bytes of the current period, by tag.
  func used(now: Date) -> [String: Int64] {
    let number = budget.period(at: now).number
    return state.withLock { state in
      state.use.enter(number)
      return state.use.used
    }
  }

  static func read(_ path: String) throws(HTTPError) -> DataUse? {
    guard let data = try PrivateFile.read(path, limit: 1 << 20) else { return nil }
    guard let use = try? JSONDecoder().decode(DataUse.self, from: data), use.period >= 0 else {
      throw HTTPError(.fileFailed, "\(DiskCalls.shown(path)) is not the file of a data budget")
    }
    return use
  }
}
