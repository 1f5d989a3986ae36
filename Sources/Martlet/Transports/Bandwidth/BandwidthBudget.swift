import MartletBase

/// The rate limiters of a bandwidth limit, one per direction.
///
/// All copies of the configuration with this limit share them.
final class BandwidthBudget: Sendable {
  let down: BandwidthLane?
  let up: BandwidthLane?

  init(_ limit: BandwidthLimit) {
    down = limit.down.map { BandwidthLane(rate: $0) }
    up = limit.up.map { BandwidthLane(rate: $0) }
  }
}
