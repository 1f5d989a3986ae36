import Martlet

/// What a test saw, in order, from any thread.
final class Log<Element: Sendable>: Sendable {
  private let state = Locked<[Element]>([])

  func add(_ element: Element) { state.withLock { $0.append(element) } }

  var elements: [Element] { state.withLock { $0 } }
}
