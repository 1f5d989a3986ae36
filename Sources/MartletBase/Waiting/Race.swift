/// Runs closures concurrently until the first of them ends, then cancels the others and waits for their ends.
///
/// Throws the error of the first one.
@inlinable public func race(_ works: [@Sendable () async throws -> Void]) async throws {
  try await race(of: Void.self, works)
}

/// Runs closures concurrently as ``race(_:)`` does; returns the value of the first one.
@inlinable public func race<Value: Sendable>(
  of type: Value.Type, _ works: [@Sendable () async throws -> Value]
) async throws -> Value {
  try await withThrowingTaskGroup(of: type) { group in
    for work in works { group.addTask { try await work() } }
    defer { group.cancelAll() }
    guard let value = try await group.next() else { throw CancellationError() }
    return value
  }
}
