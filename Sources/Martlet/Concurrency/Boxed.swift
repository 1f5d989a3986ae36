/// A value in its own heap storage, with copy-on-write.
///
/// For large values that pass through many functions: passing the box costs one word and a reference count.
///
/// `@unchecked Sendable`: only a unique owner writes the storage.
struct Boxed<Value: Sendable>: @unchecked Sendable {
  private final class Storage {
    /// Not checked at run time: only a unique owner writes it.
    @exclusivity(unchecked) var value: Value

    init(_ value: Value) { self.value = value }
  }

  private var storage: Storage

  init(_ value: Value) { storage = Storage(value) }

  var value: Value {
    get { storage.value }
    _modify {
      if !isKnownUniquelyReferenced(&storage) { separate() }
      yield &storage.value
    }
  }

  /// Not inlined: otherwise an asynchronous function that changes a value would reserve space for a copy of it.
  @inline(never) private mutating func separate() { storage = Storage(storage.value) }
}

extension Boxed: Equatable, Hashable where Value: Hashable {
  static func == (one: Self, other: Self) -> Bool { one.value == other.value }
  func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
