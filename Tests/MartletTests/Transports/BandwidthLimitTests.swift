import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite(.hangLimit) struct BandwidthLimitTests {
  private static let second: Int64 = 1_000_000

  // MARK: Rates, on a clock that the test advances

  @Test(arguments: [1024, 10_000, 200_000, 50_000_000], [1, 1000, 16 << 10])
  func `a token bucket follows its rate for chunks of any size`(_ rate: Int, _ piece: Int) {
    var bucket = TokenBucket(rate: rate)
    var now: Int64 = 17
    var moved = 0
    var turns = 0
    bucket.advance(to: now, isAwaited: false)
    while now < 40 * Self.second, turns < 300_000 {
      turns += 1
      if bucket.isOpen {
        bucket.spend(piece)
        moved += piece
      } else {
        now += max(5000, bucket.wait)
        bucket.advance(to: now, isAwaited: true)
      }
    }

    // The initial tokens and the last chunk may exceed the rate.
    let due = Double(now - 17) / Double(Self.second) * Double(rate)
    #expect(abs(Double(moved) - due) <= Double(rate) / 20 + Double(piece) + 1, "\(moved), \(due)")
  }

  @Test(arguments: [20_000, 200_000, 5_000_000])
  func `no five seconds exceed the rate by more than 15 percent despite late wakeups`(_ rate: Int) {
    var random = SeededGenerator(seed: 7)
    let lane = RateLimiter(rate: rate)
    let riders = (0..<4).map { _ in Rider() }
    var now: Int64 = 0
    var moves: [(time: Int64, bytes: Int)] = []
    while now < 60 * Self.second {
      // Some riders are idle for a while.
      let active = riders.enumerated().filter { (now / (3 * Self.second) + Int64($0.offset)) % 3 != 0 }.map(\.element)
      for rider in riders where !active.contains(where: { $0 === rider }) {
        lane.leave(ObjectIdentifier(rider), returning: 0)
      }
      for rider in (0..<64).flatMap({ _ in active }) where lane.claim(ObjectIdentifier(rider), at: now) == nil {
        moves.append((now, lane.slice))
      }
      now += Int64.random(in: 1...100, using: &random) == 1 ? 900_000 : Int64.random(in: 1000...20_000, using: &random)
    }

    var most = 0
    var sum = 0
    var first = 0
    for move in moves {
      sum += move.bytes
      while moves[first].time < move.time - 5 * Self.second {
        sum -= moves[first].bytes
        first += 1
      }
      most = max(most, sum)
    }
    #expect(Double(most) <= Double(rate) * 5 * 1.15, "\(most)")
    #expect(Double(most) >= Double(rate) * 5 * 0.85, "\(most)")
  }

  @Test func `unused tokens are not saved up, and tokens of late wakeups are not lost`() {
    func left(_ bucket: TokenBucket) -> Int {
      var (bucket, count) = (bucket, 0)
      while bucket.isOpen {
        bucket.spend(1)
        count += 1
      }
      return count
    }
    var bucket = TokenBucket(rate: 100_000)
    bucket.advance(to: 0, isAwaited: false)
    bucket.advance(to: 60 * Self.second, isAwaited: false)
    #expect(left(bucket) == 5000)

    bucket.spend(5000)
    bucket.advance(to: 60 * Self.second + 200_000, isAwaited: true)
    #expect(left(bucket) == 20_000)

    // A clock that goes backward neither adds nor removes tokens.
    bucket.advance(to: 0, isAwaited: true)
    #expect(left(bucket) == 20_000)
    bucket.advance(to: .max, isAwaited: true)
    #expect(left(bucket) == 25_000)
  }

  @Test func `bytes beyond the allowance extend the wait`() {
    var bucket = TokenBucket(rate: 10_000)
    bucket.advance(to: 0, isAwaited: false)
    #expect(bucket.isOpen && bucket.wait == 0)

    bucket.spend(20_500)

    #expect(!bucket.isOpen)
    #expect(bucket.wait >= 2 * Self.second && bucket.wait < 2 * Self.second + 1000)
    bucket.spend(.max)
    #expect(bucket.wait > 0)
  }

  // MARK: Turns

  @Test func `turns are shared equally regardless of the number of claims`() {
    let lane = RateLimiter(rate: 100_000)
    let riders = (0..<4).map { _ in Rider() }
    var counts = [0, 0, 0, 0]
    for now in stride(from: 0, to: 10 * Self.second, by: 10_000) {
      // The first rider claims ten times as often.
      for index in [0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0]
      where lane.claim(ObjectIdentifier(riders[index]), at: now) == nil {
        counts[index] += lane.slice
      }
    }

    #expect(counts.allSatisfy { (240_000...260_000).contains($0) }, "\(counts)")
  }

  @Test func `leaving the queue unblocks later transfers and returns unused bytes`() {
    let lane = RateLimiter(rate: 1024)
    let riders = (0..<3).map { _ in Rider() }
    let ids = riders.map { ObjectIdentifier($0) }
    #expect(lane.claim(ids[0], at: 0) == nil)
    #expect(lane.claim(ids[1], at: 0) != nil)
    #expect(lane.claim(ids[2], at: 0) != nil)
    #expect(lane.claim(ids[2], at: 0) != nil)
    #expect(lane.waiterCount == 2)
    #expect(lane.claim(ids[2], at: 2 * Self.second) != nil)

    lane.leave(ids[1], returning: 0)
    #expect(lane.claim(ids[2], at: 2 * Self.second) == nil)
    #expect(lane.waiterCount == 0)

    #expect(lane.claim(ids[0], at: 2 * Self.second) != nil)
    lane.leave(ids[2], returning: 1024)
    #expect(lane.claim(ids[0], at: 2 * Self.second) == nil)
  }

  @Test func `a turn is 20 ms of the rate, within bounds`() {
    #expect([1024, 200_000, 50_000_000].map { RateLimiter(rate: $0).slice } == [1024, 4000, 16_384])
    #expect(RateLimiter(rate: .max).claim(ObjectIdentifier(Rider()), at: 0) == nil)
  }

  // MARK: Settings

  @Test(
    arguments: [(1023, nil, "down is 1023"), (nil, 0, "up is 0"), (-1, 1024, "down is -1")] as [(Int?, Int?, String)])
  func `a limit below 1 KiB is rejected by name before a request is sent`(
    _ down: Int?, _ up: Int?, _ text: String
  ) async {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.bandwidth = .limit(down: down, up: up)
    }

    let error = await #expect(throws: HTTPError.self) { try await client.get("http://a.example/") }

    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("bandwidth.\(text)") == true, "\(error?.message ?? "")")
    #expect(transport.requests.isEmpty)
  }

  @Test func `copies of a configuration share a rate limiter until the limit changes`() {
    var configuration = HTTPClient.Configuration()
    #expect(configuration.bandwidthBudget == nil)
    configuration.bandwidth = .limit(down: 4096)
    let budget = configuration.bandwidthBudget
    #expect(budget?.down != nil && budget?.up == nil)

    var copy = configuration
    copy.bandwidth = .limit(down: 4096)
    copy.headers["A"] = "b"
    #expect(copy.bandwidthBudget === budget)
    copy.bandwidth?.up = 4096
    #expect(copy.bandwidthBudget !== budget && copy.bandwidthBudget?.up != nil)
    copy.bandwidth = nil
    #expect(copy.bandwidthBudget == nil)
  }

  #if canImport(Darwin) || URLSession
    @Test func `the system loader rejects bandwidth limits`() async {
      let client = HTTPClient.onTestClock {
        $0.transport = .urlSession(loader: .system)
        $0.bandwidth = .limit(up: 1024)
      }

      let error = await #expect(throws: HTTPError.self) { try await client.get("http://127.0.0.1:9/") }

      #expect(error?.kind == .unsupported)
      #expect(error?.message.contains("bandwidth limits") == true)
    }
  #endif

  private final class Rider {}
}
