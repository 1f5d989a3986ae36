import Martlet
import MartletBase
import TestSupport
import Testing

@Suite(.hangLimit) struct AbortSourceTests {
  struct Reason: Error, Equatable { var number = 0 }

  @Test func `keeps the first reason and reports which call aborted`() {
    let source = AbortSource()

    let first = source.abort(Reason(number: 1))
    let second = source.abort(Reason(number: 2))

    #expect(first)
    #expect(!second)
    #expect(source.error as? Reason == Reason(number: 1))
    #expect(throws: Reason(number: 1)) { try source.check() }
  }

  @Test func `throws nothing before it is aborted`() throws {
    let source = AbortSource()

    try source.check()

    #expect(source.error == nil)
  }

  @Test func `runs each handler once, in order, with the reason`() {
    let source = AbortSource()
    let seen = Log<String>()
    for name in ["a", "b", "c"] { source.onAbort { seen.add("\(name)\(($0 as? Reason)?.number ?? -1)") } }

    source.abort(Reason(number: 7))
    source.abort(Reason(number: 8))

    #expect(seen.elements == ["a7", "b7", "c7"])
  }

  @Test func `runs a handler added after the abort immediately`() {
    let source = AbortSource()
    let seen = Log<Int>()
    source.abort(Reason(number: 1))

    source.onAbort { _ in seen.add(1) }

    #expect(seen.elements == [1])
  }

  @Test func `does not run a removed handler`() {
    let source = AbortSource()
    let seen = Log<Int>()
    source.onAbort { _ in seen.add(1) }
    let token = source.onAbort { _ in seen.add(2) }
    source.onAbort { _ in seen.add(3) }

    source.remove(token)
    source.remove(token)
    source.abort(Reason())
    source.remove(token)

    #expect(seen.elements == [1, 3])
  }

  @Test func `a handler may call the source again`() {
    let source = AbortSource()
    let seen = Log<Int>()
    source.onAbort { [weak source] _ in
      source?.abort(Reason(number: 2))
      source?.onAbort { _ in seen.add(1) }
      source?.remove(0)
    }

    source.abort(Reason(number: 1))

    #expect(seen.elements == [1])
    #expect(source.error as? Reason == Reason(number: 1))
  }

  @Test func `releases the captures of a removed handler outside the lock`() {
    final class Owner: Sendable {
      let source: AbortSource
      let seen: Log<Bool>
      init(_ source: AbortSource, _ seen: Log<Bool>) { (self.source, self.seen) = (source, seen) }
      deinit { seen.add(source.error == nil) }
    }
    let source = AbortSource()
    let seen = Log<Bool>()
    var owner: Owner? = Owner(source, seen)
    let token = source.onAbort { [owner] _ in _ = owner }
    owner = nil

    source.remove(token)

    #expect(seen.elements == [true])
  }

  @Test func `one of many concurrent aborts wins, and each handler runs once`() async {
    for _ in 0..<Stress.count(100, full: 300) {
      let source = AbortSource()
      let wins = Log<Int>()
      let runs = Log<Int>()
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<6 {
          group.addTask { if source.abort(Reason(number: number)) { wins.add(number) } }
          group.addTask { source.onAbort { _ in runs.add(number) } }
        }
      }

      #expect(wins.elements.count == 1)
      #expect(runs.elements.sorted() == Array(0..<6))
      #expect(source.error as? Reason == wins.elements.first.map { Reason(number: $0) })
    }
  }

  // MARK: withAbort

  @Test func `withAbort passes on the result or error of its operation`() async throws {
    let source = AbortSource()

    let value = try await withAbort(source) { 5 }

    #expect(value == 5)
    await #expect(throws: Reason(number: 3)) { try await withAbort(source) { throw Reason(number: 3) } }
  }

  @Test func `withAbort throws the reason even if the cancelled operation ends at once`() async throws {
    for _ in 0..<Stress.count(200, full: 2_000) {
      let source = AbortSource()
      let (gate, never) = (Gate(), Gate())
      let waiting = Task {
        try await withAbort(source) {
          gate.open()
          await never.pass()
          throw CancellationError()
        }
      }
      await gate.pass()
      source.abort(Reason(number: 5))

      await #expect(throws: Reason(number: 5)) { try await waiting.value }
    }
  }

  @Test func `withAbort throws the reason even if the operation ignores cancellation`() async throws {
    let source = AbortSource()
    let gate = Gate()
    let seen = Log<Bool>()
    let waiting = Task {
      try await withAbort(source) {
        await gate.wait()
        seen.add(Task.isCancelled)
      }
    }
    await gate.waitForArrivals(1)

    source.abort(Reason(number: 4))

    await #expect(throws: Reason(number: 4)) { try await waiting.value }
    #expect(seen.elements.isEmpty)
    gate.open()
    await seen.wait(for: 1)
    #expect(seen.elements == [true])
  }

  @Test func `withAbort throws the reason if the source is already aborted`() async {
    let source = AbortSource()
    let gate = Gate()
    source.abort(Reason(number: 5))

    await #expect(throws: Reason(number: 5)) { try await withAbort(source) { await gate.wait() } }
    gate.open()
  }

  // MARK: Promise

  @Test func `a promise keeps the first result for its waiter`() async throws {
    let early = Promise<Int>()
    let first = early.resolve(.success(1))
    let second = early.resolve(.failure(Reason()))

    let value = try await early.take()
    let third = early.resolve(.success(3))

    #expect([first, second, third] == [true, false, false])
    #expect(value == 1)
  }

  @Test func `a promise resumes its waiter with the first result`() async {
    for _ in 0..<Stress.count(100, full: 500) {
      let late = Promise<Int>()
      let waiting = Task { try await late.take() }
      let wins = Log<Int>()
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<4 { group.addTask { if late.resolve(.success(number)) { wins.add(number) } } }
      }

      let value = try? await waiting.value

      #expect(wins.elements.count == 1)
      #expect(value == wins.elements.first)
    }
  }

  @Test func `a promise that was taken rejects a second wait`() async throws {
    let shot = Promise<Int>()
    shot.resolve(.success(1))
    _ = try await shot.take()

    await #expect(throws: CancellationError.self) { try await shot.take() }
  }
}
