/// A dictionary that forgets what was set longest ago: peers choose its keys, so it must not grow without end.
struct RecentTable<Key: Hashable, Value> {
  private let limit: Int
  private var values: [Key: Value] = [:]
  private var order: [Key] = []

  init(limit: Int) { self.limit = limit }

  var count: Int { values.count }

  subscript(key: Key) -> Value? {
    get { values[key] }
    set {
      order.removeAll { $0 == key }
      values[key] = newValue
      guard newValue != nil else { return }
      order.append(key)
      if order.count > limit { values[order.removeFirst()] = nil }
    }
  }
}
