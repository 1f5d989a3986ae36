import Foundation
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

/// Bodies with large chunks, which a stream does not merge.
@Suite(.hangLimit) struct BodyStreamPieceTests {
  private final class Source: BodyStream.Source {
    func readerHasRoom() {}
    func readerDidCancel() {}
  }

  private static let pieces = (1...5).map { Data(repeating: $0, count: 40 << 10) }

  private func stream() -> BodyStream {
    let stream = BodyStream(from: Source())
    for piece in Self.pieces { stream.append(piece) }
    return stream
  }

  @Test func `chunks are read in the order of arrival`() async throws {
    let stream = stream()
    stream.finish()

    var read: [Data] = []
    while let piece = try await stream.next() { read.append(piece) }

    #expect(read == Self.pieces)
  }

  @Test(arguments: [true, false]) func `a collected body contains all chunks in order`(isOver: Bool) async throws {
    let stream = stream()
    let rest = Data("rest".utf8)
    if isOver {
      stream.append(rest)
      stream.finish()
    }
    async let whole = stream.collect(upTo: 1 << 20)
    if !isOver {
      stream.append(rest)
      stream.finish()
    }

    #expect(try await whole.data == Self.pieces.reduce(Data(), +) + rest)
  }

  @Test(arguments: [0, 1]) func `collecting returns no more bytes than its limit`(excess: Int) async throws {
    let stream = BodyStream(from: Source())
    let asked = Log<Void>()
    let collecting = Task { @MainActor in
      asked.add(())
      return try await stream.collect(upTo: 10)
    }
    await asked.wait(for: 1)
    // By then, the task on the main actor has begun to wait.
    await MainActor.run {}
    stream.append(Data(count: 10 + excess))
    stream.finish()

    let (data, isWhole) = try await collecting.value

    #expect(data.count == 10)
    #expect(isWhole == (excess == 0))
  }

  @Test func `an ended stream releases its source`() {
    for isAborted in [true, false] {
      var source: Source? = Source()
      weak let weakSource = source
      let stream = source.map { BodyStream(from: $0) }
      source = nil
      #expect(weakSource != nil)

      if isAborted { stream?.abort(CancellationError()) } else { stream?.finish() }

      #expect(weakSource == nil)
    }
  }
}
