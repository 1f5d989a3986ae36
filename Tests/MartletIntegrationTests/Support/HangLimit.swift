import Martlet
import TestSupport
import Testing

extension Trait where Self == TimeLimitTrait {
  /// The one limit of a test, which is there against hanging: no test depends on how fast a machine is.
  static var hangLimit: TimeLimitTrait {
    _ = slowMachine
    return .timeLimit(.minutes(isSanitized ? 20 : Stress.isOn ? 10 : 1))
  }
}

/// The limits of clients that set none, above those of the tests.
private let slowMachine: Void = {
  guard isSanitized else { return }
  HTTPClient.Configuration.default.timeout = TimeoutPolicy(
    connect: .seconds(120), idle: .seconds(600), total: .seconds(3_600))
}()

extension Trait where Self == ConditionTrait {
  /// The test measures, or takes long: it runs with `MARTLET_STRESS=1` only.
  static var stressOnly: ConditionTrait { .enabled(if: Stress.isOn, "MARTLET_STRESS=1 is not set") }
}
