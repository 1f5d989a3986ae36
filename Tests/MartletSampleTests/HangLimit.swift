import Testing

extension Trait where Self == TimeLimitTrait {
  /// As that of the unit tests.
  static var hangLimit: TimeLimitTrait { .timeLimit(.minutes(20)) }
}
