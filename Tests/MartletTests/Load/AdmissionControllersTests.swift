import MartletBase
import MartletTesting
import Testing

@testable import Martlet

@Suite struct AdmissionControllersTests {
  private static func origin(_ number: Int) -> Origin { Origin(scheme: "https", host: "\(number).test", port: 443) }

  @Test func `each of 12,000 active origins costs a constant share of the sweeps`() {
    let gates = AdmissionControllers(Timeline(TestClock()))

    for number in 0..<12_000 {
      let line = gates.line(.rate(.perMinute(1), .origin(Self.origin(number))))
      _ = line.arrive(priority: 0, caller: .anybody, end: nil, by: gates.timeline)
    }

    #expect(gates.lines.count == 12_000)
    #expect(gates.examined > 0 && gates.examined <= 2 * 12_000)
  }

  @Test func `each of 12,000 pauses costs a constant share of the sweeps`() {
    let gates = AdmissionControllers(Timeline(TestClock()))

    for number in 0..<12_000 { gates.pause(Self.origin(number), for: .seconds(60)) }

    #expect(gates.examined > 0 && gates.examined <= 2 * 12_000)
  }

  @Test func `a sweep removes idle admission queues`() {
    let gates = AdmissionControllers(Timeline(TestClock()))

    for number in 0..<3_000 { _ = gates.line(.rate(.perMinute(1), .origin(Self.origin(number)))) }

    #expect(gates.lines.count <= 1_000)
  }

  @Test func `a pause reaches the admission queues of its origin, before and after a sweep`() {
    let gates = AdmissionControllers(Timeline(TestClock()))
    let rates = [RateLimit.server, .perSecond(5), .perSecond(6)]
    let lines = rates.map { gates.line(.rate($0, .origin(Self.origin(-1)))) }
    for line in lines.dropFirst() { _ = line.arrive(priority: 0, caller: .anybody, end: nil, by: gates.timeline) }
    let other = gates.line(.rate(.perSecond(5), .origin(Self.origin(-2))))
    for number in 0..<1_500 { _ = gates.line(.rate(.perMinute(1), .origin(Self.origin(number)))) }

    gates.pause(Self.origin(-1), for: .seconds(60))

    let later = rates.map { gates.line(.rate($0, .origin(Self.origin(-1)))) }
    #expect(later.allSatisfy { $0.isPaused } && !other.isPaused)
    #expect(lines.dropFirst().allSatisfy { $0.isPaused })
  }
}
