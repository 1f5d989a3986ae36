import MartletBase

/// The facts about an exchange that a system's loader reports only at its end.
struct ExchangeMeasurement: Sendable, Equatable {
  var httpVersion: HTTPVersion?
  var connection: HTTPResponse.Connection?
  /// Only the lookup, the connection, the handshake and the sending.
  var timing = HTTPResponse.Timing()
}

extension HTTPResponse.Timing {
  /// Adds times that were not known before.
  mutating func add(_ other: Self) {
    nameLookup = nameLookup ?? other.nameLookup
    connect = connect ?? other.connect
    tls = tls ?? other.tls
    sent = sent ?? other.sent
  }
}

/// An ``ExchangeMeasurement`` that a response may receive after its head.
final class LateMeasurement: Sendable {
  private let state = Locked<ExchangeMeasurement?>(nil)

  var value: ExchangeMeasurement? { state.withLock { $0 } }

  func set(_ measurement: ExchangeMeasurement) { state.withLock { $0 = measurement } }
}
