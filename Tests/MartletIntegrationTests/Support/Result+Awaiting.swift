extension Result where Failure == any Error {
  /// Captures the outcome of a closure.
  init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
