/// Decides when to sweep a table: not on each use, but after it has doubled.
///
/// However many entries survive, each use costs a constant share of the sweeps.
struct SweepPace {
  private let least: Int
  private var next: Int

  /// Creates a pace with the number of entries above which the first sweep is due.
  init(least: Int) { (self.least, next) = (least, least) }

  func isDue(_ count: Int) -> Bool { count >= next }

  /// Records a sweep that `rest` entries survived.
  mutating func swept(rest: Int) { next = max(least, 2 * rest) }
}
