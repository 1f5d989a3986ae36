/// The progress of a request and its response, in body bytes.
///
/// A request may be sent several times before it succeeds: after a lost connection, a redirect, a 401. The progress
/// never decreases: ``sent`` and ``received`` are the most that one exchange has transferred, and all other bytes are
/// counted in ``resent`` and ``rereceived``.
public struct TransferProgress: Sendable, Hashable {
  /// The upload's share in the progress of an upload with a response.
  private static let uploadShare = 0.9

  /// The body bytes sent, or at least passed to the system; never decreases.
  public var sent: Int64 = 0
  /// The body bytes received, before decoding; never decreases.
  ///
  /// The system's `URLSession` loader counts them after decoding.
  public var received: Int64 = 0
  /// The length of the request body, or `nil` if unknown.
  public var expectedToSend: Int64?
  /// The length of the encoded response body, or `nil`.
  public var expectedToReceive: Int64?
  /// Wasted body bytes sent: those of exchanges that were repeated.
  public var resent: Int64 = 0
  /// Wasted body bytes received: those of redirects, of unaccepted statuses and of repeated exchanges.
  public var rereceived: Int64 = 0
  /// The number of the current exchange, from 1.
  ///
  /// Each retry, each redirect and each repetition with credentials increases it.
  public var attempt = 1
  /// The mean rate of the last five seconds; zero in the first quarter of a second.
  public var bytesPerSecond = TransferProgress.Bandwidth()
  /// The remaining time of the current direction, or `nil`.
  ///
  /// It is estimated from ``bytesPerSecond``.
  public var timeLeft: Duration?
  /// Whether the request has succeeded; this is the last progress.
  public var isFinished = false

  /// The fractions reported so far, which later fractions are never below.
  private var leastSent: Double?
  private var leastReceived: Double?
  private var least: Double?

  /// A progress of zero bytes.
  public init() {}

  /// The fraction of the request body sent, from 0 to 1.
  ///
  /// It is `nil` if the length is unknown.
  public var fractionSent: Double? {
    isFinished ? 1 : Self.larger(Self.fraction(sent, of: expectedToSend), leastSent)
  }

  /// The fraction of the response body received, from 0 to 1.
  ///
  /// It is `nil` if the length is unknown.
  public var fractionReceived: Double? {
    isFinished ? 1 : Self.larger(Self.fraction(received, of: expectedToReceive), leastReceived)
  }

  /// The fraction of both bodies, from 0 to 1.
  ///
  /// It is `nil` if a length is unknown, and 1 after success. Without a request body it equals ``fractionReceived``.
  /// With one, the upload is the first nine tenths and the response the last tenth, so the progress bar of an upload
  /// does not jump when a response of any size begins. It never decreases.
  public var fraction: Double? {
    guard !isFinished else { return 1 }
    guard expectedToSend ?? sent > 0 else { return Self.larger(fractionReceived, least) }
    let whole = fractionSent.map { $0 * Self.uploadShare + (fractionReceived ?? 0) * (1 - Self.uploadShare) }
    return Self.larger(whole, least)
  }

  /// Ensures that later fractions are not below the current ones.
  mutating func keepFractions() { (leastSent, leastReceived, least) = (fractionSent, fractionReceived, fraction) }

  private static func fraction(_ count: Int64, of expected: Int64?) -> Double? {
    guard let expected, expected >= 0 else { return nil }
    guard expected > 0 else { return 1 }
    return min(1, max(0, Double(count) / Double(expected)))
  }

  private static func larger(_ first: Double?, _ second: Double?) -> Double? {
    guard let first, let second else { return first ?? second }
    return max(first, second)
  }
}

extension TransferProgress {
  /// A transfer rate in each direction, in body bytes per second.
  public struct Bandwidth: Sendable, Hashable {
    /// Bytes received per second.
    public var received = 0.0
    /// Bytes sent per second.
    public var sent = 0.0
  }
}
