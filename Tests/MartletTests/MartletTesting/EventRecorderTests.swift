import Martlet
import MartletTesting
import TestSupport
import Testing

@Suite(.hangLimit) struct EventRecorderTests {
  private static let never = Duration.seconds(86_400)

  private let recorder = EventRecorder<Int>()

  @Test func `keeps elements in order`() {
    for number in 1...3 { recorder.record(number) }

    #expect(recorder.elements == [1, 2, 3])
  }

  @Test func `returns at once if the elements are already recorded`() async {
    recorder.record(1)

    #expect(await recorder.wait(for: 1, timeout: .zero))
    #expect(await recorder.wait(for: 0, timeout: .zero))
  }

  @Test func `wakes a waiter when its element is recorded`() async {
    let asked = Log<Int>()
    async let isThere = recorder.wait(for: 3, timeout: Self.never)
    async let isSeven = recorder.wait(timeout: Self.never) {
      asked.add($0.count)
      return $0.last == 7
    }

    for number in 5...7 {
      await asked.wait(for: number - 4)
      recorder.record(number)
    }

    #expect(await isThere)
    #expect(await isSeven)
    #expect(asked.elements == [0, 1, 2, 3])
  }

  @Test func `gives up after the timeout`() async {
    recorder.record(1)

    #expect(await recorder.wait(for: 2, timeout: .zero) == false)
    #expect(await recorder.wait(timeout: .zero) { $0.contains(2) } == false)
  }

  @Test func `gives up when its task is cancelled`() async {
    let task = Task { [recorder] in await recorder.wait(for: 1, timeout: Self.never) }

    task.cancel()

    #expect(await task.value == false)
  }

  @Test func `can wait again after a timeout`() async {
    #expect(await recorder.wait(for: 1, timeout: .zero) == false)

    async let isThere = recorder.wait(for: 1, timeout: Self.never)
    recorder.record(1)

    #expect(await isThere)
  }

  @Test func `follows a stream to its end`() async {
    let (stream, continuation) = AsyncStream<Int>.makeStream()

    let task = recorder.follow(stream)
    for number in 1...3 { continuation.yield(number) }
    continuation.finish()
    await task.value

    #expect(recorder.elements == [1, 2, 3])
  }

  @Test func `records elements from concurrent tasks`() async {
    await withTaskGroup(of: Void.self) { [recorder] group in
      for number in 0..<100 { group.addTask { recorder.record(number) } }
      group.addTask { _ = await recorder.wait(for: 100, timeout: Self.never) }
    }

    #expect(recorder.elements.sorted() == Array(0..<100))
  }
}
