/// A dictionary that drops its oldest entries beyond a limit.
///
/// Peers choose the keys, so the table must not grow without a limit. Its code is not specialized for each type.
package struct RecentTable<Key: Hashable, Value> {
  private let limit: Int
  private var values: [Key: Value] = [:]
  private var order: [Key] = []

  package init(limit: Int) { self.limit = limit }

  package var count: Int { values.count }

  package subscript(key: Key) -> Value? {
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
