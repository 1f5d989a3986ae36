#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  @Suite(.hangLimit) struct UploadBufferTests {
    private static let room = Data(count: UploadBuffer.capacity)

    private func take(_ count: Int, from buffer: UploadBuffer) -> UploadBuffer.Taken {
      var memory = [UInt8](repeating: 0, count: count)
      return memory.withUnsafeMutableBytes { buffer.take(into: $0) }
    }

    @Test func `a writer waits while the buffer is full and resumes when half of it is taken`() async throws {
      let buffer = UploadBuffer()
      _ = buffer.append(Self.room)
      let steps = Log<String>()
      let writer = Task.immediate {
        try await buffer.room()
        steps.add("room")
      }
      #expect(steps.count == 0)

      _ = take(UploadBuffer.capacity / 2 - 1, from: buffer)
      steps.add("nearly half")
      _ = take(1, from: buffer)
      try await writer.value

      #expect(steps.elements == ["nearly half", "room"])
    }

    @Test func `a held chunk is taken only after the end is known`() {
      let buffer = UploadBuffer()
      #expect(!buffer.append(Data("ab".utf8)))
      #expect(!buffer.append(Data("c".utf8), isHeld: true))

      #expect(taken(from: buffer) == [2, nil])
      #expect(!buffer.isAtEnd)
      #expect(buffer.finish())
      #expect(!buffer.finish())
      #expect(taken(from: buffer) == [1, 0])
      #expect(buffer.isAtEnd)
    }

    /// The sizes of the next two chunks, 0 for the end, and `nil` if there is none yet.
    private func taken(from buffer: UploadBuffer) -> [Int?] {
      (0..<2).map { _ in
        switch take(10, from: buffer) {
        case .bytes(let count): count
        case .end: 0
        case .none, .stopped: nil
        }
      }
    }

    @Test func `stopping the buffer cancels a waiting writer`() async throws {
      let buffer = UploadBuffer()
      _ = buffer.append(Self.room)
      let writer = Task.immediate { try await buffer.room() }

      #expect(buffer.stop())

      await #expect(throws: CancellationError.self) { try await writer.value }
    }

    @Test func `a stopped buffer rejects later writers`() async throws {
      let buffer = UploadBuffer()
      #expect(buffer.stop())
      #expect(!buffer.stop())

      await #expect(throws: CancellationError.self) { try await buffer.room() }
      #expect(!buffer.append(Self.room))
    }

    @Test func `stop handlers run once, whether added before or after the stop`() {
      let early = Log<Int>()
      let buffer = UploadBuffer()
      buffer.onStop { early.add(1) }
      #expect(early.count == 0)

      buffer.stop()
      buffer.stop()
      buffer.onStop { early.add(2) }

      #expect(early.elements == [1, 2])
    }

    @Test func `a failure or a stop is not reported as the end`() {
      for isFailure in [true, false] {
        let buffer = UploadBuffer()
        _ = buffer.append(Data("half".utf8))
        buffer.stop(isFailure: isFailure)
        switch take(10, from: buffer) {
        case .none: #expect(isFailure)
        case .stopped: #expect(!isFailure)
        case .bytes, .end: Issue.record("the rest would be taken for the whole")
        }
      }
    }

    @Test func `a stopped upload fails instead of ending as complete`() throws {
      let request = HTTPRequest.post("https://a.test/")
      let body = HTTPBody.stream(AsyncStream<Data> { _ in })
      let upload = try CurlUpload(body.content, length: nil, request: request)
      var memory = [UInt8](repeating: 0, count: 10)
      func read() -> CurlUpload.Piece { memory.withUnsafeMutableBytes { upload.read(into: $0) } }
      guard case .wait = read() else {
        Issue.record("there are no bytes yet")
        return
      }

      upload.stop()

      guard case .failed(.uploadStopped) = read() else {
        Issue.record("what was sent would be taken for the whole")
        return
      }
    }

    /// Ends like a stream whose task is cancelled; the first read stops the upload.
    private final class StoppingStream: UploadStream {
      let upload = Shared<CurlUpload?>(nil)

      func begin() { upload.value?.stop() }

      func send(to take: (Data) async throws -> Void) async throws {}
    }

    @Test func `an upload that stops during the check for emptiness does not count as empty`() {
      let stream = StoppingStream()
      let upload = CurlUpload(.stream(stream), length: 0)
      stream.upload.withLock { $0 = upload }
      defer { stream.upload.withLock { $0 = nil } }

      #expect(!upload.isKnownToBeEmpty())
      #expect(!upload.isKnownToBeEmpty())
    }

    @Test func `a waiting consumer is notified once of bytes and once of the end`() {
      let buffer = UploadBuffer()
      #expect(!buffer.append(Data("a".utf8)))
      guard case .bytes(1) = take(10, from: buffer), case .none = take(10, from: buffer) else {
        Issue.record("not what there is")
        return
      }
      #expect(buffer.append(Data("b".utf8)))
      #expect(!buffer.append(Data("c".utf8)))
      guard case .bytes(2) = take(10, from: buffer), case .none = take(10, from: buffer) else {
        Issue.record("not what there is")
        return
      }
      #expect(buffer.finish())
      guard case .end = take(10, from: buffer) else {
        Issue.record("no end")
        return
      }
      #expect(!buffer.finish())
    }

    @Test func `several writers learn when there is room, and when the buffer stops`() {
      let buffer = UploadBuffer()
      #expect(buffer.write(Self.room) == .added)
      #expect(!buffer.hasRoom)
      let steps = Log<String>()
      buffer.onRoom { steps.add("one") }
      buffer.onRoom { steps.add("two") }
      #expect(steps.count == 0)

      _ = take(UploadBuffer.capacity / 2, from: buffer)
      #expect(steps.elements == ["one", "two"] && buffer.hasRoom)
      buffer.onRoom { steps.add("at once") }
      #expect(steps.elements.last == "at once")

      #expect(buffer.write(Self.room) == .added)
      buffer.onRoom { steps.add("stopped") }
      buffer.stop()
      #expect(steps.elements.last == "stopped")
      #expect(buffer.write(Self.room) == .refused)
      #expect(buffer.takenCount == Int64(UploadBuffer.capacity / 2))
    }

    @Test func `a write reports a waiting loop, and nothing follows the end`() {
      let buffer = UploadBuffer()
      guard case .none = take(1, from: buffer) else {
        Issue.record("an empty buffer has no bytes")
        return
      }

      #expect(buffer.write(Data("ab".utf8)) == .awaited)
      #expect(buffer.write(Data("c".utf8)) == .added)
      #expect(!buffer.finish())
      #expect(buffer.write(Data("d".utf8)) == .refused)
      guard case .bytes(3) = take(10, from: buffer), case .end = take(10, from: buffer) else {
        Issue.record("the bytes do not end")
        return
      }
    }

    @Test func `a loop that waits for bytes learns of the next ones, or of the end`() {
      let buffer = UploadBuffer()

      #expect(buffer.awaitsBytes())
      #expect(buffer.write(Data("ab".utf8)) == .awaited)
      #expect(!buffer.awaitsBytes())
      guard case .bytes(2) = take(10, from: buffer) else {
        Issue.record("the bytes are missing")
        return
      }
      #expect(buffer.awaitsBytes())
      #expect(buffer.finish())
      #expect(!buffer.awaitsBytes())

      let stopped = UploadBuffer()
      stopped.stop()
      #expect(!stopped.awaitsBytes())
    }
  }
#endif
