/// An abort source that ends with its parent, and can end earlier.
///
/// It ends part of a call: the exchanges of a middleware's task, or one exchange of a hedged request.
final class AbortBranch: Sendable {
  let source = AbortSource()
  private let parent: AbortSource
  /// The parent's branch; retained to forward aborts of outer sources.
  private let owner: AbortBranch?
  private let token: Int

  init(of parent: AbortSource, _ owner: AbortBranch?) {
    (self.parent, self.owner) = (parent, owner)
    token = parent.onAbort { [source] in source.abort($0) }
  }

  deinit { parent.remove(token) }

  /// The abort reason of an outer source.
  private var reason: (any Error)? { parent.error ?? owner?.reason }

  /// Ends the exchanges of a cancelled task.
  ///
  /// Aborting a call also cancels its tasks, the innermost first. The call's reason takes precedence.
  func cancel() { source.abort(reason ?? CancellationError()) }
}
