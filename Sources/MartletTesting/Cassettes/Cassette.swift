import MartletBase
public import Foundation
public import Martlet
import MartletHAR

/// A transport that replays recorded exchanges and records missing ones.
///
/// ```swift
/// let client = HTTPClient { $0.transport = Cassette(file) }
/// ```
///
/// The file is a HAR file (HTTP Archive 1.2), recorded by a cassette or by a browser. A request gets the response of
/// the first unused entry with the same method, URL and body; ``Matching`` changes the compared parts. Each redirect
/// and each retry is a separate exchange. A request without an entry fails with `HTTPError.Kind.unsupported`, and the
/// error names the nearest entry and the differences.
///
/// Secrets are masked before anything is written, by the rules of `Redaction`: credentials, cookies, form fields, JSON
/// members and parts of XML with telling names, and parts of URLs. A replayed response contains the masks. Requests are
/// compared with their secrets masked, so a recorded test runs with other credentials, or with none. A response that is
/// not text is recorded unchanged, and so is a compressed response with decompression off; check what you commit. Text
/// in which secrets could not be masked, such as HTML with telling names, is not recorded.
///
/// A cassette cannot distinguish requests that differ only in a secret, so send them in turn. A body is recorded when
/// it has been read to its end, and stays in memory until then.
///
/// WebSockets are recorded when the server ends the connection, and stay in memory until then. A WebSocket with more than
/// 10,000 messages, or more than 16 MiB of them, is not recorded. A replayed message of the server is sent when the
/// client's recorded messages before it have arrived. A message of the client that differs from the recorded one fails
/// the WebSocket with `HTTPError.Kind.unsupported`.
///
/// A response body of more than 64 KiB is stored in a separate file, in a folder beside the cassette. Clients may share
/// a cassette. The cassettes of a process may record in one file, and so may processes with ``Mode/recordMissing``:
/// each keeps the entries of the others.
///
/// The first request reads the whole file, which may have up to 256 MiB. That takes time in proportion to the size;
/// neither a time limit nor a cancellation ends it.
public final class Cassette: Transport {
  /// The rule for when to record.
  @nonexhaustive public enum Mode: String, Sendable, Hashable {
    /// Never: a request without an entry fails, and nothing is sent.
    case replay
    /// Requests without an entry are sent and recorded.
    case recordMissing = "missing"
    /// All requests are sent, and the file is replaced.
    case recordAll = "record"

    /// The mode that the environment chooses.
    ///
    /// `MARTLET_CASSETTES` is `replay`, `missing` or `record`; anything else means `replay`. Without it, ``replay`` if `CI` is set, as CI services do,
    /// otherwise ``recordMissing``.
    public static var automatic: Mode { of(ProcessInfo.processInfo.environment) }

    package static func of(_ environment: [String: String]) -> Mode {
      // A misspelled mode must not send anything.
      if let mode = environment["MARTLET_CASSETTES"] { return Mode(rawValue: mode) ?? .replay }
      return environment["CI"].map { $0.isEmpty || $0 == "false" } ?? true ? .recordMissing : .replay
    }
  }

  /// The time that a replayed response takes.
  @nonexhaustive public enum Pacing: Sendable {
    /// No time.
    case immediate
    /// As long as recorded: the head arrives after the recorded time, and the body in several chunks.
    ///
    /// With a ``TestClock`` it takes no real time.
    case recorded(any Clock<Duration>)

    var clock: (any Clock<Duration>)? { if case .recorded(let clock) = self { clock } else { nil } }
  }

  /// The cassette of the running test.
  ///
  /// The trait `.cassette(_:)` of MartletTestTraits sets it.
  @TaskLocal public static var current: Cassette?

  /// The file.
  public let file: URL
  /// The rule for when to record.
  public let mode: Mode
  let matching: Matching
  let pacing: Pacing
  private let redaction: Redaction?
  private let live: any Transport
  private let state: Locked<CassetteTape>
  /// The replayed WebSockets.
  let sockets = WebSocketLog()

  /// Creates a cassette; the file is read with the first request.
  ///
  /// - Parameters:
  ///   - file: The HAR file.
  ///   - mode: The rule for when to record; by default ``Mode/automatic``.
  ///   - matching: The parts of a request that must be equal; by default method, URL and body.
  ///   - pacing: The time that replayed responses take; by default none.
  ///   - redaction: The secrets to mask; by default those that the client masks in logs. `Redaction.strict` leaves
  ///     nothing to replay.
  ///   - transport: The transport that sends requests to record them; by default that of clients.
  public init(
    _ file: URL, mode: Mode = .automatic, matching: Matching = .standard, pacing: Pacing = .immediate,
    redaction: Redaction? = nil, recording transport: any Transport = HTTPClient.Configuration().transport
  ) {
    self.file = file
    self.mode = mode
    self.matching = matching
    self.pacing = pacing
    self.redaction = redaction
    live = transport
    state = Locked(CassetteTape(file, mode, matching))
  }

  /// The number of entries, including recorded ones.
  public var entryCount: Int { state.withLock { $0.entryCount } }

  /// The entries that no request has used, as `GET https://…`.
  ///
  /// A test that expects all of its requests can check that it is empty.
  public var unused: [String] { state.withLock { $0.unused() } }

  /// The exchanges so far, replayed and recorded ones, as a HAR file.
  public var transcript: Data { state.withLock { $0.transcript } }

  /// Adds a fault to replayed responses.
  ///
  /// - Parameters:
  ///   - fault: The fault.
  ///   - path: The path of the requests; `nil` for all.
  ///   - count: The number of requests; 1 by default.
  public func add(_ fault: Fault, to path: String? = nil, count: Int = 1) {
    state.withLock { $0.faults.append((fault, path, count)) }
  }

  public func prepared(for settings: TransportSettings) -> any Transport {
    CassettePlayer(cassette: self, live: mode == .replay ? live : live.prepared(for: settings))
  }

  public func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
    try await CassettePlayer(cassette: self, live: live).send(request, context: context)
  }

  /// Returns the step for a request.
  func next(_ key: HARKey, _ redaction: Redaction) throws(HTTPError) -> CassetteTape.Step {
    try state.withLock { tape throws(HTTPError) in try tape.next(key, redaction) }
  }

  func record(_ entry: HAREntry, _ redaction: Redaction) throws(HTTPError) {
    try state.withLock { tape throws(HTTPError) in try tape.record(entry, redaction) }
  }

  func redaction(_ context: RequestContext) -> Redaction { redaction ?? context.redaction }

  var isForeign: Bool { state.withLock { $0.isForeign } }

  func body(of entry: HAREntry, _ number: Int) throws(HTTPError) -> Data {
    try state.withLock { tape throws(HTTPError) in try tape.body(of: entry, number) }
  }
}

/// The cassette of the running test, as a transport.
///
/// A client that was created before the test, such as a static one, uses the cassette of the test that sends the
/// request.
public struct CurrentCassette: Transport {
  public func prepared(for settings: TransportSettings) -> any Transport {
    BoundCassette(settings: settings, captured: Cassette.current)
  }

  public func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
    guard let cassette = Cassette.current else { throw BoundCassette.missing }
    return try await cassette.send(request, context: context)
  }
}

/// The current cassette of one client.
private final class BoundCassette: Transport {
  static var missing: HTTPError {
    HTTPError(.unsupported, "no cassette belongs to the running test: add the trait .cassette(_:) to it")
  }

  private let settings: TransportSettings
  /// The cassette at the time when the client was created, for tasks that do not belong to the test.
  private let captured: Cassette?
  private let players = Locked<[ObjectIdentifier: any Transport]>([:])

  init(settings: TransportSettings, captured: Cassette?) { (self.settings, self.captured) = (settings, captured) }

  func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
    guard let cassette = Cassette.current ?? captured else { throw Self.missing }
    // The player keeps its cassette, so the identifier stays unique.
    let player = players.withLock { players in
      let player = players[ObjectIdentifier(cassette)] ?? cassette.prepared(for: settings)
      players[ObjectIdentifier(cassette)] = player
      return player
    }
    return try await player.send(request, context: context)
  }

  func closeIdleConnections() { players.withLock { Array($0.values) }.forEach { $0.closeIdleConnections() } }
}

extension Transport where Self == CurrentCassette {
  /// The cassette that a test names with the trait `.cassette(_:)` of MartletTestTraits.
  public static var cassette: CurrentCassette { CurrentCassette() }
}
