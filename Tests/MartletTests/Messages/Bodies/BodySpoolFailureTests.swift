import Foundation
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct BodySpoolFailureTests {
  private struct Broken: Error {}

  init() throws { try TemporaryFolder.requireRoom() }

  @Test func `the next request repeats a failed read`() async throws {
    let readings = Log<Void>()
    let body = HTTPBody.stream { () throws -> AsyncStream<Data> in
      readings.add(())
      if readings.count == 1 { throw Broken() }
      return AsyncStream { source in
        source.yield(Data("hello".utf8))
        source.finish()
      }
    }
    let spool = BodySpool(body.content, limit: 100, folder: nil)

    await #expect(throws: Broken.self) { try await spool.fill() }
    try await spool.fill()
    try await spool.fill()

    #expect(spool.length == 5)
    #expect(readings.count == 2)
  }

  @Test func `a waiter reads the body itself if the read it waits for fails`() async throws {
    let readings = Log<Void>()
    let gate = TestSupport.Gate()
    let body = HTTPBody.stream { () -> AsyncThrowingStream<Data, any Error> in
      readings.add(())
      let number = readings.count
      let isOver = Shared(false)
      return AsyncThrowingStream {
        if number == 1 {
          await gate.pass()
          throw Broken()
        }
        let wasOver = isOver.withLock { isOver in
          defer { isOver = true }
          return isOver
        }
        return wasOver ? nil : Data("hello".utf8)
      }
    }
    let spool = BodySpool(body.content, limit: 100, folder: nil)
    let first = Task { try await spool.fill() }
    await gate.waitForArrivals(1)
    let second = Task { try await spool.fill() }

    gate.open()

    await #expect(throws: Broken.self) { try await first.value }
    try await second.value
    #expect(spool.length == 5)
    #expect(readings.count == 2)
  }
}
