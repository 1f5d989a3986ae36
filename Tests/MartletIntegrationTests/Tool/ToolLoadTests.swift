#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import MartletTool

  /// `martlet load`.
  @Suite(.hangLimit) struct ToolLoadTests {
    @Test func `sends the requested number of requests and counts their results`() async throws {
      let count = Shared(0)
      let server = try MockServer { _ in
        let number = count.withLock { count in
          count += 1
          return count
        }
        return number % 4 == 0 ? .status(503) : .ok("x")
      }
      defer { server.stop() }

      let result = try await ToolProcess.martlet(
        "load", server.url("/x"), "--count", "40", "--at-a-time", "8", "--adaptive", "--rate", "1000", "--breaker", "5")

      #expect(result.status == 3, "\(result.errors)")
      #expect(result.text.contains("200: 30\n503: 10\ngood responses/s: "))
      #expect(result.text.contains("limit of \(server.url):"))
      #expect(server.requests.count == 40)
    }

    @Test func `deadlines and an open circuit fail the remaining requests at once`() async throws {
      let server = try MockServer(.hang)
      defer { server.stop() }

      let result = try await ToolProcess.martlet(
        "load", server.url("/x"), "--count", "12",
        "--at-a-time", "1", "--deadline", "1", "--breaker", "2")

      #expect(result.status == 3)
      #expect(result.text.contains("circuitOpen: 10\ntimedOut: 2\n"), "\(result.text)")
      #expect(result.text.contains("circuit of \(server.url): open for"))
    }

    @Test(arguments: [
      ["load", "http://a.test", "--count", "0"], ["load", "http://a.test", "--rate", "-1"], ["load", "--adaptive"],
      ["load", "http://a.test", "--deadline"], ["load", "http://a.test", "-o", "f"], ["load", "http://a.test", "a=b"],
      ["load", "http://a.test", "--arrivals", "nan"], ["load", "http://a.test", "--hedge", "1.5"],
    ])
    func `rejects invalid and unsupported arguments`(words: [String]) {
      #expect(throws: UsageError.self) { try Arguments.parse(words) }
    }
  }
#endif
