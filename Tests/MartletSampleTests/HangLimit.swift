import Testing

extension Trait where Self == TimeLimitTrait {
  /// The same limit as in the unit tests.
  static var hangLimit: TimeLimitTrait { .timeLimit(.minutes(20)) }
}
