import MartletBase

extension Date {
  /// The date, between `distantPast` and `distantFuture`; 1 January 1970 if it is not a number.
  var bounded: Date {
    timeIntervalSinceReferenceDate.isNaN
      ? Date(timeIntervalSince1970: 0) : min(max(self, .distantPast), .distantFuture)
  }
}
