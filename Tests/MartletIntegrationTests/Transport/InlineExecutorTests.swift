#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Callers whose executor runs them where they are resumed: on the engine's thread, in the middle of its turn.
  @Suite(.hangLimit) struct InlineExecutorTests {
    private final class InlineExecutor: TaskExecutor {
      func enqueue(_ job: consuming ExecutorJob) { UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor()) }
    }

    @Test(arguments: Lane.engines, [1, 8]) func `sequential and concurrent requests complete on an inline executor`(
      _ lane: Lane, _ count: Int
    ) async throws {
      let body = Data(repeating: 7, count: 300_000)
      let server = try MockServer { (request: RecordedRequest) in
        request.target == "/large" ? .data(body) : .ok("small")
      }
      let client = lane.client()
      let executor = InlineExecutor()

      let total = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<count {
          group.addTask(executorPreference: executor) {
            var bytes = 0
            for number in 0..<20 {
              bytes += try await client.get(RequestTarget(server.url(number % 4 == 0 ? "/large" : "/small"))).body.count
              // The engine's thread may hold the lock of the loop, which counts the connections.
              _ = client.activity.current.connections
            }
            return bytes
          }
        }
        return try await group.reduce(0, +)
      }

      #expect(total == count * (5 * body.count + 15 * 5))
    }

    @Test(arguments: Lane.engines) func `a body is read in chunks and another request cancelled on an inline executor`(
      _ lane: Lane
    ) async throws {
      let body = Data(repeating: 7, count: 3_000_000)
      let server = try MockServer { (request: RecordedRequest) in
        request.target == "/never" ? .ok("late").delayed(by: .seconds(600)) : .data(body)
      }
      let client = lane.client()

      let waiting = Task(executorPreference: InlineExecutor()) {
        _ = try await client.get(RequestTarget(server.url("/never")))
      }
      let reading = Task(executorPreference: InlineExecutor()) {
        try await client.stream(.get(RequestTarget(server.url))) { (response: StreamedResponse) -> Int in
          var count = 0
          for try await piece in response.body { count += piece.count }
          return count
        }
      }
      let bytes = try await reading.value
      waiting.cancel()
      if case .success = await waiting.result { Issue.record("it was answered") }

      #expect(bytes == body.count)
    }
  }
#endif
