import MartletBase

/// One download: the bytes that are still missing, and the part file for them.
///
/// It outlives attempts, redirects and connections. Each of them takes work from it and gives the work back when it
/// ends.
final class DownloadJob: Sendable {
  private struct State: ~Copyable {
    var reserved: [Range<Int64>] = []
    /// Whether a response of this run has confirmed that the existing bytes are valid.
    var isConfirmed = false
    var isComplete = false
    var isDescribed = false
    /// Whether the server has sent a part without a validator.
    var isWithoutValidator = false
    var restarts = 0
    var isSplit = false
    var resumedAt: Int64 = 0
    var head: StreamedResponse?
    /// Whether additional connections were refused, so one connection fetches the rest.
    var isAlone = false
  }

  enum Role: Sendable {
    /// The call itself.
    case first
    /// An additional connection.
    case helper
  }

  /// The response to an additional connection does not contain its range.
  struct RangeMissing: Error, CustomStringConvertible {
    /// Whether the response is of another version of the file.
    var isOfOtherVersion: Bool

    var description: String { "the response to an additional connection does not contain its range" }
  }

  /// A smaller part is not worth a request.
  private static let smallestPiece: Int64 = 4 << 20
  private static let largestPiece: Int64 = 64 << 20
  private static let mostRestarts = 3

  let part: PartFile
  let options: DownloadOptions
  let isResumable: Bool
  private let progress: DownloadProgress
  private let state: Locked<State>

  init(_ part: PartFile, _ options: DownloadOptions, isResumable: Bool, _ progress: DownloadProgress) {
    self.part = part
    self.options = options
    self.isResumable = isResumable
    self.progress = progress
    let there = part.record.written.count
    state = Locked(State(isDescribed: there > 0, resumedAt: there))
    progress.begin(at: there, of: part.record.length)
  }

  var isComplete: Bool { state.withLock { $0.isComplete } }

  /// Whether additional connections have work.
  var isSplit: Bool { state.withLock { $0.isSplit && !$0.isComplete } }

  /// The number of bytes reused from an earlier download.
  var resumedAt: Int64 { state.withLock { $0.resumedAt } }

  /// The last response, without its body.
  var head: StreamedResponse? { state.withLock { $0.head } }

  // MARK: Work

  /// Reserves the next work, or returns `nil` if there is none for this role.
  func take(_ role: Role) -> DownloadWork? {
    state.withLock { state in
      guard !state.isComplete else { return nil }
      // Read under the lock: the bytes of returned work are recorded before that.
      let record = part.record
      let isBegun = isResumable && record.validator != nil && state.isDescribed && !record.written.isEmpty
      guard isBegun, let validator = record.validator else {
        guard role == .first else { return nil }
        let mayAskForPart = isResumable && options.segments > 1 && state.restarts == 0 && !state.isWithoutValidator
        guard mayAskForPart else { return DownloadWork() }
        return reserve(DownloadWork(start: 0, end: Self.smallestPiece, isRange: true), &state)
      }
      guard let length = record.length else {
        guard role == .first else { return nil }
        return DownloadWork(start: record.written.prefix, isRange: true, validator: validator)
      }
      let missing = record.written.missing(in: 0..<length)
      if missing.isEmpty {
        // Requests the last byte again, to check whether the file is unchanged.
        guard !state.isConfirmed, role == .first, length > 0 else { return nil }
        return DownloadWork(start: length - 1, end: length, isRange: true, validator: validator)
      }
      let isParallel = options.segments > 1 && state.restarts == 0 && !state.isAlone
      if isParallel && state.isConfirmed { state.isSplit = true }
      // Once several connections have work, only they do it.
      guard !state.isSplit || role == .helper else { return nil }
      var taken = ByteSpans()
      for span in state.reserved { taken.insert(span) }
      guard let gap = missing.lazy.flatMap({ taken.missing(in: $0) }).first else { return nil }
      var work = DownloadWork(start: gap.lowerBound, end: gap.upperBound, isRange: true, validator: validator)
      if isParallel {
        let rest = missing.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) }
        let share = rest / Int64(options.segments * 4)
        let size = min(max(share, Self.smallestPiece), Self.largestPiece)
        work.end = min(gap.upperBound, gap.lowerBound + size)
      } else if gap.upperBound == length {
        // To the end of the file, wherever it is.
        work.end = nil
      }
      return reserve(work, &state)
    }
  }

  private func reserve(_ work: DownloadWork, _ state: inout State) -> DownloadWork {
    if let end = work.end { state.reserved.append(work.start..<end) }
    return work
  }

  /// Whether an additional connection has work.
  var hasWork: Bool {
    guard let work = take(.helper) else { return false }
    requeue(work)
    return true
  }

  /// Returns work that has ended, complete or not.
  func requeue(_ work: DownloadWork) {
    guard let end = work.end else { return }
    state.withLock { state in
      if let index = state.reserved.firstIndex(of: work.start..<end) { state.reserved.remove(at: index) }
    }
  }

  /// Fetches the rest over one connection, because the additional ones were refused.
  func continueAlone() {
    state.withLock { state in
      state.isAlone = true
      state.isSplit = false
    }
  }

  /// Starts again with one connection; existing bytes are dropped when other ones arrive.
  private func restart(_ reason: String) throws {
    part.change { $0.describe([:], length: nil, isResumable: false) }
    try state.withLock { state in
      state.reserved = []
      state.isSplit = false
      state.isConfirmed = false
      state.isDescribed = false
      state.isComplete = false
      state.restarts += 1
      guard state.restarts <= Self.mostRestarts else {
        throw HTTPError(.protocolViolation, "the parts of the file do not match: \(reason)", phase: .receiving)
      }
    }
  }

  // MARK: Bytes

  /// Processes a response for the file.
  ///
  /// Returns `false` for any other response, and does not read its body.
  func receive(
    _ response: StreamedResponse, from server: String?, for work: DownloadWork, _ role: Role
  ) async throws -> Bool {
    var verdict = DownloadRules.judge(
      response.status, response.headers, asked: work, record: part.record, hasChecksum: options.checksum != nil,
      server: server)
    // Foundation's own loader decodes every body.
    if case .part = verdict, response.wasCompressed { verdict = .restart("the range was decoded") }
    switch verdict {
    case .other: return false
    case .violation(let what): throw HTTPError(.protocolViolation, what, phase: .receiving)
    case .restart where role == .helper, .whole where role == .helper:
      // Only the call itself drops bytes: an additional connection may reach another server, or one without ranges.
      throw RangeMissing(
        isOfOtherVersion: DownloadRules.isOfOtherVersion(response.status, response.headers, record: part.record))
    case .restart(let reason): try restart(reason)
    case .complete(let size):
      part.change { $0.length = size }
      state.withLock { $0.isComplete = true }
      keep(response)
    case .whole(let length): try await receiveWhole(response, length, server)
    case .part(let range, let size): try await receivePart(response, range, size, work, server)
    }
    return true
  }

  private func receiveWhole(_ response: StreamedResponse, _ length: Int64?, _ server: String?) async throws {
    try checkSize(length ?? 0)
    try begin(response, length, server)
    try part.checkRoom(for: length ?? 0)
    // With a checksum the file has to be read anyway, so it is copied as well.
    if let file = response.bodyFile, let length, options.checksum == nil, part.record.digest == nil, part.adopt(file) {
      part.change { $0.length = length }
      return state.withLock { $0.isComplete = true }
    }
    let offset = try await write(response.body, at: 0)
    if let length, offset != length {
      throw HTTPError(.connectionLost, "the body ended after \(offset) of \(length) bytes", phase: .receiving)
    }
    part.change { $0.length = offset }
    state.withLock { $0.isComplete = true }
  }

  private func receivePart(
    _ response: StreamedResponse, _ range: Range<Int64>, _ size: Int64?, _ work: DownloadWork,
    _ server: String?
  ) async throws {
    try checkSize(size ?? range.upperBound)
    if work.validator == nil { try begin(response, size, server) } else { confirm(response, size) }
    try part.checkRoom(for: (part.record.length ?? range.upperBound) - part.record.written.count)
    let isWithoutValidator = part.record.validator == nil
    state.withLock {
      $0.isConfirmed = true
      $0.isWithoutValidator = isWithoutValidator
    }
    let offset = try await write(response.body, at: range.lowerBound, upTo: range.upperBound)
    guard offset == range.upperBound else {
      throw HTTPError(
        .connectionLost, "the part ended after \(offset - range.lowerBound) of \(range.count) bytes", phase: .receiving)
    }
    // If the size of a file is unknown, this may not be the last part: the next request shows that.
    let record = part.record
    if let length = record.length, record.written.missing(in: 0..<length).isEmpty {
      state.withLock { $0.isComplete = true }
    }
  }

  /// Starts a new version of the file.
  private func begin(_ response: StreamedResponse, _ length: Int64?, _ server: String?) throws {
    let isGood = isResumable && response.source != .fallback && !response.wasCompressed
    try part.start {
      $0.describe(response.headers, length: length, isResumable: isGood)
      $0.digest = Self.digest(of: response)
      $0.server = server
    }
    keep(response)
    state.withLock {
      $0.isDescribed = true
      $0.isConfirmed = true
      $0.resumedAt = 0
    }
    progress.begin(at: 0, of: length)
  }

  /// Writes a body at an offset; returns the offset after its last byte.
  private func write(_ body: ResponseBody, at start: Int64, upTo end: Int64 = .max) async throws -> Int64 {
    var offset = start
    for try await piece in body {
      guard Int64(piece.count) <= end - offset else {
        throw HTTPError(.protocolViolation, "the part has more bytes than its Content-Range says", phase: .receiving)
      }
      try checkSize(offset + Int64(piece.count))
      progress.add(piece.count, try part.write(piece, at: offset))
      if part.isSyncDue { try await onFileQueue { [part] () throws(HTTPError) in try part.sync() } }
      offset += Int64(piece.count)
    }
    return offset
  }

  private func checkSize(_ bytes: Int64) throws(HTTPError) {
    guard let most = options.maximumBytes, bytes > most else { return }
    throw HTTPError(.bodyTooLarge, "the file is larger than \(most) bytes", phase: .receiving)
  }

  private func keep(_ response: StreamedResponse) {
    var head = response
    head.body = ResponseBody()
    // They would be the trailers of the last part.
    if response.status == 206 { head.trailers = [:] }
    state.withLock { $0.head = head }
  }

  /// Processes the head of a further range of the same version.
  private func confirm(_ response: StreamedResponse, _ size: Int64?) {
    part.change {
      if let size { $0.length = size }
      $0.digest = $0.digest ?? Self.digest(of: response)
    }
    keep(response)
  }

  /// The server's digest of the bytes of the whole file.
  ///
  /// `nil` if the body was decoded, because both fields cover the encoded bytes (RFC 9530 §2, §3).
  private static func digest(of response: StreamedResponse) -> String? {
    guard !response.wasCompressed else { return nil }
    let digest = DigestField.sha256(response.headers[all: "Repr-Digest"])
    return digest ?? (response.status == 206 ? nil : DigestField.sha256(response.headers[all: "Content-Digest"]))
  }
}

extension DownloadJob {
  /// Verifies the file and moves it to its destination.
  func finish(at place: DownloadDestination, asked: HTTPRequest, coders: JSONCoders?) async throws -> DownloadedFile {
    let head = head ?? StreamedResponse(status: .ok, request: asked)
    let response = head.whole(Data(), asked: asked, coders: coders)
    let length = part.record.length ?? part.record.written.prefix
    let modified = options.keepsModificationDate ? response.headers["Last-Modified"].flatMap { HTTPDate($0) } : nil
    let path = try await onFileQueue { [part, checksum = options.checksum?.digits] () throws(HTTPError) in
      try part.verify(checksum: checksum, length: length)
      try part.seal(modified, isPrivate: !place.isFindable)
      let path = place.name(for: response)
      let names = place.overwrite == .rename ? 1000 : 1
      for number in 0..<names {
        let name = number == 0 ? path : DownloadDestination.numbered(path, number)
        if try part.finish(as: name, isReplacing: place.overwrite == .replace) { return name }
      }
      throw HTTPError(.fileFailed, "\(DiskCalls.shown(path)) already exists")
    }
    progress.deliverEnd()
    return DownloadedFile(url: URL(filePath: path), byteCount: length, resumedAt: resumedAt, response: response)
  }

  /// Releases an unfinished file, which another download can resume if it is kept.
  func leave(isKept: Bool) {
    let record = part.record
    let isOfUse = isKept && !record.written.isEmpty
    guard isOfUse, (try? part.leave()) != nil else { return part.discard() }
  }
}
