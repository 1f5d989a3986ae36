public import Foundation

/// A connection to Redis that sends one command at a time.
///
/// It connects when it is first used, and reconnects after the connection was lost. It supports neither TLS nor a
/// password. Its calls block, so it runs on its own queue.
public actor RedisConnection {
  /// A part of a command.
  public struct Word: ExpressibleByStringInterpolation, Sendable {
    let bytes: Data

    /// Creates a word with the UTF-8 of a text.
    public init(stringLiteral text: String) { bytes = Data(text.utf8) }

    private init(_ bytes: Data) { self.bytes = bytes }

    /// Creates a word with bytes.
    public static func data(_ bytes: Data) -> Word { Word(bytes) }
  }

  private final class Executor: SerialExecutor {
    private let queue = DispatchQueue(label: "redis")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }

  /// How long an unresponsive server is avoided, so not every request waits for it.
  private static let rest = Duration.seconds(5)

  private let host: String
  private let port: Int
  private let maximumReplyBytes: Int
  private let patience: Duration
  private let executor = Executor()
  private var socket: RedisSocket?
  private var restEnd = ContinuousClock.now

  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Creates a connection to a server without connecting.
  ///
  /// - Parameters:
  ///   - host: Its name or address.
  ///   - port: Its port.
  ///   - maximumReplyBytes: The maximum size of one reply; 16 MiB by default.
  ///   - patience: The time limit for a command; a second by default, at most an hour.
  public init(host: String, port: Int, maximumReplyBytes: Int = 16 << 20, patience: Duration = .seconds(1)) {
    self.host = host
    self.port = port
    self.maximumReplyBytes = maximumReplyBytes
    self.patience = min(max(patience, .milliseconds(1)), .seconds(3600))
  }

  /// Sends a command and waits for its reply, for a limited time.
  ///
  /// The command is sent again once if the connection was lost, so it must be idempotent.
  ///
  /// - Parameter words: The command's name and arguments.
  /// - Returns: The reply.
  /// - Throws: ``RedisError``, or `CancellationError` if the task was cancelled before its turn.
  @discardableResult
  public func command(_ words: Word...) throws -> RedisReply { try command(words) }

  /// Sends a command and waits for its reply, for a limited time.
  ///
  /// The command is sent again once if the connection was lost, so it must be idempotent.
  ///
  /// - Parameter words: The command's name and arguments.
  /// - Returns: The reply.
  /// - Throws: ``RedisError``, or `CancellationError` if the task was cancelled before its turn.
  @discardableResult
  public func command(_ words: [Word]) throws -> RedisReply {
    try Task.checkCancellation()
    guard restEnd <= .now else { throw RedisError.timedOut }
    do {
      let wasOpen = socket != nil
      do {
        return try exchange(words)
      } catch RedisError.lost where wasOpen {
        // The connection was idle for too long, or the server has been restarted.
        return try exchange(words)
      }
    } catch RedisError.timedOut {
      restEnd = .now + Self.rest
      throw RedisError.timedOut
    }
  }

  private func exchange(_ words: [Word]) throws(RedisError) -> RedisReply {
    let current = if let socket { socket } else { try RedisSocket(host: host, port: port, patience) }
    // The socket is reused only after a complete reply; the rest of a reply would be mistaken for the next one.
    socket = nil
    current.deadline = .now + patience
    try current.send(Self.message(words))
    var reader = RedisReader(current, limit: maximumReplyBytes)
    let reply = try reader.reply()
    guard !reader.hasMore else { throw .malformed }
    socket = current
    if case .failure(let reason) = reply { throw .refused(reason) }
    return reply
  }

  private static func message(_ words: [Word]) -> [UInt8] {
    var message = Array("*\(words.count)\r\n".utf8)
    for word in words {
      message += Array("$\(word.bytes.count)\r\n".utf8) + word.bytes + Array("\r\n".utf8)
    }
    return message
  }
}
