import Martlet
import TestSupport
import Testing

extension Trait where Self == TimeLimitTrait {
  /// The only limit of a test, which prevents hanging; no test depends on the speed of the machine.
  static var hangLimit: TimeLimitTrait {
    _ = slowMachine
    return .timeLimit(.minutes(isSanitized ? 20 : Stress.isOn ? 10 : 1))
  }
}

/// Under the sanitizer, raises the clients' default limits above those of the tests.
private let slowMachine: Void = {
  guard isSanitized else { return }
  HTTPClient.Configuration.default.timeout = TimeoutPolicy(
    connect: .seconds(120), idle: .seconds(600), total: .seconds(3_600))
}()

extension Trait where Self == ConditionTrait {
  /// Runs the test only with `MARTLET_STRESS=1`, because the test measures something or is slow.
  static var stressOnly: ConditionTrait { .enabled(if: Stress.isOn, "MARTLET_STRESS=1 is not set") }
}
