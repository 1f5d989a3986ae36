import Foundation
import MartletBase

/// Standard input as the source of a request body.
struct StandardInput: Sendable {
  /// The maximum number of bytes that are read into memory.
  static let maximumBytes = 256 << 20
  /// The maximum number of bytes that are read before the request is sent.
  private static let beginningBytes = 1 << 20
  /// The silence after which a request is sent with the bytes that have arrived, in milliseconds.
  private static let pause: Int32 = 50
  /// The silence after which the user is notified of the wait, in milliseconds.
  private static let silence: Int32 = 10_000
  private static let hint = "waiting for the body on standard input; --ignore-stdin sends none"

  var descriptor = STDIN_FILENO
  /// The end of the wait, or `nil`.
  var end: ContinuousClock.Instant?

  /// Whether it is a regular file, a pipe or a socket; a terminal, `/dev/null` and a closed descriptor are not.
  var isRedirected: Bool { [S_IFREG, S_IFIFO, S_IFSOCK].contains(kind) }

  private var facts: stat? {
    var facts = stat()
    return fstat(descriptor, &facts) == 0 ? facts : nil
  }

  private var kind: mode_t { (facts?.st_mode ?? 0) & S_IFMT }

  /// The number of bytes after the current position of a regular file; `nil` for others.
  private var length: Int64? {
    guard let facts, kind == S_IFREG else { return nil }
    return max(Int64(facts.st_size) - Int64(lseek(descriptor, 0, SEEK_CUR)), 0)
  }

  /// Whether it contains bytes that this program is meant to read.
  ///
  /// A regular file that was partly read belongs to the loop of a script.
  var hasOwnBytes: Bool {
    if kind == S_IFREG { return lseek(descriptor, 0, SEEK_CUR) == 0 && (length ?? 0) > 0 }
    guard isRedirected, isReady(Self.pause) else { return false }
    var count: Int32 = 0
    return ioctl(descriptor, UInt(FIONREAD), &count) == 0 && count > 0
  }

  /// Whether it is a regular file.
  var isFile: Bool { kind == S_IFREG }

  /// Whether it is a terminal.
  var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Whether it is open for reading; the tool replaces a closed one by `/dev/null`, which can only be written.
  var isReadable: Bool { fcntl(descriptor, F_GETFL) & O_ACCMODE != O_WRONLY }

  /// The next bytes, or `nil` at the end; waits for them.
  func block() throws(UsageError) -> Data? { try next(nil) }

  /// Reads everything into memory.
  func read(_ errors: Terminal) throws(UsageError) -> Data {
    var data = Data()
    while let piece = try next(errors) {
      data.append(piece)
      guard data.count <= Self.maximumBytes else {
        throw UsageError("standard input has more than \(Self.maximumBytes >> 20) MiB: use --body @FILE")
      }
    }
    return data
  }

  /// Reads the beginning, and leaves the rest of a long or slow input to the request.
  ///
  /// A pause does not end the beginning while `isUndecided` returns `true`.
  func body(_ errors: Terminal, isUndecided: (Data) -> Bool) throws(UsageError) -> Body {
    let length = length
    let origin = length.map { _ in lseek(descriptor, 0, SEEK_CUR) }
    guard var data = try next(errors) else { return .whole(Data()) }
    while data.count < Self.beginningBytes {
      var hint = Self.hint
      if origin == nil, !isReady(Self.pause) {
        guard isUndecided(data) else { break }
        hint = "the JSON document is complete; waiting for more (Content-Type:application/json sends it now)"
      }
      guard let piece = try next(errors, hint) else { return .whole(data) }
      data.append(piece)
    }
    return .streamed(Rest(self, data, length: length, origin: origin))
  }

  /// The next bytes, or `nil` at the end; waits for them until ``end``.
  private func next(_ errors: Terminal?, _ hint: String = hint) throws(UsageError) -> Data? {
    let now = ContinuousClock.now
    let hasTime = end.map { now.duration(to: $0) > .milliseconds(Int(Self.silence)) } ?? true
    if let errors, isatty(descriptor) == 0, hasTime, !isReady(Self.silence) {
      errors.complain(hint)
    }
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      if let end {
        let rest = max(ContinuousClock.now.duration(to: end), .zero)
        guard isReady(Int32(clamping: Int64(rest / .milliseconds(1)) + 1)), ContinuousClock.now < end else {
          throw UsageError("standard input did not end before --timeout", code: .timeout)
        }
      }
      let count = Foundation.read(descriptor, &buffer, buffer.count)
      if count >= 0 { return count == 0 ? nil : Data(buffer[..<count]) }
      if errno == EAGAIN {
        _ = isReady(-1)
      } else if errno != EINTR {
        throw UsageError("cannot read standard input: \(String(cString: strerror(errno)))")
      }
    }
  }

  private func isReady(_ milliseconds: Int32) -> Bool {
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&ready, 1, milliseconds) > 0
  }
}

extension StandardInput {
  enum Body {
    case whole(Data)
    case streamed(Rest)
  }

  /// A long or slow input, which is read while it is sent.
  ///
  /// The first bytes of a pipe are kept for a retry, a redirect, or a 401 that requests credentials.
  final class Rest: Sendable, Equatable {
    private struct State {
      var kept: Data
      /// The position of the first byte that is kept.
      var start = 0
      var isOver = false
    }

    private static let maximumKept = 16 << 20

    let beginning: Data
    /// The number of bytes, if known.
    let length: Int64?
    /// The position of the first byte in a regular file; `nil` for others.
    private let origin: off_t?
    private let input: StandardInput
    private let state: Locked<State>
    /// The queue for reading, which blocks; only one pass reads at a time.
    private let queue = DispatchQueue(label: "martlet.input")

    fileprivate init(_ input: StandardInput, _ beginning: Data, length: Int64?, origin: off_t?) {
      (self.beginning, self.length, self.origin) = (beginning, length, origin)
      // Later waits end with the request's own limit.
      self.input = StandardInput(descriptor: input.descriptor)
      state = Locked(State(kept: beginning))
    }

    /// Whether the first byte can be sent again.
    var isRepeatable: Bool { state.withLock { $0.start == 0 } }

    static func == (one: Rest, other: Rest) -> Bool { one === other }

    /// Returns all bytes, from the first one.
    func pieces() -> AsyncThrowingStream<Data, any Error> {
      let position = Locked(0)
      return AsyncThrowingStream { [self] in
        let piece = try await next(position.withLock { $0 })
        position.withLock { $0 += piece?.count ?? 0 }
        return piece
      }
    }

    private func next(_ position: Int) async throws -> Data? {
      try await withCheckedThrowingContinuation { continuation in
        queue.async { [self] in continuation.resume(with: Result { try read(position) }) }
      }
    }

    private func read(_ position: Int) throws -> Data? {
      if let origin {
        lseek(input.descriptor, origin + off_t(position), SEEK_SET)
        return try input.next(nil)
      }
      let (known, isOver) = state.withLock { state in
        (position < state.start ? nil : Data(state.kept.dropFirst(position - state.start)), state.isOver)
      }
      guard let known else {
        throw UsageError("standard input is too long to be sent again: use --body @FILE", code: .noResponse)
      }
      if !known.isEmpty { return known }
      guard !isOver, let piece = try input.next(nil) else {
        state.withLock { $0.isOver = true }
        return nil
      }
      state.withLock { state in
        state.kept.append(piece)
        guard state.kept.count > Self.maximumKept else { return }
        (state.start, state.kept) = (state.start + state.kept.count, Data())
      }
      return piece
    }
  }
}
