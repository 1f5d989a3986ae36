extension Result where Failure == any Error {
  /// What a body leads to.
  init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
