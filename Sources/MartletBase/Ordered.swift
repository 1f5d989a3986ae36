extension Sequence {
  /// The elements in an order; for rare sorting.
  ///
  /// This code is in a program once, that of `sorted(by:)` for each type of elements.
  @_semantics("optimize.sil.specialize.generic.never")
  public func ordered(by comesFirst: (Element, Element) -> Bool) -> [Element] { sorted(by: comesFirst) }
}
