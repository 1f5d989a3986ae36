#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// The bytes of a body and when they arrived.
  final class Flow: Sendable {
    private struct Arrival {
      var time: ContinuousClock.Instant
      /// The number of bytes up to this time.
      var total: Int
    }

    private let arrivals = Shared<[Arrival]>([])

    var total: Int { arrivals.withLock { $0.last?.total ?? 0 } }
    var start: ContinuousClock.Instant? { arrivals.withLock { $0.first?.time } }
    var end: ContinuousClock.Instant? { arrivals.withLock { $0.last?.time } }

    /// The bytes per second from the first chunk, whose duration is unknown, to the last one.
    var rate: Double { Self.rate(of: [self]) }

    /// Returns the combined rate of several flows.
    static func rate(of flows: [Flow]) -> Double {
      guard let start = flows.compactMap(\.start).min(), let end = flows.compactMap(\.end).max(), start < end else {
        return 0
      }
      let bytes = flows.reduce(0) { $0 + $1.bytes(from: start, to: end) }
      return Double(bytes) / ((end - start) / .seconds(1))
    }

    /// Returns the number of bytes that arrived after one instant, up to another one.
    func bytes(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) -> Int {
      arrivals.withLock { arrivals in
        let before = arrivals.last { $0.time <= start }?.total ?? 0
        return (arrivals.last { $0.time <= end }?.total ?? 0) - before
      }
    }

    /// Reads a body to its end.
    func read(_ client: HTTPClient, _ request: HTTPRequest) async throws {
      try await client.stream(request) { response in
        for try await piece in response.body {
          let now = ContinuousClock.now
          arrivals.withLock { $0.append(Arrival(time: now, total: ($0.last?.total ?? 0) + piece.count)) }
        }
      }
    }
  }

  /// The required accuracy of a limit.
  enum Pace {
    /// Expects a rate: at most 15 % above a limit and at most 15 % below it.
    ///
    /// A busy machine may reduce the rate, so it is measured up to three times.
    ///
    /// - Parameters:
    ///   - limit: The bytes per second.
    ///   - location: The location of the call.
    ///   - measure: Measures the rate once.
    static func expect(
      _ limit: Int, at location: SourceLocation = #_sourceLocation, _ measure: () async throws -> Double
    ) async rethrows {
      var rates: [Double] = []
      for _ in 0..<3 {
        let rate = try await measure()
        #expect(rate <= Double(limit) * 1.15, "a limit of \(limit) exceeded", sourceLocation: location)
        if rate >= Double(limit) * (isSanitized ? 0.3 : 0.85) { return }
        rates.append(rate)
      }
      Issue.record("\(rates) bytes per second, with a limit of \(limit)", sourceLocation: location)
    }

    /// Returns how many seconds the closure takes.
    static func seconds(_ body: () async throws -> Void) async rethrows -> Double {
      let start = ContinuousClock.now
      try await body()
      return (ContinuousClock.now - start) / .seconds(1)
    }
  }
#endif
