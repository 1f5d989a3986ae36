/// Elements with numbers, by which they are removed.
///
/// There is rarely more than one element, so the first one needs no allocation.
struct Numbered<Element> {
  private var first: (number: Int, element: Element)?
  private var others: [Int: Element] = [:]
  private var lastNumber = 0

  var isEmpty: Bool { first == nil && others.isEmpty }

  /// Reserves the number of an element that is added later.
  mutating func reserve() -> Int {
    lastNumber += 1
    return lastNumber
  }

  mutating func add(_ element: Element, as number: Int) {
    if isEmpty { first = (number, element) } else { others[number] = element }
  }

  /// Adds an element; returns its number.
  mutating func add(_ element: Element) -> Int {
    let number = reserve()
    add(element, as: number)
    return number
  }

  mutating func remove(_ number: Int) -> Element? {
    if let removed = first, removed.number == number {
      first = nil
      return removed.element
    }
    return others.removeValue(forKey: number)
  }

  /// Removes all elements; returns them.
  mutating func removeAll() -> Numbered {
    defer { (first, others) = (nil, [:]) }
    return self
  }

  /// Calls a closure with each element, in the order of their numbers.
  func forEach(_ body: (Element) -> Void) {
    if let first { body(first.element) }
    if others.isEmpty { return }
    for other in others.sorted(by: { $0.key < $1.key }) { body(other.value) }
  }
}
