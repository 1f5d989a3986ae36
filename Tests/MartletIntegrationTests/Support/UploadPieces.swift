import Foundation
import Martlet
import TestSupport

@testable import MartletBase

/// A body of equal chunks that counts the requested chunks and reports its release.
final class UploadPieces: AsyncSequence, Sendable {
  struct Broken: Error, Equatable { var number: Int }

  struct AsyncIterator: AsyncIteratorProtocol {
    let owner: UploadPieces
    var index = 0

    mutating func next() async throws -> Data? {
      if let pause = owner.pause { try? await Task.sleep(for: pause) }
      guard index < owner.count else {
        if owner.isBroken { throw Broken(number: index) }
        return nil
      }
      index += 1
      owner.taken.withLock { $0 += 1 }
      return owner.piece
    }
  }

  let piece: Data
  let count: Int
  let pause: Duration?
  let isBroken: Bool
  private let taken = Locked(0)

  init(_ piece: Data, count: Int, pause: Duration? = nil, isBroken: Bool = false) {
    self.piece = piece
    self.count = count
    self.pause = pause
    self.isBroken = isBroken
  }

  /// The number of chunks requested so far.
  var takenCount: Int { taken.withLock { $0 } }
  var takenBytes: Int { takenCount * piece.count }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(owner: self) }

  /// Returns an endless body with one chunk, and whether its reading has ended.
  static func endless(after delay: Duration? = nil) -> (body: HTTPBody, isGone: @Sendable () -> Bool) {
    let (isRead, hasEnded) = (Shared(false), Shared(false))
    let pieces = AsyncStream<Data> { source in
      source.onTermination = { _ in hasEnded.withLock { $0 = true } }
      guard let delay else { return _ = source.yield(Data("begin".utf8)) }
      Task {
        try await Task.sleep(for: delay)
        source.yield(Data("begin".utf8))
      }
    }
    let body = HTTPBody.stream(Endless(pieces: pieces, isRead: isRead))
    // A response may arrive before libcurl requests the body.
    return (body, { !isRead.withLock { $0 } || hasEnded.withLock { $0 } })
  }

  private struct Endless: AsyncSequence {
    let pieces: AsyncStream<Data>
    let isRead: Shared<Bool>

    func makeAsyncIterator() -> AsyncStream<Data>.Iterator {
      isRead.withLock { $0 = true }
      return pieces.makeAsyncIterator()
    }
  }
}
