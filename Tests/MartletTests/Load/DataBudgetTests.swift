import Foundation
import MartletBase
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct DataBudgetTests {
  private static let start = Date(
    timeIntervalSince1970: 1_700_000_000 - 1_700_000_000.truncatingRemainder(dividingBy: 86_400))

  private static func client(
    _ budget: DataBudget, clock: TestClock = TestClock(automaticLimit: .seconds(200_000)), bytes: Int = 1_000
  ) -> HTTPClient {
    HTTPClient.stubbed(
      StubTransport(withContext: { _, context in
        context.didReceive(bytes)
        return .status(200, body: Data(count: bytes))
      }), clock: clock
    ) {
      $0.dataBudget = budget
      $0.timeout = .unlimited
      $0.now = { Self.start + clock.now.offset / .seconds(1) }
    }
  }

  @Test func `counts bodies and header sections, and fails before a request is sent`() async throws {
    let client = Self.client(.perDay(2_500))
    for _ in 0..<2 { _ = try await client.get("/") }
    let used = client.activity.current.data?.used[""] ?? 0
    #expect(used > 2_100 && used < 2_500)
    _ = try await client.get("/")

    let error = try await #require(throws: HTTPError.self) { try await client.get("/") }
    #expect(error.kind == .dataBudgetExceeded)
    #expect(error.wasNotProcessed)
    #expect(error.message == "the data budget is used up for another 86400.0 s")
    #expect(client.activity.current.data?.budget == 2_500)
  }

  @Test func `does not send a body that is longer than the remaining budget`() async throws {
    let client = Self.client(.perHour(5_000))
    let error = try await #require(throws: HTTPError.self) {
      try await client.post("/", body: .data(Data(count: 5_001)))
    }
    #expect(error.kind == .dataBudgetExceeded)
    #expect(error.message == "the body has 5001 bytes, but only 5000 are left in the data budget")
    #expect(client.activity.current.data?.used == [:])
  }

  @Test func `waits for the next period if configured`() async throws {
    let clock = TestClock(automaticLimit: .seconds(200_000))
    var budget = DataBudget.perHour(500)
    budget.whenExhausted = .waits
    let client = Self.client(budget, clock: clock)
    _ = try await client.get("/")
    _ = try await client.get("/")

    #expect(clock.now.offset == .seconds(3_600))
  }

  @Test func `counts each tag separately`() async throws {
    var budget = DataBudget.perDay(500)
    budget.scope = .tag
    let client = Self.client(budget)
    _ = try await client.get("/", options: .tag("a"))
    await #expect(throws: HTTPError.self) { try await client.get("/", options: .tag("a")) }
    _ = try await client.get("/", options: .tag("b"))
    _ = try await client.get("/")
    #expect(client.activity.current.data?.used.keys.sorted() == ["", "a", "b"])
  }

  @Test func `copies of the configuration and derived clients share it`() async throws {
    let client = Self.client(.perDay(500))
    _ = try await client.get("/")
    let derived = client.derived { $0.headers["X"] = "y" }
    await #expect(throws: HTTPError.self) { try await derived.get("/") }
    let copy = HTTPClient { $0 = client.configuration }
    await #expect(throws: HTTPError.self) { try await copy.get("/") }
  }

  @Test func `a file keeps the count for later clients, and adds up the counts of several`() async throws {
    let folder = try TemporaryFolder()
    var budget = DataBudget.perDay(10_000)
    budget.file = folder.url.appending(path: "budget")
    let clients = (0..<2).map { _ in Self.client(budget) }
    for client in clients {
      _ = try await client.get("/")
      await client.drain()
    }
    let next = Self.client(budget)
    _ = try await next.get("/")
    let used = try #require(next.activity.current.data?.used[""])
    #expect(used > 3_000 && used < 5_000)
    await next.drain()
    let file = try #require(budget.file)
    let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func `a file written with a clock far ahead counts for the current period, and restarts with the next one`()
    async throws
  {
    let folder = try TemporaryFolder()
    var budget = DataBudget.perDay(2_000)
    let file = folder.url.appending(path: "budget")
    try Data(#"{"period":9999999,"used":{"":1990}}"#.utf8).write(to: file)
    budget.file = file
    let ledger = DataLedger(budget)
    let timeline = Timeline(TestClock(advancing: .manually))
    #expect(try await ledger.rest(nil, now: Self.start).bytes == 10)
    ledger.add(4, nil, now: { Self.start }, timeline)
    try await ledger.save(now: Self.start)
    #expect(try await DataLedger(budget).rest(nil, now: Self.start).bytes == 6)

    let next = Self.start + 86_400
    ledger.add(7, nil, now: { next }, timeline)
    try await ledger.save(now: next)
    #expect(try await DataLedger(budget).rest(nil, now: next).bytes == 1_993)
  }

  @Test func `a save returns when the file contains everything counted before, even during other saves`() async throws {
    let folder = try TemporaryFolder()
    var budget = DataBudget.perDay(1 << 30)
    let file = folder.url.appending(path: "budget")
    budget.file = file
    let ledger = DataLedger(budget)
    let timeline = Timeline(TestClock(advancing: .manually))
    var counted: Int64 = 0

    for _ in 0..<Stress.count(50, full: 500) {
      func add() {
        ledger.add(300_000, nil, now: { Self.start }, timeline)
        counted += 300_000
      }
      add()
      async let earlier: Void = ledger.save(now: Self.start)
      add()
      try await ledger.save(now: Self.start)

      let saved = try #require(try DataLedger.read(file.path(percentEncoded: false)))
      #expect(saved.used("") == counted)
      try await earlier
    }
  }

  @Test(arguments: [
    "", "x", "{}", #"{"period":1,"used":{"":"x"}}"#, #"{"period":99999999999999999999,"used":{}}"#,
    #"{"period":-9223372036854775808,"used":{}}"#,
  ])
  func `a file in another format fails requests with an error that names it`(text: String) async throws {
    let folder = try TemporaryFolder()
    var budget = DataBudget.perDay(10_000)
    let file = folder.url.appending(path: "budget")
    try Data(text.utf8).write(to: file)
    budget.file = file
    let client = Self.client(budget)
    let error = try await #require(throws: HTTPError.self) { try await client.get("/") }
    #expect(error.kind == .fileFailed)
    #expect(error.message.contains("is not the file of a data budget"))
  }
}
