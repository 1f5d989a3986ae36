import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// Many requests over real sockets leave nothing behind.
///
/// Each test runs in its own process, so all descriptors and memory belong to its requests.
@Suite(.ownThreads, .needs(.proc), .hangLimit) struct LoadTests {
  #if os(Linux)
    @Test func `requests with random cancellations all end and leak no resources`() async {
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        // The process may have inherited descriptors from its parent.
        let descriptors = ProcessFacts.descriptorCount
        let server = try MockServer { (request: RecordedRequest) in
          if request.path == "/slow" { try? await Task.sleep(for: .milliseconds(15)) }
          return .ok("hello")
        }
        let client = HTTPClient { $0.maximumConnectionsPerHost = 16 }
        await Load.run(Stress.count(400, full: 2_000), client, server)
        let memory = ProcessFacts.residentBytes

        let count = Stress.count(800, full: 10_000)
        let answers = await Load.run(count, client, server)

        #expect(answers.right + answers.cancelled == count)
        #expect(answers.wrong.isEmpty, "\(answers.wrong.first ?? "")")
        #expect(answers.right > count / 3)
        #expect(answers.cancelled > 0)
        // The transport's thread releases a cancelled exchange slightly later than its caller.
        #expect(await becomes { client.core.entryCount == 0 })
        let totals = client.activity.current.totals
        #expect(totals.started == totals.succeeded + totals.cancelled)
        #expect(totals.failed == 0)
        // The parent sees the details of a failure only on the child's standard error.
        let facts =
          "descriptors \(ProcessFacts.descriptorCount), bytes more \(ProcessFacts.residentBytes - memory), \(answers)"
        FileHandle.standardError.write(Data(facts.utf8))
        let areClosed = await server.waitForOpenConnections(atMost: 16, timeout: .seconds(30))
        #expect(areClosed)
        // Both ends of the idle connections are in this process.
        #expect(ProcessFacts.descriptorCount < descriptors + 32 + 24)
        // The thread sanitizer needs memory for its history.
        #expect(isSanitized || ProcessFacts.residentBytes - memory < 16 << 20)
        server.stop()
      }
      if let child, child.exitStatus != .exitCode(EXIT_SUCCESS) {
        Issue.record("\(String(decoding: child.standardErrorContent, as: UTF8.self))")
      }
    }
  #endif

  @Test func `20 parallel requests run at most 4 at a time and get their own bodies`() async throws {
    let server = try MockServer(answering: { .ok("you asked for \($0.target)") })
    defer { server.stop() }
    let client = HTTPClient { $0.maximumConnectionsPerHost = 4 }

    let texts = try await withThrowingTaskGroup(of: (Int, String).self) { group in
      for number in 0..<20 { group.addTask { (number, try await client.get("\(raw: server.url)/\(number)").text) } }
      return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }

    #expect(texts == Dictionary(uniqueKeysWithValues: (0..<20).map { ($0, "you asked for /\($0)") }))
    #expect(server.maximumConcurrentRequests <= 4)
  }

  @Test func `100 concurrent requests wait for a connection slot and report the reason`() async throws {
    let arrivals = Gate()
    let server = try MockServer { (_: RecordedRequest) in
      await arrivals.pass()
      return .ok("x")
    }
    defer { server.stop() }
    let client = HTTPClient()
    let handles = (0..<100).map { client.start(.get("\(raw: server.url)/\($0)")) }

    var reasons: Set<RequestEvent.WaitReason> = []
    await arrivals.waitForArrivals(6)
    for await snapshot in client.activity.snapshots {
      arrivals.open()
      for waiting in snapshot.waiting { reasons.insert(waiting.reason) }
      if snapshot.running.isEmpty && snapshot.waiting.isEmpty { break }
    }

    for handle in handles { #expect(try await handle.value.text == "x") }
    #expect(server.maximumConcurrentRequests == 6)
    #expect(reasons == [.connectionSlot])
  }
}

#if os(Linux)
  /// Requests of which every second one is cancelled.
  enum Load {
    struct Answers: Sendable {
      var right = 0
      var cancelled = 0
      var wrong: [String] = []
    }

    /// Sends requests, a hundred at a time, and cancels every second one after 0 to 10 ms.
    @discardableResult
    static func run(_ count: Int, _ client: HTTPClient, _ server: MockServer) async -> Answers {
      var answers = Answers()
      for _ in 0..<(count / 100) {
        server.forgetRequests()
        await withTaskGroup(of: Result<String, any Error>.self) { group in
          for number in 0..<100 {
            group.addTask {
              let path = number % 10 == 0 ? "/slow" : "/fast"
              let task = Task { try await client.get("\(raw: server.url)\(raw: path)").text }
              if number % 2 == 1 {
                try? await Task.sleep(for: .microseconds(Int.random(in: 0...10_000)))
                task.cancel()
              }
              return await task.result
            }
          }
          for await result in group {
            switch result {
            case .success("hello"): answers.right += 1
            case .failure(is CancellationError): answers.cancelled += 1
            case .success(let text): answers.wrong.append(text)
            case .failure(let error): answers.wrong.append("\(error)")
            }
          }
        }
      }
      return answers
    }
  }
#endif
