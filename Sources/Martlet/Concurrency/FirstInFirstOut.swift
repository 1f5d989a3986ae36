/// A line: first in, first out; what has left it is not kept alive.
struct FirstInFirstOut<Element> {
  /// Those before `head` are gone.
  private var elements: [Element?] = []
  private var head = 0

  var count: Int { elements.count - head }
  var isEmpty: Bool { count == 0 }
  var first: Element? { isEmpty ? nil : elements[head] }
  var all: some Sequence<Element> { elements[head...].lazy.compactMap { $0 } }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func prepend(_ element: Element) {
    if head > 0 {
      head -= 1
      elements[head] = element
    } else {
      elements.insert(element, at: 0)
    }
  }

  mutating func popFirst() -> Element? {
    guard let first else { return nil }
    elements[head] = nil
    head += 1
    if head > 32, head * 2 > elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return first
  }

  /// Looks at all of them: for what is rare, such as a waiter that is cancelled.
  @discardableResult
  mutating func removeFirst(where matches: (Element) -> Bool) -> Element? {
    if first.map(matches) ?? true { return popFirst() }
    guard let index = elements[head...].firstIndex(where: { $0.map(matches) ?? false }) else { return nil }
    return elements.remove(at: index)
  }
}
