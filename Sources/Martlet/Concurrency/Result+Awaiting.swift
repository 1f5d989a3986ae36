extension Result where Failure == any Error {
  /// The result of code that may suspend.
  @inline(__always) static func awaiting(_ body: () async throws -> Success) async -> Self {
    do { return .success(try await body()) } catch { return .failure(error) }
  }
}
