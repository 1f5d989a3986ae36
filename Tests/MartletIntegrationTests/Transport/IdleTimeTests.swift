#if os(Linux)
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  @testable import CurlEngine

  @Suite(.hangLimit) struct IdleTimeTests {
    @Test(
      arguments: [
        ("timeout=5", 4_000_000), ("timeout=5, max=100", 4_000_000), ("max=100, TIMEOUT = 2", 1_000_000),
        ("timeout=1", 500_000), ("timeout=0", 0), ("timeout=99999999999999999999", 86_399_000_000), ("max=100", nil),
        ("timeout", nil), ("timeout=-1", nil), ("timeout=a", nil), ("timeout=\"5\"", nil), ("", nil), (",=,", nil),
      ] as [(String, Int64?)])
    func `parses how long the server keeps an idle connection`(value: String, time: Int64?) {
      #expect(IdleTime.announced(value.utf8) == time)
    }

    @Test(
      .needs(.reportedRequests), arguments: Lane.engines,
      [("timeout=0", 2), ("timeout=60", 1), ("max=100", 1)])
    func `does not reuse a connection after its announced idle time`(_ lane: Lane, _ hint: (String, Int))
      async throws
    {
      let server = try MockServer(.ok("a", headers: ["Keep-Alive": hint.0]))
      let client = lane.client()

      let first = try await client.get(RequestTarget(server.url))
      let second = try await client.post(RequestTarget(server.url), body: .text("b"))

      #expect(first.text == "a" && second.text == "a")
      #expect(second.connection?.isReused == (hint.1 == 1))
      #expect(server.connectionCount == hint.1)
    }
  }
#endif
