#if os(Linux)
  import Foundation
  import Synchronization
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import MartletBase
  @testable import Martlet

  /// The response body between libcurl and its reader, without libcurl.
  @Suite(.hangLimit) struct CurlBodyTests {
    /// The loop, as seen by a body.
    private final class Loop: CurlBody.Source {
      let isRoomAwaited = Atomic(false)
      let drains = Log<Void>()

      func readerHasRoom() {
        if isRoomAwaited.exchange(false, ordering: .sequentiallyConsistent) { drains.add(()) }
      }

      func readerDidCancel() {}
    }

    /// Passes bytes to a body until the body accepts no more.
    ///
    /// - Returns: The number of accepted bytes.
    private func fill(_ body: CurlBody, most: Int) throws -> Int {
      let piece = Data(repeating: 7, count: 16 << 10)
      var taken = 0
      while taken < most, try piece.withUnsafeBytes({ try body.take($0) }) == .taken { taken += piece.count }
      return taken
    }

    @Test func `pauses when the reader's buffer is full and resumes after it is read`() async throws {
      let loop = Loop()
      let body = CurlBody(expected: nil, decoder: nil, isCollected: false, source: loop)

      let taken = try fill(body, most: 16 << 20)
      #expect(taken >= CurlBody.highWater && taken < 3 * CurlBody.highWater)
      #expect(loop.drains.count == 0)
      var read = 0
      while body.stream.unreadCount > 0 { read += try await body.stream.next()?.count ?? 0 }

      #expect(read == taken)
      #expect(loop.drains.count == 1)
      #expect(try body.resume())
      #expect(try fill(body, most: 32 << 10) == 32 << 10)
    }

    /// Runs tasks on the threads that resume them.
    private final class Inline: TaskExecutor {
      func enqueue(_ job: consuming ExecutorJob) { UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor()) }
    }

    @Test(arguments: [false, true]) func `resumes a reader outside libcurl if held`(isHeld: Bool) throws {
      let loop = Loop()
      let body = CurlBody(expected: nil, decoder: nil, isCollected: false, isHeld: isHeld, source: loop)
      let pieces = Log<Int>()
      _ = try fill(body, most: 128 << 10)
      Task(executorPreference: Inline()) { [stream = body.stream] in
        while let piece = try await stream.next() { pieces.add(piece.count) }
      }
      let before = pieces.count

      _ = try fill(body, most: 2 << 20)

      #expect((pieces.count > before) == !isHeld)
      body.flush()
      #expect(pieces.count > before)
      body.stream.finish()
    }

    @Test func `decodes only as much as the reader has room for, and the rest later`() async throws {
      var random = SeededGenerator(seed: 1)
      // Small numbers are compressible, but not enough to look like a decompression bomb.
      let plain = Data((0..<(4 << 20)).map { _ in UInt8.random(in: 0..<4, using: &random) })
      let coded = try Compressor.compress(plain, .gzip)
      let loop = Loop()
      let body = CurlBody(expected: nil, decoder: try ContentDecoder(["gzip"]), isCollected: false, source: loop)

      #expect(try coded.withUnsafeBytes { try body.take($0) } == .taken)
      #expect(body.isPending)
      #expect(body.stream.unreadCount < 2 * CurlBody.highWater)
      var read = Data()
      while read.count < plain.count {
        read += try #require(try await body.stream.next())
        if body.stream.unreadCount == 0 { _ = try body.resume() }
      }

      #expect(read == plain)
      #expect(!body.isPending)
      try body.checkEnd(ResponseHeadReader())
    }

    @Test func `flush delivers the gathered bytes to the reader`() async throws {
      let loop = Loop()
      let body = CurlBody(expected: nil, decoder: nil, isCollected: false, source: loop)
      #expect(try fill(body, most: 80 << 10) == 80 << 10)
      #expect(body.isGathering && body.isUnflushed)

      body.flush()

      #expect(body.stream.unreadCount == 80 << 10)
      #expect(!body.isUnflushed)
    }
  }

  @Suite struct ChunkAccumulatorTests {
    private func add(_ count: Int, of octet: UInt8, to gatherer: ChunkAccumulator) -> Data? {
      Data(repeating: octet, count: count).withUnsafeBytes { gatherer.add($0) }
    }

    @Test func `a retained chunk is not overwritten`() {
      let gatherer = ChunkAccumulator()
      let pieces = (1...6).compactMap { add(ChunkAccumulator.pieceSize, of: $0, to: gatherer) }

      for (index, piece) in pieces.enumerated() { #expect(piece.allSatisfy { $0 == UInt8(index + 1) }) }
      #expect(pieces.map(\.count) == [Int](repeating: ChunkAccumulator.pieceSize, count: 6))
    }

    @Test func `bytes beyond the chunk size follow the gathered bytes`() {
      let gatherer = ChunkAccumulator()
      #expect(add(1000, of: 1, to: gatherer) == nil)

      let whole = add(300 << 10, of: 2, to: gatherer)

      #expect(whole == Data(repeating: 1, count: 1000) + Data(repeating: 2, count: 300 << 10))
      #expect(gatherer.isEmpty)
    }
  }
#endif
