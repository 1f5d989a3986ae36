import MartletBase

/// A point in time by which all requests of an operation must have ended.
///
/// ``withDeadline(_:name:clock:_:)`` sets it for a task. It is the deadline of everything that the task
/// begins, such as the requests of a handler in a server:
///
/// ```swift
/// try await withDeadline(.seconds(2), name: "checkout") {
///   let cart = try await client.get("/cart", as: Cart.self)
///   return try await client.post("/orders", body: .json(cart))
/// }
/// ```
///
/// A request that begins before the deadline fails with ``HTTPError/Kind/timedOut`` when it passes, whatever the
/// request is doing: waiting in a queue or for a credential, pausing before a retry, following redirects, reading the
/// body of a streamed response. A request that begins later fails before anything is sent. ``HTTPError/deadline`` names
/// the deadline. The deadline shortens the limits of ``TimeoutPolicy`` and never extends them. A retry whose delay
/// would last until the deadline is not made.
///
/// Work that several requests share, such as renewing a token or revalidating a stored response, and the deliveries of
/// an `Outbox` do not have the deadline of the request that caused it; the requests that wait for it do.
public struct Deadline: Sendable, CustomStringConvertible {
  private final class Storage: Sendable {
    let name: String?
    let limit: Duration
    /// Begins with the deadline.
    let timeline: Timeline

    init(_ name: String?, _ limit: Duration, _ timeline: Timeline) {
      (self.name, self.limit, self.timeline) = (name, limit, timeline)
    }
  }

  /// The longest time that can be set, which is a year; clocks of the runtime overflow with absurd durations.
  static let longest = Duration.seconds(365 * 24 * 3600)

  /// The deadline of the current task, or `nil`.
  @TaskLocal public static var current: Deadline?

  private let storage: Storage

  /// The identity of the deadline, by which its requests are grouped.
  var identity: ObjectIdentifier { ObjectIdentifier(storage) }

  /// The name of the work that has the deadline, or `nil`.
  public var name: String? { storage.name }

  /// The time that the work was given.
  public var limit: Duration { storage.limit }

  /// The remaining time; zero once the deadline has passed.
  ///
  /// Work other than requests, such as a loop, can check it.
  public var remaining: Duration { max(limit - storage.timeline.now(), .zero) }

  /// Whether the deadline has passed.
  public var hasPassed: Bool { remaining == .zero }

  /// Creates a deadline at a time limit from now.
  ///
  /// - Parameters:
  ///   - limit: The time until the deadline, at most a year. With zero or less it has already passed.
  ///   - name: The name of the work, for errors.
  ///   - clock: The clock that it is measured with: the clock of the clients in use, if they have their own.
  public init(_ limit: Duration, name: String? = nil, clock: any Clock<Duration> = ContinuousClock()) {
    storage = Storage(name, min(max(limit, .zero), Self.longest), Timeline(clock))
  }

  /// The name and the limit: `deadline 'checkout' of 2.0 s`.
  public var description: String {
    let name = name.map { " '\(InvalidInput.printable($0))'" } ?? ""
    return "deadline\(name) of \(limit.shown)"
  }
}

/// Runs a closure whose requests must all end within a time limit.
///
/// ``Deadline`` describes the effect. A nested deadline can only shorten the time: if the outer one has less time left,
/// it remains in force, under its own name. The closure itself is not ended: ``Deadline/current`` reports how much time
/// is left.
///
/// - Parameters:
///   - limit: The time until the deadline, at most a year. With zero or less, every request fails at once.
///   - name: The name of the work, for errors.
///   - clock: The clock that the time is measured with: the clock of the clients in use, if they have their own.
///   - work: The work.
/// - Returns: The result of the closure.
/// - Throws: The error thrown by the closure.
public nonisolated(nonsending) func withDeadline<R>(
  _ limit: Duration, name: String? = nil, clock: any Clock<Duration> = ContinuousClock(),
  _ work: () async throws -> R
) async rethrows -> R {
  try await withDeadline(Deadline(limit, name: name, clock: clock), work)
}

/// Runs a closure whose requests must all end by a deadline.
///
/// - Parameters:
///   - deadline: The deadline, such as that of an incoming request (``Deadline/Header/deadline(in:name:now:clock:)``).
///     With `nil`, the closure runs without a new deadline.
///   - work: The work.
/// - Returns: The result of the closure.
/// - Throws: The error thrown by the closure.
public nonisolated(nonsending) func withDeadline<R>(
  _ deadline: Deadline?, _ work: () async throws -> R
) async rethrows -> R {
  guard let deadline else { return try await work() }
  if let outer = Deadline.current, outer.remaining <= deadline.remaining { return try await work() }
  return try await Deadline.$current.withValue(deadline) { try await work() }
}
