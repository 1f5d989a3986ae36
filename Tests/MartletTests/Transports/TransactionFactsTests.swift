#if canImport(Darwin) || URLSession
  import Foundation
  import Testing

  @testable import Martlet

  @Suite(.hangLimit) struct TransactionFactsTests {
    private static func date(_ seconds: Double) -> Date { Date(timeIntervalSinceReferenceDate: seconds) }

    private static let fresh: TransactionFacts = {
      var facts = TransactionFacts()
      (facts.protocolName, facts.remoteAddress, facts.remotePort) = ("h2", "192.0.2.1", 443)
      (facts.localAddress, facts.localPort) = ("10.0.0.2", 50_000)
      facts.start = date(1)
      facts.lookup = (date(1), date(1.25))
      facts.connect = (date(1.25), date(2))
      facts.tls = (date(1.5), date(2))
      facts.requestEnd = date(3)
      return facts
    }()

    @Test func `a new connection has its addresses and times`() {
      let measured = Self.fresh.measurement

      #expect(measured.httpVersion == .http2)
      #expect(
        measured.connection
          == HTTPResponse.Connection(
            remoteAddress: "192.0.2.1", remotePort: 443, localAddress: "10.0.0.2", localPort: 50_000))
      #expect(measured.timing.nameLookup == .milliseconds(250))
      // Includes the lookup, and excludes TLS, as with the engine.
      #expect(measured.timing.connect == .milliseconds(500))
      #expect(measured.timing.tls == .milliseconds(500))
      #expect(measured.timing.sent == .seconds(2))
      #expect(measured.timing.queued == .zero && measured.timing.firstByte == nil)
    }

    @Test func `without TLS, the connection ends with its last step`() {
      var facts = Self.fresh
      facts.tls = (nil, nil)

      #expect(facts.measurement.timing.connect == .seconds(1))
      #expect(facts.measurement.timing.tls == nil)
    }

    @Test func `a reused connection has no times`() {
      var facts = Self.fresh
      facts.isReused = true

      let timing = facts.measurement.timing
      #expect(timing.nameLookup == nil && timing.connect == nil && timing.tls == nil && timing.sent == .seconds(2))
      #expect(facts.measurement.connection?.isReused == true)
    }

    @Test func `times that run backwards or are missing are not reported`() {
      var facts = Self.fresh
      facts.lookup = (Self.date(2), Self.date(1))
      facts.tls.end = nil
      facts.requestEnd = Self.date(0)

      let timing = facts.measurement.timing
      #expect(timing.nameLookup == nil && timing.connect == nil && timing.tls == nil && timing.sent == nil)
    }

    @Test func `a task without a connection reports none`() {
      #expect(TransactionFacts().measurement == ExchangeMeasurement())
    }

    @Test(
      arguments: [
        ("http/1.0", "1.0"), ("http/1.1", "1.1"), ("h2", "2"), ("h2c", "2"), ("H3", "3"), ("h3-29", "3"), ("h33", nil),
        ("spdy/3", nil), ("", nil), ("unknown", nil),
      ] as [(String, String?)])
    func `protocol names become versions`(_ name: String, _ version: String?) {
      #expect(TransactionFacts.version(name)?.description == version)
    }
  }
#endif
