import Testing

extension Trait where Self == TimeLimitTrait {
  /// The one limit of a unit test, which is there against hanging, and far above what any of them takes on a machine that
  /// has nearly no time for it.
  static var hangLimit: TimeLimitTrait { .timeLimit(.minutes(20)) }
}
