import Foundation

extension Call {
  /// Records a decision if the program asked for an explanation.
  func explain(_ decision: @autoclosure () -> Explanation.Decision) {
    if explains { note(decision()) }
  }
}

extension Call: RunningCall {
  package var timeline: Timeline { core.timeline }
  var date: Date { settings.configuration.now() }
}
