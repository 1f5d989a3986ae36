/// Decides what follows the end of a connection of an event stream.
struct EventRules {
  /// How a connection ended, or why there is none.
  enum Ending: CaseIterable {
    /// `204`: the server has no more events.
    case noContent
    /// The body of an event stream was complete.
    case complete
    /// An event stream broke off, or was silent for too long.
    case broken
    /// No connection, no response, or a status that says to try later.
    case unavailable
    /// Another status, another type, an event that is too large, or an exceeded total limit.
    case refused
  }

  enum Outcome {
    case over, reconnects, fails
  }

  /// Whether the request may be sent again after an event stream.
  var repeats: Bool
  /// Whether this is a reconnect after an event stream; the first connection is made as for any request.
  var isReconnect: Bool

  func outcome(of ending: Ending) -> Outcome {
    switch ending {
    case .noContent: .over
    case .complete: repeats ? .reconnects : .over
    case .broken: repeats ? .reconnects : .fails
    case .unavailable: isReconnect && repeats ? .reconnects : .fails
    case .refused: .fails
    }
  }
}

extension EventRules.Ending {
  /// The end by an error; `isReading` distinguishes an event stream from the wait for its head.
  init(_ error: HTTPError, isReading: Bool) {
    let mayPass = error.isConnectivity || error.isTimeout
    self =
      if error.deadline != nil {
        .refused
      } else if isReading {
        mayPass ? .broken : .refused
      } else if mayPass || error.isLoadLimit {
        .unavailable
      } else {
        error.kind == .status && (error.isTransient || error.status?.isServerError == true) ? .unavailable : .refused
      }
  }
}
