import Martlet

@testable import MartletBase

/// The source of a body stream, made of closures.
final class ClosureSource: BodyStream.Source {
  private let onRoom: @Sendable () -> Void
  private let onLeft: @Sendable () -> Void

  init(onRoom: @escaping @Sendable () -> Void = {}, onLeft: @escaping @Sendable () -> Void = {}) {
    self.onRoom = onRoom
    self.onLeft = onLeft
  }

  func readerHasRoom() { onRoom() }
  func readerDidCancel() { onLeft() }
}
