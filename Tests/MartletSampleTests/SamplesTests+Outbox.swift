import Foundation
import Martlet
import MartletOutbox
import MartletTesting
import TestSupport
import Testing

/// Samples from the article on the outbox.
extension SamplesTests {
  @Test func `submits requests to an outbox and handles dead letters`() async throws {
    let box = try TemporaryFolder()
    let folder = box.url.appending(path: "outbox")
    let client = HTTPClient {
      $0.baseURL = "https://api.example"
      $0.timeout = .unlimited
      $0.transport = StubTransport { request in
        .status(request.url?.path == "/bad" ? 400 : request.url?.path == "/gone" ? 410 : 204)
      }
    }

    let outbox = try await client.outbox(at: folder)
    try await outbox.submit(.post("/events", body: .json(["action": "login"])), key: "user-7")

    try await outbox.submit(.post("/bad"))
    try await outbox.submit(.post("/gone"))
    await outbox.waitUntilIdle()
    for letter in try await outbox.deadLetters() {
      print(letter.request, letter.failure)
      if letter.failure == .status(.badRequest) {
        try await outbox.remove(letter.id)
      } else {
        try await outbox.retry(letter.id)
      }
    }

    await outbox.waitUntilIdle()
    #expect(outbox.status.delivered == 1)
    #expect(try await outbox.deadLetters().map(\.failure) == [.status(.gone)])
  }

  @Test func `drains on termination`() async throws {
    let none: HTTPClient? = nil
    guard let client = none else { return }
    client.drainOnTermination(timeout: .seconds(10))
  }

  private func poll(_ client: HTTPClient) async {}

  @Test func `waits for termination`() async throws {
    let none: HTTPClient? = nil
    guard let client = none else { return }
    let work = Task { await poll(client) }
    await client.waitForTermination(timeout: .seconds(20))
    await work.value
  }
}
