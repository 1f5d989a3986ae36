/// A dictionary that drops its oldest entries beyond a limit.
///
/// Peers choose the keys, so the table must not grow without a limit.
@usableFromInline package struct RecentTable<Key: Hashable, Value> {
  @usableFromInline let limit: Int
  @usableFromInline var values: [Key: Value] = [:]
  @usableFromInline var order: [Key] = []

  @inlinable package init(limit: Int) { self.limit = limit }

  @inlinable package var count: Int { values.count }

  @inlinable package subscript(key: Key) -> Value? {
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
