import Synchronization

/// Elements in numbered places, found without hashing.
///
/// A free place is used again.
struct Slots<Element> {
  /// The number of places that are kept when there is no element.
  private static var keptPlaces: Int { 256 }

  private var elements: [Element?] = []
  private var free: [Int] = []

  var count: Int { elements.count - free.count }
  var isEmpty: Bool { count == 0 }
  var numbered: some Sequence<(place: Int, Element)> {
    elements.indices.lazy.compactMap { place in self[place].map { (place, $0) } }
  }
  var all: some Sequence<Element> { elements.lazy.compactMap { $0 } }

  /// The element in a place, or `nil` if there is none.
  subscript(place: Int) -> Element? { elements.indices.contains(place) ? elements[place] : nil }

  /// Adds an element; returns its place.
  mutating func add(_ element: Element) -> Int {
    guard let place = free.popLast() else {
      elements.append(element)
      return elements.count - 1
    }
    elements[place] = element
    return place
  }

  /// Replaces the element in a place, if there is one.
  mutating func replace(at place: Int, with element: Element) {
    if self[place] != nil { elements[place] = element }
  }

  /// Removes the element in a place, if there is one.
  mutating func remove(at place: Int) -> Element? {
    guard let element = self[place] else { return nil }
    elements[place] = nil
    free.append(place)
    // Otherwise each iteration would cover as many places as the table ever had elements.
    if elements.count > Self.keptPlaces, isEmpty { (elements, free) = ([], []) }
    return element
  }
}

/// The place of an object among others; read and changed only under their lock.
struct SlotIndex: ~Copyable, Sendable {
  private let index = Atomic<Int>(-1)

  /// The number of the place; -1 for none.
  var number: Int {
    get { index.load(ordering: .relaxed) }
    nonmutating set { index.store(newValue, ordering: .relaxed) }
  }
}
