import Foundation
import MartletBase
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletHAR

/// Facts that a transport reports only at the end of an exchange, as the system's loader does.
@Suite(.hangLimit) struct LateMeasurementTests {
  /// Reports the connection just before the end of the body.
  private struct MeasuringTransport: AbortAwareTransport {
    static let measured: ExchangeMeasurement = {
      var measured = ExchangeMeasurement(httpVersion: HTTPVersion("3"))
      measured.connection = HTTPResponse.Connection(
        remoteAddress: "2001:db8::1", remotePort: 443, localPort: 50_000, isReused: false)
      measured.timing.nameLookup = .milliseconds(1)
      measured.timing.connect = .milliseconds(3)
      measured.timing.tls = .milliseconds(4)
      measured.timing.sent = .milliseconds(9)
      return measured
    }()

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      let late = LateMeasurement()
      let left = Shared(2)
      let body = ResponseBody {
        let count = left.withLock { count in
          count -= 1
          return count
        }
        guard count < 1 else { return Data("x".utf8) }
        late.set(Self.measured)
        if count == 0 { context.exchange.didMeasure(Self.measured) }
        return nil
      }
      var response = StreamedResponse(status: .ok, body: body, request: request)
      response.measurement = late
      return response
    }
  }

  private static func client(_ change: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }) -> HTTPClient {
    HTTPClient(MeasuringTransport(), .clock(TestClock(advancing: .manually)), .cache(.off), change: change)
  }

  @Test func `a collected response has them`() async throws {
    let response = try await Self.client().get("https://a.test/")

    #expect(response.text == "x" && response.httpVersion == HTTPVersion("3"))
    #expect(response.connection == MeasuringTransport.measured.connection)
    #expect(response.timing.nameLookup == .milliseconds(1) && response.timing.connect == .milliseconds(3))
    #expect(response.timing.tls == .milliseconds(4) && response.timing.sent == .milliseconds(9))
    #expect(response.timing.firstByte == .zero)
  }

  @Test func `a streamed response has them at the end of its body`() async throws {
    try await Self.client().stream(.get("https://a.test/")) { response in
      var iterator = response.body.makeAsyncIterator()
      _ = try await iterator.next()
      #expect(response.connection == nil && response.httpVersion == nil)

      #expect(try await iterator.next() == nil)

      #expect(response.connection == MeasuringTransport.measured.connection)
      #expect(response.httpVersion == HTTPVersion("3"))
    }
  }

  @Test func `facts of the head take precedence`() {
    var head = ResponseHead(status: .ok, headers: [:], request: .get("https://a.test/"))
    (head.httpVersion, head.timing.connect) = (.http2, .seconds(5))
    head.measurement = LateMeasurement()
    head.measurement?.set(MeasuringTransport.measured)

    head.complete()

    #expect(head.httpVersion == .http2 && head.timing.connect == .seconds(5))
    #expect(head.timing.tls == .milliseconds(4) && head.measurement == nil)
  }

  @Test func `the explanation contains the connection`() async throws {
    let response = try await Self.client().get("https://a.test/", options: .explains())

    let text = response.explanation.description
    #expect(text.contains("a connection to [2001:db8::1]:443 was opened (HTTP/3)"))
  }

  @Test func `instruments receive them with the end of the exchange`() async throws {
    let recorder = InstrumentTests.Recorder()
    let client = Self.client { $0.instruments = [recorder] }

    _ = try await client.get("https://a.test/")
    await client.drain()

    let attributes: [[String: JSONValue]] = recorder.events.elements.compactMap { event in
      if case .exchangeEnded = event.kind { event.attributes } else { nil }
    }
    #expect(
      attributes == [
        [
          "network.protocol.name": "http", "network.protocol.version": "3", "network.peer.address": "2001:db8::1",
          "network.peer.port": 443,
        ]
      ])
  }

  @Test func `recordings contain them`() async throws {
    let folder = try TemporaryFolder()
    let file = URL(filePath: folder.path("x.har"))
    let recorder = try HARRecorder(to: file, maximumBodyBytes: 1 << 10, redaction: nil, delay: .seconds(300))
    let client = Self.client { $0.instruments = [recorder] }

    _ = try await client.get("https://a.test/")
    await client.drain()

    let entry = try #require(try HARFile(at: file).entries.first)
    #expect(entry.remoteAddress == "2001:db8::1" && entry.connection == "50000")
    #expect(entry.response.httpVersion == "HTTP/3")
  }
}
