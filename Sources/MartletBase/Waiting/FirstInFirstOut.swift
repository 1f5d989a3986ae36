/// A FIFO queue that does not keep removed elements alive.
public struct FirstInFirstOut<Element> {
  /// The slots before `head` are empty.
  @usableFromInline var elements: [Element?] = []
  @usableFromInline var head = 0

  @inlinable public var count: Int { elements.count - head }
  @inlinable public var isEmpty: Bool { count == 0 }
  @inlinable public var first: Element? { isEmpty ? nil : elements[head] }
  @inlinable public var all: some Sequence<Element> { elements[head...].lazy.compactMap { $0 } }

  @inlinable public init() {}

  @inlinable public mutating func append(_ element: Element) { elements.append(element) }

  @inlinable public mutating func prepend(_ element: Element) {
    if head > 0 {
      head -= 1
      elements[head] = element
    } else {
      elements.insert(element, at: 0)
    }
  }

  @inlinable public mutating func popFirst() -> Element? {
    guard let first else { return nil }
    elements[head] = nil
    head += 1
    if head > 32, head * 2 > elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return first
  }

  /// Removes the first matching element by linear search: for rare operations, such as the cancellation of a waiter.
  @discardableResult
  @inlinable public mutating func removeFirst(where matches: (Element) -> Bool) -> Element? {
    if first.map(matches) ?? true { return popFirst() }
    guard let index = elements[head...].firstIndex(where: { $0.map(matches) ?? false }) else { return nil }
    return elements.remove(at: index)
  }
}

extension FirstInFirstOut: Sendable where Element: Sendable {}
