#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Informational responses before the final one (RFC 9110 §15.2).
  @Suite(.hangLimit) struct InformationalTests {
    private static let final = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone"

    private struct Recorder: Instrument {
      let log: Log<InstrumentEvent.Kind>
      func observe(_ event: InstrumentEvent) { log.add(event.kind) }
    }

    private static func hints(_ count: Int, field: String = "Link: </a.css>; rel=preload") -> String {
      String(repeating: "HTTP/1.1 103 Early Hints\r\n\(field)\r\nSet-Cookie: sid=secret\r\n\r\n", count: count)
    }

    @Test(arguments: Lane.engines) func `a handle receives them in order, with their fields`(lane: Lane) async throws {
      let server = try MockServer(
        .steps([
          .text("HTTP/1.1 100 Continue\r\n\r\n" + Self.hints(1)),
          .text("HTTP/1.1 104 Upload Resumption Supported\r\nUpload-Offset: 7\r\n\r\n" + Self.final),
        ]))
      defer { server.stop() }
      let client = lane.client()

      let handle = client.start(.get(RequestTarget(server.url)))
      var events: [String] = []
      for await event in handle.events {
        switch event {
        case .informational(let response):
          let value = response.headers["Link"] ?? response.headers["Upload-Offset"] ?? ""
          events.append("\(response.status.rawValue) \(value)")
          #expect(!"\(event)".contains("secret"))
        case .head(let status): events.append("\(status.rawValue)")
        default: break
        }
      }

      #expect(events == ["103 </a.css>; rel=preload", "104 7", "200"])
      #expect(try await handle.value.text == "done")
    }

    @Test(arguments: Lane.engines) func `an instrument receives them, within limits`(lane: Lane) async throws {
      let large = "Link: " + String(repeating: "x", count: 20_000)
      let server = try MockServer(
        .steps([.text(Self.hints(1, field: large)), .text(Self.hints(200)), .text(Self.final)]))
      defer { server.stop() }
      let log = Log<InstrumentEvent.Kind>()
      let client = lane.client { $0.instruments = [Recorder(log: log)] }

      let response = try await client.get(RequestTarget(server.url))
      await log.wait { kinds in kinds.contains { if case .ended = $0 { true } else { false } } }

      let statuses = log.elements.compactMap { kind -> Int? in
        guard case .informational(let response, let exchange) = kind, exchange == 1 else { return nil }
        return response.status.rawValue
      }
      #expect(response.text == "done")
      #expect(statuses == Array(repeating: 103, count: 64))
    }
  }
#endif
