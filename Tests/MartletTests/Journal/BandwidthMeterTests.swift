import Testing

@testable import Martlet

// S116
@Suite struct BandwidthMeterTests {
  private static func rate(_ meter: BandwidthMeter, at seconds: Double) -> [Double] {
    let rate = meter.rate(at: .seconds(seconds))
    return [rate.received, rate.sent]
  }

  @Test func `is zero before any transfer`() {
    #expect(Self.rate(BandwidthMeter(), at: 0) == [0, 0])
    #expect(Self.rate(BandwidthMeter(), at: 1e6) == [0, 0])
  }

  @Test(arguments: [(2.0, 200.0), (2.999, 200), (3, 200), (6.999, 200), (7, 0), (60, 0)])
  func `averages bytes over five seconds and then drops them`(time: Double, expected: Double) {
    let meter = BandwidthMeter()

    meter.record(sent: 500, received: 1000, at: .seconds(2.5))

    #expect(Self.rate(meter, at: time) == [expected, expected / 2])
  }

  @Test func `rises to the rate of a steady flow, then decays to zero`() {
    let meter = BandwidthMeter()
    var received: [Double] = []

    for second in 0..<8 {
      meter.record(sent: 0, received: 600, at: .seconds(second))
      meter.record(sent: 0, received: 400, at: .seconds(Double(second) + 0.9))
      received.append(Self.rate(meter, at: Double(second) + 0.95)[0])
    }
    let decay = (8..<14).map { Self.rate(meter, at: Double($0))[0] }

    #expect(received == [200, 400, 600, 800, 1000, 1000, 1000, 1000])
    #expect(decay == [800, 600, 400, 200, 0, 0])
  }

  @Test func `discards the old bytes of a reused bucket`() {
    let meter = BandwidthMeter()
    meter.record(sent: 0, received: 1000, at: .seconds(1))

    meter.record(sent: 0, received: 10, at: .seconds(6))

    #expect(Self.rate(meter, at: 6) == [2, 0])
    #expect(meter.totals.received == 1010)
  }

  @Test func `counts sent and received bytes separately`() {
    let meter = BandwidthMeter()

    meter.record(sent: 5, received: 0, at: .zero)
    meter.record(sent: 0, received: 10, at: .zero)

    #expect(Self.rate(meter, at: 0) == [2, 1])
    #expect(meter.totals.received == 10)
    #expect(meter.totals.sent == 5)
  }
}
