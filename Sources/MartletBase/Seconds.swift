/// Arithmetic on callers' durations, which may be as long as the type allows.
///
/// `Duration.components` traps beyond 2⁶³ seconds, and sums trap beyond 2¹²⁷ attoseconds. So callers' durations are
/// converted and added with these functions only.
extension Duration {
  /// The longest duration in sums: a hundred years, which is as good as no limit.
  public static let longest = Duration.seconds(100 * 365 * 86_400)
  private static let representable = Duration.seconds(Int64.max)

  /// The duration, at most ``longest`` in either direction.
  public var bounded: Duration { min(max(self, .zero - .longest), .longest) }

  /// The sum of the bounded durations.
  public func adding(_ other: Duration) -> Duration { bounded + other.bounded }

  /// Doubles the duration several times, up to `maximum`.
  public func doubled(_ times: Int, upTo maximum: Duration) -> Duration {
    var result = min(self, maximum)
    var times = times
    while times > 0, result > .zero, result < maximum {
      result = result > maximum / 2 ? maximum : result * 2
      times -= 1
    }
    return result
  }

  /// The `components`, at most 2⁶³ - 1 seconds.
  public var clampedComponents: (seconds: Int64, attoseconds: Int64) {
    min(max(self, .zero - Self.representable), Self.representable).components
  }

  /// The duration as a number of seconds.
  ///
  /// Many times faster than the division of two durations, or the conversion of `attoseconds`, which has 128 bits.
  public var inSeconds: Double {
    let (seconds, attoseconds) = clampedComponents
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}

extension Double {
  /// The number, at most 1 and at least 0; 0 if it is not a number.
  public var share: Double { self > 0 ? min(self, 1) : 0 }
}
