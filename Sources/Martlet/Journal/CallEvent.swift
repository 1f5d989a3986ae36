import MartletBase

/// A fact about a running call, which stages report once.
///
/// `Call.report` derives all visible state from it: the call's state, its lists of attempts and redirects, its
/// explanation, the events of its handle, and those of instruments.
enum CallEvent: Sendable {
  /// The call has left its queue, if it was in one.
  case started
  /// The call waits, until it reports `running`.
  case waiting(RequestEvent.WaitReason)
  case running
  /// An attempt begins.
  case attempt(number: Int, hop: Int)
  /// An attempt ended; a policy decided about another one, unless it succeeded.
  case attempted(HTTPResponse.Attempt, Explanation.Decision?)
  /// A redirect is followed; the first decision contains the reason, the others changes of the request.
  case redirected(HTTPResponse.Redirect, [Explanation.Decision])
  /// The URL of a request was changed to https.
  case upgraded(host: String)
  /// A challenge is answered.
  case responded(AuthenticationScheme, realm: String?, Explanation.Party)
  /// An exchange entered a phase.
  case phase(HTTPError.Phase, exchange: Int)
  /// An interim response arrived, except 100.
  case informational(HTTPResponse.Informational, exchange: Int)
  /// The head of a response arrived.
  case head(StreamedResponse, exchange: Int)
  /// A response could not be stored, with the reason.
  case notCached(String)
  /// A credential could not be stored, with the reason.
  case credentialNotStored(String)
  /// A decision, which the explanation of each call contains.
  case decided(Explanation.Decision)
}

/// The view of a call for rules and sessions.
protocol RunningCall: AnyObject, Sendable {
  var id: RequestID { get }
  var timeline: Timeline { get }
  /// The current date for the client.
  var date: Date { get }
  func report(_ event: CallEvent)
}
