import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// URLSession without a library above it.
struct URLSessionPeer: Peer {
  private let session: URLSession

  init(connections: Int) { session = URLSession(configuration: Self.configuration(connections)) }

  private static func configuration(_ connections: Int) -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = connections
    configuration.timeoutIntervalForRequest = 120
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    return configuration
  }

  func get(_ url: String, length: Int) async throws {
    let (data, response) = try await session.data(for: request(url))
    try check(status: status(response), length: data.count, expected: length)
  }

  func download(_ url: String, pause: Duration?) async throws {
    // Only the delegate of a session receives bytes as they arrive.
    let counter = Counter(pause: pause)
    let session = URLSession(configuration: Self.configuration(1), delegate: counter, delegateQueue: nil)
    defer { session.finishTasksAndInvalidate() }
    let task = session.dataTask(with: try request(url))
    try await withCheckedThrowingContinuation { continuation in
      counter.start(continuation)
      task.resume()
    }
    try check(status: status(task.response), length: counter.length, expected: Servers.bodyLength)
  }

  func collect(_ url: String) async throws { try await get(url, length: Servers.bodyLength) }

  func upload(_ file: String, to url: String) async throws {
    var request = try request(url)
    request.httpMethod = "POST"
    let (data, response) = try await session.upload(for: request, fromFile: URL(fileURLWithPath: file))
    try check(status: status(response), count: data)
  }

  func close() async throws { session.finishTasksAndInvalidate() }

  private func request(_ text: String) throws -> URLRequest {
    guard let url = URL(string: text) else { throw Complaint("\(text) is not a URL") }
    return URLRequest(url: url)
  }

  private func status(_ response: URLResponse?) -> Int { (response as? HTTPURLResponse)?.statusCode ?? 0 }
}

/// Counts the bytes of a body.
private final class Counter: NSObject, URLSessionDataDelegate, Sendable {
  private struct State {
    var length = 0
    var pauses = PauseCounter()
    var continuation: CheckedContinuation<Void, any Error>?
  }

  private let pause: Duration?
  private let state = Mutex(State())

  init(pause: Duration?) { self.pause = pause }

  var length: Int { state.withLock { $0.length } }

  func start(_ continuation: CheckedContinuation<Void, any Error>) {
    state.withLock { $0.continuation = continuation }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let pauses = state.withLock { state in
      state.length += data.count
      return state.pauses.count(data.count)
    }
    if let pause { usleep(UInt32(pause / .microseconds(1)) * UInt32(pauses)) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let continuation = state.withLock { $0.continuation.take() }
    if let error { continuation?.resume(throwing: error) } else { continuation?.resume() }
  }
}
