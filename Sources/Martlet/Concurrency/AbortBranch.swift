/// An abort source that ends with another one, and can end before it.
///
/// Ends a part of a call: what a task of middleware has sent, or one of the two exchanges of a hedged request.
final class AbortBranch: Sendable {
  let source = AbortSource()
  private let parent: AbortSource
  /// Keeps the connection of the parent with its own parent.
  private let owner: AbortBranch?
  private let token: Int

  init(of parent: AbortSource, _ owner: AbortBranch?) {
    (self.parent, self.owner) = (parent, owner)
    token = parent.onAbort { [source] in source.abort($0) }
  }

  deinit { parent.remove(token) }

  /// The reason for which a source above has aborted.
  private var reason: (any Error)? { parent.error ?? owner?.reason }

  /// Ends what belongs to a cancelled task.
  ///
  /// An abort of the call cancels tasks, too, the innermost first. Its reason says more.
  func cancel() { source.abort(reason ?? CancellationError()) }
}
