import Foundation
import Martlet
import MartletTesting

@testable import MartletBase

/// Responses that a test sends one by one.
final class Board: Sendable {
  private struct State {
    var answers: [Int: Result<StubResponse, any Error>] = [:]
    var waiting: [Int: CheckedContinuation<StubResponse, any Error>] = [:]
  }

  private let state = Locked(State())

  /// Sets a response; later calls for the same number are ignored.
  func resolve(_ number: Int, _ answer: Result<StubResponse, any Error>) {
    let waiting = state.withLock { state in
      if state.answers[number] == nil { state.answers[number] = answer }
      return state.waiting.removeValue(forKey: number)
    }
    waiting?.resume(with: answer)
  }

  func answer(to number: Int) async throws -> StubResponse {
    try await withCheckedThrowingContinuation { continuation in
      let answer = state.withLock { state in
        if state.answers[number] == nil { state.waiting[number] = continuation }
        return state.answers[number]
      }
      if let answer { continuation.resume(with: answer) }
    }
  }
}

extension Forge {
  /// The number in the path of a ``GetItem``.
  static func number(_ request: HTTPRequest) -> Int { Int(request.url?.lastPathComponent ?? "") ?? -1 }
}
