import Foundation
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct SaveQueueTests {
  @Test func `a save begins after the previous one has ended`() async throws {
    let saves = SaveQueue(label: "SaveQueueTests")
    let steps = Shared<[String]>([])
    let mayEnd = Shared(false)

    try await withThrowingTaskGroup { group in
      group.addTask {
        try await saves.save { () throws(HTTPError) in
          steps.withLock { $0.append("first begins") }
          while !mayEnd.value { usleep(1000) }
          steps.withLock { $0.append("first ends") }
        }
      }
      #expect(await becomes { !steps.value.isEmpty })
      group.addTask {
        try await saves.save { () throws(HTTPError) in steps.withLock { $0.append("second") } }
      }
      try await Task.sleep(for: .milliseconds(50))
      mayEnd.withLock { $0 = true }
      try await group.waitForAll()
    }

    #expect(steps.value == ["first begins", "first ends", "second"])
  }
}
