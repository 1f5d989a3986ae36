/// Streams that receive the same elements, until their common end.
public final class Broadcast<Element: Sendable>: Sendable {
  @usableFromInline struct State: ~Copyable {
    @usableFromInline var streams = Numbered<AsyncStream<Element>.Continuation>()
    @usableFromInline var isOver: Bool

    @inlinable init(isOver: Bool) { self.isOver = isOver }
  }

  @usableFromInline let state: Locked<State>

  /// With `isOver`, each new stream ends after its initial elements.
  @inlinable public init(isOver: Bool = false) { state = Locked(State(isOver: isOver)) }

  @inlinable public var isWatched: Bool { state.withLock { !$0.streams.isEmpty } }

  /// Creates a stream of the later elements, which begins with `first`.
  @inlinable public func stream(
    _ policy: AsyncStream<Element>.Continuation.BufferingPolicy, first: [Element] = []
  ) -> AsyncStream<Element> {
    AsyncStream(bufferingPolicy: policy) { continuation in
      let number: Int? = state.withLock { state in
        // Yielded under the lock, because otherwise a later element could overtake them.
        for element in first { continuation.yield(element) }
        return state.isOver ? nil : state.streams.add(continuation)
      }
      guard let number else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        let removed = self?.state.withLock { $0.streams.remove(number) }
        _ = removed
      }
    }
  }

  @inlinable public func yield(_ element: Element) {
    state.withLock { $0.streams }.forEach { $0.yield(element) }
  }

  /// Ends all streams, after a last element.
  @inlinable public func finish(_ last: Element? = nil) {
    let streams = state.withLock { state in
      state.isOver = true
      return state.streams.removeAll()
    }
    streams.forEach { stream in
      if let last { stream.yield(last) }
      stream.finish()
    }
  }
}
