import Martlet
import MartletBase

/// The consequence of a delivery attempt.
enum OutboxVerdict: Error, Equatable {
  case delivered(HTTPStatus)
  /// Retry later. `isCounted` if a server was involved; `asked` is the delay that the server requested.
  case later(Outbox.Failure, isCounted: Bool, asked: Duration?)
  /// The server has rejected the request permanently.
  case refused(HTTPStatus)
  case dead(Outbox.Failure)
  /// Not a failure: this process stops.
  case stopped

  init(_ status: HTTPStatus, _ headers: HTTPHeaders, _ options: Outbox.Options, now: Date) {
    if status.isSuccess {
      self = .delivered(status)
    } else if options.isTemporary(status) {
      self = .later(.status(status), isCounted: true, asked: headers.retryAfter(now: now))
    } else {
      self = .refused(status)
    }
  }

  init(_ error: any Error) {
    guard let error = error as? HTTPError else {
      let failure = Outbox.Failure.error(.middlewareFailed, Printable.text("\(type(of: error))"))
      self = error is CancellationError ? .stopped : .later(failure, isCounted: true, asked: nil)
      return
    }
    let failure = Outbox.Failure.error(error.kind, Printable.text(error.message, limit: 500))
    switch error.kind {
    case .clientClosed, .cancelled: self = .stopped
    // File errors, such as too many open files, may be temporary; a missing file was noticed before. The client's
    // limits are always temporary.
    case .cannotConnect, .fileFailed, .overloaded, .circuitOpen, .dataBudgetExceeded:
      self = .later(failure, isCounted: false, asked: nil)
    case .timedOut, .connectionLost, .tls:
      self = .later(failure, isCounted: !error.wasNotProcessed && error.phase != .connecting, asked: nil)
    case .protocolViolation, .authenticationFailed, .queueFailed, .middlewareFailed:
      self = .later(failure, isCounted: true, asked: nil)
    default: self = .dead(failure)
    }
  }
}
