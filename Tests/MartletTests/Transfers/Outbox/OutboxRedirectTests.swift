import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletOutbox

/// Redirects of requests in an outbox.
@Suite(.hangLimit) struct OutboxRedirectTests {
  private let folder: OutboxFolder
  private let transport = StubTransport { request in
    switch request.url?.lastPathComponent {
    case "moved": .redirect(to: "https://api.test/there")
    case "see": .redirect(to: "https://api.test/other", status: .seeOther)
    default: .status(204)
    }
  }

  init() throws { folder = try OutboxFolder() }

  private func outbox(_ redirects: RedirectPolicy) async throws -> Outbox {
    let client = HTTPClient {
      $0.transport = transport
      $0.redirects = redirects
    }
    var options = Outbox.Options()
    options.maximumAttempts = 1
    return try await client.outbox(at: folder.url, options: options)
  }

  private var paths: [String] { transport.requests.map { $0.url?.lastPathComponent ?? "" } }

  @Test func `a redirect counts as a delivery only if it keeps the body`() async throws {
    let outbox = try await outbox(.follow)
    try await outbox.submit(.post("https://api.test/moved", body: .text("body")))
    try await outbox.submit(.post("https://api.test/see", body: .text("body")))
    await outbox.waitUntilIdle()

    let there = try #require(transport.requests.first { $0.url?.lastPathComponent == "there" })
    #expect(try await there.body?.bytes() == Data("body".utf8))
    #expect(try await outbox.deadLetters().map(\.failure) == [.redirected(.get)])
  }

  @Test func `follows no redirects if the client follows none`() async throws {
    let outbox = try await outbox(.off)
    try await outbox.submit(.post("https://api.test/moved", body: .text("body")))
    await outbox.waitUntilIdle()

    #expect(paths == ["moved"])
    let dead = try await outbox.deadLetters()
    #expect(dead.map(\.failure) == [.status(.found)] && dead.map(\.attempts) == [1])
  }

  @Test func `asks the client's closure about redirects`() async throws {
    let outbox = try await outbox(.ask { $0.next.url?.lastPathComponent == "there" ? .stop : .follow })
    try await outbox.submit(.post("https://api.test/moved", body: .text("body")))
    await outbox.waitUntilIdle()

    #expect(paths == ["moved"])
  }
}
