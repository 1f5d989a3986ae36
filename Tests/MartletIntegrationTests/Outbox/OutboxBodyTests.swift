import Foundation
import TestSupport
import Testing

@testable import Martlet
@testable import MartletOutbox

/// Body files during a concurrent cleanup.
@Suite(.ownThreads, .hangLimit) struct OutboxBodyTests {
  @Test func `a concurrent cleanup does not remove the file of a body that is being stored`() async throws {
    let folder = try TemporaryFolder()
    let (path, isOver) = (folder.url.path, Shared(false))
    let bytes = Data(repeating: 1, count: OutboxBody.smallBytes + 1)
    let cleaner = Thread {
      while !isOver.value {
        for (_, body) in OutboxBody.abandoned(in: path, except: []) { body.discard() }
      }
    }
    cleaner.start()
    defer { isOver.withLock { $0 = true } }

    for _ in 0..<Stress.count(1_000, full: 10_000) {
      let id = UUID()
      let body = try await OutboxBody.store(.data(bytes), of: id, in: path, limit: .max)
      // While the body is held, the cleanup must not remove its file.
      #expect(OutboxBody.isWhole(id, in: path, length: Int64(bytes.count)) == true)
      body.discard()
    }
  }
}
