import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

extension SamplesTests {
  private nonisolated struct Logger: Sendable {
    let log = Log<String>()

    func debug(_ line: String) { log.add(line) }
  }

  @Test func `logs to a sink`() async throws {
    let logger = Logger()

    let lines = LogSink { line in logger.debug(line) }
    let quiet = HTTPClient { $0.middleware = [LoggingMiddleware([.summary, .auth], to: lines)] }
    await quiet.update { $0.transport = StubTransport { _ in .text("x") } }
    try await quiet.get("http://a.test/")
    await lines.flush()

    #expect(logger.log.elements.count == 3)
  }

  @Test func `configures logging and redaction`() async throws {
    let client = HTTPClient { $0.exchangeMiddleware = [LoggingMiddleware(.headers)] }
    let careful = HTTPClient {
      $0.redaction = .standard.masking(headers: ["X-Tenant"], queryItems: ["email"]).showing(queryItems: ["code"])
    }
    let open = LoggingMiddleware(.headers, redaction: .revealingSecrets)
    let tool = HTTPClient {
      if let logging = LoggingMiddleware.fromEnvironment() { $0.exchangeMiddleware.append(logging) }
    }

    #expect(client.configuration.exchangeMiddleware.count == 1 && tool.configuration.middleware.isEmpty)
    let logger = Logger()
    let lines = LogSink { line in logger.debug(line) }
    let logging = careful.derived {
      $0.transport = StubTransport { _ in .text("x") }
      $0.middleware = [LoggingMiddleware(.summary, to: lines)]
    }
    _ = open
    try await logging.get("http://a.test/?email=1&code=2")
    await lines.flush()
    #expect(logger.log.elements.contains { $0.contains("http://a.test/?email=***&code=2") })
  }

  @Test func `masks parts of paths`() async throws {
    let careful = HTTPClient { $0.redaction = .standard.masking(paths: ["/users/*/keys/{key}", "/bot{token}"]) }

    let logger = Logger()
    let lines = LogSink { line in logger.debug(line) }
    let logging = careful.derived {
      $0.transport = StubTransport { _ in .text("x") }
      $0.middleware = [LoggingMiddleware(.summary, to: lines)]
    }
    try await logging.get("http://a.test/users/7/keys/abc/x")
    try await logging.get("http://a.test/bot7")
    await lines.flush()
    #expect(logger.log.elements.contains { $0.contains("http://a.test/users/7/keys/***/x") })
    #expect(logger.log.elements.contains { $0.contains("http://a.test/bot***") })
  }

  @Test func `exports a request to curl`() async throws {
    let client = HTTPClient()

    let command = try client.curlCommand(for: .post("https://api.example.com/users", body: .json(["name": "Ada"])))

    #expect(command.hasPrefix("curl --compressed --request POST --header 'Accept: */*'"))
    #expect(command.hasSuffix(#"--data-raw '{"name":"Ada"}' https://api.example.com/users"#))
  }
}
