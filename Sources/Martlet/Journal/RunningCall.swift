import Foundation

/// What a rule or a session may know of the call that it works for, and what it may tell it.
protocol RunningCall: AnyObject, Sendable {
  var id: RequestID { get }
  var timeline: Timeline { get }
  /// The current date for the client.
  var date: Date { get }
  func emit(_ event: RequestEvent)
  func report(_ state: RequestEvent.State)
}
