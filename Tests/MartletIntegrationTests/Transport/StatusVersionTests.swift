#if os(Linux)
  import Foundation
  import Martlet
  import TestSupport
  import Testing

  /// Status lines of HTTP/2 and HTTP/3 on HTTP/1.1 connections.
  @Suite(.hangLimit) struct StatusVersionTests {
    /// libcurl 7.88 sends several requests at once on one HTTP/1.1 connection to a host that has sent such a status line.
    @Test(arguments: Lane.engines, ["HTTP/2 200 OK", "HTTP/2.0 200 OK", "HTTP/3 200", "HTTP/20"])
    func `a status line of another version is an error, and other requests get their own responses`(
      _ lane: Lane, _ statusLine: String
    ) async throws {
      let server = try ByteServer { number in
        guard number % 8 != 0 else {
          return DeliveryPlan(pieces: [Array("\(statusLine)\r\nContent-Length: 0\r\n\r\n".utf8)], end: .keep)
        }
        var plan = DeliveryPlan(pieces: [[]] + DeliveryLine.good(number).pieces, end: .keep)
        plan.pauses = [.milliseconds(number % 3)]
        return plan
      }
      defer { server.stop() }
      let client = lane.client { $0.timeout = TimeoutPolicy(idle: .seconds(50)) }

      await withTaskGroup(of: Void.self) { group in
        for worker in 0..<16 {
          group.addTask {
            for turn in 0..<Stress.count(20, full: 200) {
              let number = 1 + 16 * turn + worker
              let result = await Result { try await client.get(server.url(number)) }
              switch result {
              case .success(let response): #expect(number % 8 != 0 && response.text == DeliveryLine.name(number))
              case .failure(let error):
                #expect(number % 8 == 0 && (error as? HTTPError)?.kind == .protocolViolation, "\(number): \(error)")
              }
            }
          }
        }
      }
    }
  }
#endif
