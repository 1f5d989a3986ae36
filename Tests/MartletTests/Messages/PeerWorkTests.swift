import Foundation
import TestSupport
import Testing

@testable import Martlet

/// The work for a peer's text is linear in its size, and not much more than for plain JSON of the same size.
///
/// The emulator of `.ci/work` counts instructions. With `MARTLET_WORK_BYTES`, the tests measure the thread's processor
/// time. The bounds are therefore wide: twice those of linear work, and half of those of quadratic work.
@Suite(.enabled(if: Steps.areCounted || PeerWork.bytes != nil, "instructions are counted by .ci/work"), .hangLimit)
struct PeerWorkTests {
  /// The sizes of two texts in bytes; the second text is four times as large.
  private static var sizes: [Int] {
    let size = PeerWork.bytes ?? 16 << 10
    return [size, 4 * size]
  }

  private static func work(_ body: () -> Void) -> Int {
    if Steps.areCounted { return Steps.count(body) }
    let start = Steps.threadTime
    body()
    return Steps.threadTime - start
  }

  private static func plain(_ size: Int) -> Data {
    Data("[\(Array(repeating: "1", count: size / 2).joined(separator: ","))]".utf8)
  }

  @Test(arguments: PeerWork.all) func `the work is linear`(_ row: PeerWork) {
    // The first run has additional one-time costs.
    row.read(row.text(100))
    let texts = Self.sizes.map { row.text($0) }
    let plain = Self.plain(texts[1].count)
    // Other work may run on the core, so the minimum of several measurements is compared.
    var (small, large, unit) = (Int.max, Int.max, Int.max)
    for _ in 0..<(Steps.areCounted ? 1 : 5) {
      small = min(small, Self.work { row.read(texts[0]) })
      large = min(large, Self.work { row.read(texts[1]) })
      unit = min(unit, Self.work { _ = try? JSONParser.value(of: plain) })
      if large < 6 * small, 2 * large < row.bound * unit { break }
    }

    #expect(large < 8 * small, "\(small) \(large)")
    #expect(large < row.bound * unit, "\(unit) \(large)")
  }

  @Test func `detects quadratic work`() {
    let counts = [1_000, 4_000].map { size in
      let octets = Array(repeating: UInt8(1), count: size)
      return (0..<3).map { _ in
        Self.work {
          var sum = 0
          for first in octets { for second in octets where first == second { sum &+= 1 } }
        }
      }.min() ?? 0
    }

    #expect(counts[1] > 8 * counts[0], "\(counts)")
  }
}
