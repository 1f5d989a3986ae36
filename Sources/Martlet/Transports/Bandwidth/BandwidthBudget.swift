import MartletBase

/// What a limit has left in each direction; shared by all copies of the configuration that it was set in.
final class BandwidthBudget: Sendable {
  let down: BandwidthLane?
  let up: BandwidthLane?

  init(_ limit: BandwidthLimit) {
    down = limit.down.map { BandwidthLane(rate: $0) }
    up = limit.up.map { BandwidthLane(rate: $0) }
  }
}
