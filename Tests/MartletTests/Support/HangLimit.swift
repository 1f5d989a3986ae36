import Testing

extension Trait where Self == TimeLimitTrait {
  /// The only time limit of unit tests.
  ///
  /// It guards against hanging and is far above what any test takes, even on a heavily loaded machine.
  static var hangLimit: TimeLimitTrait { .timeLimit(.minutes(20)) }
}
