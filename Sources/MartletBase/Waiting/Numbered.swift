/// Elements with numbers, by which they are removed.
///
/// There is rarely more than one element, so the first one needs no allocation.
public struct Numbered<Element> {
  @usableFromInline var first: (number: Int, element: Element)?
  @usableFromInline var others: [Int: Element] = [:]
  @usableFromInline var lastNumber = 0

  @inlinable public var isEmpty: Bool { first == nil && others.isEmpty }

  @inlinable public init() {}

  /// Reserves the number of an element that is added later.
  @inlinable public mutating func reserve() -> Int {
    lastNumber += 1
    return lastNumber
  }

  @inlinable public mutating func add(_ element: Element, as number: Int) {
    if isEmpty { first = (number, element) } else { others[number] = element }
  }

  /// Adds an element; returns its number.
  @inlinable public mutating func add(_ element: Element) -> Int {
    let number = reserve()
    add(element, as: number)
    return number
  }

  @inlinable public mutating func remove(_ number: Int) -> Element? {
    if let removed = first, removed.number == number {
      first = nil
      return removed.element
    }
    return others.removeValue(forKey: number)
  }

  /// Removes all elements; returns them.
  @inlinable public mutating func removeAll() -> Numbered {
    defer { (first, others) = (nil, [:]) }
    return self
  }

  /// Calls a closure with each element, in the order of their numbers.
  @inlinable public func forEach(_ body: (Element) -> Void) {
    if let first { body(first.element) }
    if others.isEmpty { return }
    for other in others.ordered(by: { $0.key < $1.key }) { body(other.value) }
  }
}

extension Numbered: Sendable where Element: Sendable {}
