extension Result where Failure == any Error {
  /// What code leads to that may wait.
  @inline(__always) static func awaiting(_ body: () async throws -> Success) async -> Self {
    do { return .success(try await body()) } catch { return .failure(error) }
  }
}
