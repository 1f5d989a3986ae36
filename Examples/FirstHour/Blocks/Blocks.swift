// Blocks URL [SECONDS]
// Uses callbacks instead of await. Cancels a request that takes longer than SECONDS (10).
import Foundation
import Martlet

@MainActor
final class PageLoader {
  enum Outcome {
    case loaded(HTTPResponse)
    case failed(HTTPError)
    case cancelled
  }

  /// Whether a view would show a spinner.
  private(set) var isLoading = false
  private let client: HTTPClient
  private var handle: RequestHandle<HTTPResponse>?
  private var completion: ((Outcome) -> Void)?

  init(client: HTTPClient) {
    self.client = client
  }

  func load(_ url: URL, completion: @escaping (Outcome) -> Void) {
    cancel()
    self.completion = completion
    handle = client.get(
      RequestTarget(url),
      onStart: { self.isLoading = true },
      onSuccess: { response in self.finish(.loaded(response)) },
      onError: { error in self.finish(.failed(error)) })
  }

  /// A cancelled request calls none of its blocks, so the completion is called here.
  func cancel() {
    guard let handle else { return }
    handle.cancel()
    finish(.cancelled)
  }

  private func finish(_ outcome: Outcome) {
    isLoading = false
    handle = nil
    let completion = completion
    self.completion = nil
    completion?(outcome)
  }
}

@main enum Blocks {
  @MainActor static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    // The range also keeps out infinity and NaN, on which `Duration` traps.
    guard let first = arguments.first, let url = URL(string: first),
      let seconds = Double(arguments.count > 1 ? arguments[1] : "10"), (0.001...1e6).contains(seconds)
    else {
      fail("usage: Blocks URL [SECONDS]", code: 64)
    }
    let loader = PageLoader(client: HTTPClient { $0.retry = .backoff(attempts: 3) })

    // The only await belongs to the program, which must keep running until its block has been called.
    let outcome: PageLoader.Outcome = await withCheckedContinuation { continuation in
      loader.load(url) { outcome in continuation.resume(returning: outcome) }
      Task {
        try await Task.sleep(for: .seconds(seconds))
        loader.cancel()
      }
    }
    switch outcome {
    case .loaded(let response):
      print(response.status, response.headers["Content-Type"] ?? "no type", response.body.count)
      print(response.text.prefix(500))
    case .failed(let error):
      fail(error.isConnectivity ? "no connection: \(error)" : "failed: \(error)", code: 1)
    case .cancelled:
      fail("cancelled after \(seconds) s", code: 1)
    }
  }

  static func fail(_ message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(code)
  }
}
