import Foundation

/// What an attempt at a delivery means.
enum OutboxVerdict: Equatable, Sendable {
  case delivered(HTTPStatus)
  /// Another time. `isCounted` if a server had a part in it, `asked` if it has said when.
  case later(Outbox.Failure, isCounted: Bool, asked: Duration?)
  /// Never, says the server.
  case refused(HTTPStatus)
  /// Never.
  case dead(Outbox.Failure)
  /// Nobody is to blame: this process stops.
  case stopped

  init(_ status: HTTPStatus, _ headers: HTTPHeaders, _ options: Outbox.Options, now: Date) {
    if status.isSuccess {
      self = .delivered(status)
    } else if options.isTemporary(status) {
      self = .later(.status(status), isCounted: true, asked: RetryAfter.delay(headers, now: now))
    } else {
      self = .refused(status)
    }
  }

  init(_ error: any Error) {
    guard let error = error as? HTTPError else {
      let failure = Outbox.Failure.error(.middleware, InvalidInput.printable("\(type(of: error))"))
      self = error is CancellationError ? .stopped : .later(failure, isCounted: true, asked: nil)
      return
    }
    let failure = Outbox.Failure.error(error.kind, InvalidInput.printable(error.message, limit: 500))
    switch error.kind {
    case .clientClosed, .cancelled: self = .stopped
    // What is wrong with files, such as too many open ones, may pass; what is gone was noticed before.
    case .cannotConnect, .file: self = .later(failure, isCounted: false, asked: nil)
    case .timedOut, .connectionLost, .tls:
      self = .later(failure, isCounted: error.mayHaveReachedServer && error.phase != .connecting, asked: nil)
    case .protocolViolation, .authenticationFailed, .queue, .middleware:
      self = .later(failure, isCounted: true, asked: nil)
    default: self = .dead(failure)
    }
  }
}
