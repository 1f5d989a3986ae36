#if os(Linux)
  @testable import CurlEngine
  @testable import Martlet
  import Testing

  @Suite struct InlineWaitHeuristicTests {
    @Test func `expects a fast response only after many fast ones`() {
      var pace = InlineWaitHeuristic()
      var expectations: [Bool] = []

      for _ in 0..<InlineWaitHeuristic.price + 1 {
        expectations.append(pace.isQuick)
        pace.record(pace.patience)
      }

      #expect(expectations == Array(repeating: false, count: InlineWaitHeuristic.price) + [true])
    }

    @Test func `tolerates a few slow responses after many fast ones`() {
      var pace = InlineWaitHeuristic()
      for _ in 0..<10_000 { pace.record(1) }

      let afterSlow = (1...5).map { _ in
        pace.record(.max)
        return pace.isQuick
      }

      #expect(afterSlow == [true, true, true, false, false])
    }

    /// The cost of unsuccessful waits stays below the savings of quick responses.
    @Test(arguments: 1...16) func `waits in vain for at most one of seventeen responses`(_ quickOnes: Int) {
      var pace = InlineWaitHeuristic()
      var waits = 0
      for number in 1...10_000 {
        let isSlow = number % (quickOnes + 1) == 0
        if isSlow && pace.isQuick { waits += 1 }
        pace.record(isSlow ? .max : 100)
      }

      #expect(waits <= 10_000 / 17)
      if quickOnes < 15 { #expect(waits == 0) }
    }

    @Test func `yields on every sixteenth inline wait`() {
      let count = AwaitedCount()

      let turns = (1...64).filter { _ in count.hasToYield() }

      #expect(turns == [16, 32, 48, 64])
      #expect(count.value == 64)
    }
  }
#endif
