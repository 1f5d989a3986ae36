/// Ready requests, by descending priority, then in the order of their addition.
struct ReadyHeap {
  struct Item {
    let id: RequestID
    let host: String
    let priority: Int
    let number: UInt64

    func isBefore(_ other: Item) -> Bool {
      priority == other.priority ? number < other.number : priority > other.priority
    }
  }

  private var items: [Item] = []

  var isEmpty: Bool { items.isEmpty }

  mutating func insert(_ item: Item) {
    items.append(item)
    var index = items.count - 1
    while index > 0, items[index].isBefore(items[(index - 1) / 2]) {
      items.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  mutating func popFirst() -> Item? {
    guard let first = items.first else { return nil }
    let last = items.removeLast()
    guard !items.isEmpty else { return first }
    items[0] = last
    var index = 0
    while true {
      var best = index
      for child in [2 * index + 1, 2 * index + 2] where child < items.count && items[child].isBefore(items[best]) {
        best = child
      }
      guard best != index else { return first }
      items.swapAt(index, best)
      index = best
    }
  }
}
