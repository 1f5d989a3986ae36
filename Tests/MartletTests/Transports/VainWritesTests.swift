#if os(Linux)
  import Testing

  @testable import CurlEngine

  @Suite struct VainWritesTests {
    /// The numbers of the events at which a pause begins.
    private static func pauses(
      _ writes: inout VainWrites, events: Int, sent: Int64, at now: Int64 = 0, on socket: CInt = 1
    ) -> [Int] {
      (1...events).filter { _ in writes.hadEvent(socket, at: now) { sent } }
    }

    @Test func `a socket that accepts bytes is never paused`() {
      var writes = VainWrites()
      for number in 0..<1_000 {
        let event = writes.hadEvent(1, at: 0) { Int64(number) }
        #expect(!event)
      }
      #expect(writes.time == nil)
    }

    @Test func `pauses after two checks without a byte in between`() {
      var writes = VainWrites()

      #expect(Self.pauses(&writes, events: 64, sent: 7, at: 5) == [64])

      #expect(writes.isPaused(1) && !writes.isPaused(2))
      #expect(writes.time == 5 + VainWrites.pauses.lowerBound)
    }

    @Test func `a pause is twice as long as the one before, up to a limit`() {
      var writes = VainWrites()
      _ = Self.pauses(&writes, events: 64, sent: 0)
      var lengths: [Int64] = []
      for _ in 0..<10 {
        let now = writes.time ?? 0
        let early = writes.resume(at: now - 1)
        #expect(early.isEmpty)
        let over = writes.resume(at: now)
        #expect(over == [1] && !writes.isPaused(1))
        #expect(Self.pauses(&writes, events: 1, sent: 0, at: now) == [1])
        lengths.append((writes.time ?? 0) - now)
      }
      #expect(lengths == [2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 64_000, 64_000, 64_000, 64_000])
    }

    @Test func `a read event ends a pause, and sent bytes restart the count`() {
      var writes = VainWrites()
      _ = Self.pauses(&writes, events: 64, sent: 0)

      let (first, second) = (writes.resume(1), writes.resume(1))

      #expect(first && !second && writes.time == nil)
      #expect(Self.pauses(&writes, events: 32, sent: 1) == [])
      #expect(Self.pauses(&writes, events: 1, sent: 1, at: 9) == [1])
      #expect(writes.time == 9 + VainWrites.pauses.lowerBound)
    }

    @Test func `sockets are independent`() {
      var writes = VainWrites()
      _ = Self.pauses(&writes, events: 64, sent: 0, at: 0, on: 1)
      _ = Self.pauses(&writes, events: 64, sent: 0, at: 500, on: 2)
      #expect(writes.time == 1_000)

      writes.forget(1)

      #expect(writes.time == 1_500 && !writes.isPaused(1) && writes.isPaused(2))
      #expect(Self.pauses(&writes, events: 40, sent: 0, on: 1) == [])
      let over = writes.resume(at: 2_000)
      #expect(over == [2])
    }
  }
#endif
