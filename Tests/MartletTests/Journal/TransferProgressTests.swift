import Dispatch
import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct TransferProgressTests {
  private static let url = RequestTarget("http://example.test/")

  private static let settings: ClientSetting = [.timeout(.unlimited), .random(0)]

  /// Expects that counts and fractions never decrease.
  static func expectRising(_ told: [TransferProgress], sourceLocation: SourceLocation = #_sourceLocation) {
    for (before, after) in zip(told, told.dropFirst()) {
      let isRising =
        after.sent >= before.sent && after.received >= before.received && after.resent >= before.resent
        && after.rereceived >= before.rereceived && after.attempt >= before.attempt
        && after.fraction ?? 0 >= before.fraction ?? 0 && after.fractionSent ?? 0 >= before.fractionSent ?? 0
        && after.fractionReceived ?? 0 >= before.fractionReceived ?? 0
      #expect(isRising, "\(before) \(after)", sourceLocation: sourceLocation)
    }
    let fractions = told.flatMap { [$0.fraction, $0.fractionSent, $0.fractionReceived] }.compactMap { $0 }
    #expect(fractions.allSatisfy { 0...1 ~= $0 }, sourceLocation: sourceLocation)
  }

  @Test func `reports rate and time left at most 20 times a second, and once at the end`() async throws {
    let clock = TestClock(advancing: .manually)
    let told = Log<(at: Duration, TransferProgress)>()
    let transport = StubTransport(withContext: { _, context in
      for number in 0..<400 {
        context.didReceive(10, of: 4000)
        await told.wait(for: number / 5 + 1)
        clock.advance(by: .milliseconds(10))
      }
      return .text("x")
    })

    _ = try await HTTPClient.stubbed(transport, Self.settings, clock: clock)
      .get(Self.url, options: .onProgress { told.add((clock.now.offset, $0)) })

    let times = told.elements.map(\.at)
    let progress = told.elements.map(\.1)
    #expect(progress.count == 81)
    #expect(zip(times, times.dropFirst()).dropLast().allSatisfy { $1 - $0 >= .milliseconds(50) })
    Self.expectRising(progress)
    #expect(progress.first?.bytesPerSecond.received == 0 && progress.first?.timeLeft == nil)
    let middle = try #require(progress.first { $0.received > 2000 })
    #expect(abs(middle.bytesPerSecond.received - 1000) < 10, "\(middle.bytesPerSecond)")
    let left = try #require(middle.timeLeft)
    #expect(abs(left / .seconds(1) - 1.99) < 0.03, "\(left)")
    #expect(progress.dropLast().allSatisfy { !$0.isFinished })
    let last = try #require(progress.last)
    #expect(last.isFinished && last.fraction == 1 && last.received == 4000 && last.timeLeft == .zero)
  }

  @Test func `the rate is the average of the last five seconds`() async throws {
    let clock = TestClock(advancing: .manually)
    let told = Log<TransferProgress>()
    let transport = StubTransport(withContext: { _, context in
      for number in 1...200 {
        clock.advance(by: .milliseconds(100))
        context.didReceive(number > 100 ? 100 : 1000)
        await told.wait(for: number)
      }
      return .text("x")
    })

    _ = try await HTTPClient.stubbed(transport, Self.settings, clock: clock).get(
      Self.url, options: .onProgress { told.add($0) })

    #expect(abs(told.elements[99].bytesPerSecond.received - 10_000) < 500, "\(told.elements[99])")
    #expect(abs((told.elements.last?.bytesPerSecond.received ?? 0) - 1000) < 50)
  }

  @Test func `a repeated upload counts resent bytes separately`() async throws {
    let clock = TestClock()
    let told = Log<TransferProgress>()
    let transport = StubTransport(withContext: { _, context in
      for number in 1...10 {
        context.didSend(100, of: 1000)
        await told.wait(for: (context.attempt - 1) * 10 + number)
        clock.advance(by: .milliseconds(60))
      }
      if context.attempt == 1 { throw HTTPError(.connectionLost, "gone") }
      return .text("x")
    })
    let options = RequestOptions.retry(.backoff(attempts: 2)).onProgress { told.add($0) }

    _ = try await HTTPClient.stubbed(transport, Self.settings, clock: clock).put(
      Self.url, body: .data(Data(count: 1000)), options: options)

    let progress = told.elements
    Self.expectRising(progress)
    #expect(progress.count == 21)
    #expect(progress[4].sent == 500 && progress[4].resent == 0 && progress[4].attempt == 1)
    #expect(abs((progress[4].fraction ?? 0) - 0.45) < 0.001 && progress[4].fractionSent == 0.5)
    #expect(progress[14].sent == 1000 && progress[14].resent == 500 && progress[14].attempt == 2)
    #expect(progress.last?.resent == 1000 && progress.last?.fraction == 1)
  }

  @Test func `the fraction does not fall when the next attempt expects more bytes`() async throws {
    let clock = TestClock()
    let told = Log<TransferProgress>()
    let transport = StubTransport(withContext: { _, context in
      let isFirst = context.attempt == 1
      for number in 1...(isFirst ? 5 : 10) {
        context.didReceive(100, of: isFirst ? 1000 : 10_000)
        await told.wait(for: isFirst ? number : 5 + number)
        clock.advance(by: .milliseconds(60))
      }
      if isFirst { throw HTTPError(.connectionLost, "gone") }
      return .text("x")
    })

    _ = try await HTTPClient.stubbed(transport, Self.settings, clock: clock)
      .get(Self.url, options: .retry(.backoff(attempts: 2)).onProgress { told.add($0) })

    Self.expectRising(told.elements)
    #expect(told.elements.dropLast().last?.fraction == 0.5 && told.elements.last?.rereceived == 500)
  }

  @Test func `without a length there is no fraction until the end`() async throws {
    let clock = TestClock()
    let told = Log<TransferProgress>()
    let transport = StubTransport(withContext: { _, context in
      context.didReceive(10)
      await told.wait(for: 1)
      return .text("x")
    })

    _ = try await HTTPClient.stubbed(transport, Self.settings, clock: clock).get(
      Self.url, options: .onProgress { told.add($0) })

    #expect(told.elements.map(\.fraction) == [nil, 1])
    #expect(told.elements.map(\.timeLeft) == [nil, .zero])
  }

  @Test func `reports completion to late listeners, even if no bytes were transferred`() async throws {
    let transport = StubTransport { _ in .status(.noContent) }
    let told = Log<TransferProgress>()
    let client = HTTPClient.stubbed(transport, Self.settings, clock: TestClock())

    let handle = client.start(.get(Self.url), options: .onProgress { told.add($0) })
    var seen: [TransferProgress] = []
    for await progress in handle.progress { seen.append(progress) }

    #expect(told.elements.map(\.isFinished) == [true])
    #expect(seen.last?.fraction == 1)
    var late: [TransferProgress] = []
    for await progress in handle.progress { late.append(progress) }
    #expect(late.map(\.fraction) == [1])
  }

  @Test func `a failed upload reports its last bytes but is not finished`() async throws {
    let clock = TestClock(advancing: .manually)
    let told = Log<TransferProgress>()
    let transport = StubTransport(withContext: { _, context in
      context.didSend(5, of: 20)
      await told.wait(for: 1)
      context.didSend(5, of: 20)
      throw HTTPError(.protocolViolation, "no")
    })

    await #expect(throws: HTTPError.self) {
      try await HTTPClient.stubbed(transport, Self.settings, clock: clock)
        .put(Self.url, body: .data(Data(count: 20)), options: .onProgress { told.add($0) })
    }

    #expect(told.elements.map(\.sent) == [5, 10])
    #expect(told.elements.allSatisfy { !$0.isFinished && $0.fraction ?? 0 < 0.5 })
  }

  @Test func `a blocking closure does not delay the transfer and receives the latest progress`() async throws {
    let clock = TestClock(advancing: .manually)
    let told = Log<Int64>()
    let mayReturn = DispatchSemaphore(value: 0)
    let transport = StubTransport(withContext: { _, context in
      context.didReceive(10, of: 100)
      await told.wait(for: 1)
      for _ in 0..<9 {
        clock.advance(by: .milliseconds(60))
        context.didReceive(10, of: 100)
      }
      mayReturn.signal()
      return .text("x")
    })

    _ = try await HTTPClient.stubbed(transport, Self.settings, clock: clock)
      .get(
        Self.url,
        options: .onProgress { progress in
          told.add(progress.received)
          if progress.received == 10 { mayReturn.wait() }
        })

    #expect(told.elements.first == 10 && told.elements.last == 100)
    #expect((2...3).contains(told.count), "\(told.elements)")
  }

  // MARK: Foundation

  #if canImport(Darwin) || URLSession
    @MainActor @Test func `Foundation's progress follows the request to its end`() async throws {
      let gates = [Gate(), Gate()]
      let transport = StubTransport(withContext: { _, context in
        await gates[0].pass()
        context.didReceive(25, of: 100)
        await gates[1].pass()
        return .text("x")
      })
      let handle = HTTPClient.stubbed(transport, Self.settings, clock: TestClock()).start(.get(Self.url))
      let progress = handle.foundationProgress
      // This observer is called after the one that updates Foundation's progress on the main queue.
      let told = Log<Int64>()
      handle.call?.watchProgress { told.add($0.received) }

      gates[0].open()
      await told.wait { $0.contains(25) }
      await Self.passMainQueue()
      #expect(progress.completedUnitCount == 250)
      #expect(progress.totalUnitCount == 1000 && progress.fractionCompleted == 0.25)
      #expect(!progress.isFinished && !progress.isIndeterminate && !progress.isCancelled)
      gates[1].open()
      _ = try await handle.value
      await Self.passMainQueue()
      #expect(progress.fractionCompleted == 1 && progress.isFinished)
      #expect(handle.foundationProgress.isFinished)
    }
  #endif

  /// Waits until the main queue has run its pending work.
  private static func passMainQueue() async {
    await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
  }

  #if canImport(Darwin) || URLSession
    @MainActor @Test func `cancelling Foundation's progress cancels the request`() async throws {
      let transport = StubTransport { _ in try await untilCancelled() }
      let handle = HTTPClient.stubbed(transport, Self.settings, clock: TestClock()).start(.get(Self.url))
      let progress = handle.foundationProgress

      #expect(progress.isIndeterminate && progress.isCancellable)
      progress.cancel()

      await #expect(throws: CancellationError.self) { try await handle.value }
      #expect(progress.isCancelled)
    }
  #endif

  @Test func `a watcher receives the current state, then each update`() async throws {
    let clock = TestClock()
    let gate = Gate()
    let told = Log<Double?>()
    let transport = StubTransport(withContext: { _, context in
      await gate.pass()
      context.didReceive(100, of: 100)
      await told.wait(for: 2)
      return .text("x")
    })
    let handle = HTTPClient.stubbed(transport, Self.settings, clock: clock).start(.get(Self.url))

    handle.call?.watchProgress { told.add($0.fraction) }
    gate.open()
    _ = try await handle.value

    #expect(told.elements == [nil, 1, 1])
  }
}
