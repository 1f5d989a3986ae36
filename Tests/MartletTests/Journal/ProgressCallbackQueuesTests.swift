import Dispatch
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct ProgressCallbackQueuesTests {
  @Test func `runs at most two closures at once with a width of two, and the others in order`() async {
    let lanes = ProgressCallbackQueues(width: 2)
    let begun = Log<Int>()
    let ends = (0..<6).map { _ in DispatchSemaphore(value: 0) }
    let ended = Shared(0)

    for number in 0..<6 {
      lanes.run {
        begun.add(number)
        ends[number].wait()
        ended.withLock { $0 += 1 }
      }
    }
    await begun.wait { $0.count == 2 }
    for number in 1..<6 {
      #expect(Set(begun.elements) == Set(0...number))
      ends[number].signal()
      if number < 5 { await begun.wait { $0.count == number + 2 } }
    }
    ends[0].signal()
    await ended.wait { $0 == 6 }

    #expect(begun.elements.dropFirst(2) == [2, 3, 4, 5])
  }
}
