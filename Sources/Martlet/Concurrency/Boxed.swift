/// A value in memory of its own, copied when it is changed while somebody else has it too.
///
/// For values of many words that go through many hands: handing on the box costs one word and a reference count.
///
/// `@unchecked Sendable`: the storage is written only by who alone has it.
struct Boxed<Value: Sendable>: @unchecked Sendable {
  private final class Storage {
    var value: Value

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

  /// Not inlined: an asynchronous function that changes a value would keep room for a copy of it.
  @inline(never) private mutating func separate() { storage = Storage(storage.value) }
}
