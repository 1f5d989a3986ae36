import Foundation

/// What an attempt at a delivery means.
enum OutboxVerdict: Equatable, Sendable {
  case delivered(HTTPStatus)
  /// Another time. `isCounted` if a server had a part in it, `asked` if it has said when.
  case later(reason: String, isCounted: Bool, asked: Duration?)
  /// Never, says the server.
  case refused(HTTPStatus)
  /// Never.
  case dead(reason: String)
  /// Nobody is to blame: this process stops.
  case stopped

  /// What a response means.
  init(_ status: HTTPStatus, _ headers: HTTPHeaders, _ options: Outbox.Options, now: Date) {
    if status.isSuccess {
      self = .delivered(status)
    } else if options.isTemporary(status) {
      self = .later(
        reason: "the server answered \(status.rawValue)", isCounted: true, asked: RetryAfter.delay(headers, now: now))
    } else {
      self = .refused(status)
    }
  }

  /// What an error means.
  init(_ error: any Error) {
    guard let error = error as? HTTPError else {
      self = error is CancellationError ? .stopped : .later(reason: "\(type(of: error))", isCounted: true, asked: nil)
      return
    }
    let reason = InvalidInput.printable("\(error.kind): \(error.message)", limit: 500)
    switch error.kind {
    case .clientClosed, .cancelled: self = .stopped
    // What is wrong with files, such as too many open ones, may pass; what is gone was noticed before.
    case .cannotConnect, .file: self = .later(reason: reason, isCounted: false, asked: nil)
    case .timedOut, .connectionLost, .tls:
      self = .later(reason: reason, isCounted: error.mayHaveReachedServer && error.phase != .connecting, asked: nil)
    case .protocolViolation, .authenticationFailed, .queue, .middleware:
      self = .later(reason: reason, isCounted: true, asked: nil)
    default: self = .dead(reason: reason)
    }
  }
}
