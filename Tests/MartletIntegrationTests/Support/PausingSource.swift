#if os(Linux) && URLSession
  import Foundation
  import FoundationNetworking
  import TestSupport

  @testable import Martlet

  /// A response whose bytes stop while its task is suspended, as with Apple's loader.
  ///
  /// Foundation's own loader on Linux cannot pause, but its sessions and tasks work with a protocol class that can.
  final class PausingSource: Sendable {
    private struct State {
      var produced = 0
      var isStarted = false
      var isPaused = false
      var isStopped = false
      var pauseCount = 0
    }

    private static let all = Shared<[String: PausingSource]>([:])
    /// The size of a chunk.
    static let chunk = 64 << 10
    /// The number of delegate calls that may wait.
    private static let maximumCalls = 16

    let target: RequestTarget
    /// The number of bytes, and the number after which the source is silent.
    let size, silence: Int
    private let state = Shared(State())
    private let queue = Shared<OperationQueue?>(nil)

    init(size: Int, silence: Int = .max) {
      (self.size, self.silence) = (size, silence)
      let id = UUID().uuidString
      target = RequestTarget("http://127.0.0.1:9/\(id)")
      Self.all.withLock { $0[id] = self }
    }

    static func find(_ url: URL?) -> PausingSource? {
      url.flatMap { url in all.withLock { $0[url.lastPathComponent] } }
    }

    /// A transport with tasks that may be suspended, over sources.
    var transport: some Transport {
      PreparedTransport { settings in
        let loader = URLSessionLoader(
          settings, configure: { $0.protocolClasses = [PausingProtocol.self] }, suspends: true)
        self.queue.withLock { $0 = loader.queue }
        return loader
      }
    }

    var produced: Int { state.withLock { $0.produced } }
    var isPaused: Bool { state.withLock { $0.isPaused } }
    var isStopped: Bool { state.withLock { $0.isStopped } }
    var pauseCount: Int { state.withLock { $0.pauseCount } }

    /// The value of all bytes of a chunk.
    static func octet(_ number: Int) -> UInt8 { UInt8(number % 251) }

    /// Called by the session when a task starts, and each time it is resumed.
    fileprivate func resume(_ client: any URLProtocolClient, _ loading: URLProtocol) {
      let isFirst = state.withLock { state in
        state.isPaused = false
        defer { state.isStarted = true }
        return !state.isStarted
      }
      guard isFirst else { return }
      nonisolated(unsafe) let loading = loading
      Thread.detachNewThread { self.run(client, loading) }
    }

    fileprivate func pause() {
      state.withLock { state in
        state.isPaused = true
        state.pauseCount += 1
      }
    }

    /// Ends the source; afterwards it reports nothing.
    fileprivate func stop() { state.withLock { $0.isStopped = true } }

    private func run(_ client: any URLProtocolClient, _ loading: URLProtocol) {
      let url = loading.request.url ?? URL(filePath: "/")
      let fields = ["Content-Length": "\(size)"]
      if let head = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields) {
        client.urlProtocol(loading, didReceive: head, cacheStoragePolicy: .notAllowed)
      }
      while true {
        // Like a loader with a small buffer: the delegate's calls do not accumulate.
        while queue.withLock({ $0?.operationCount ?? 0 }) > Self.maximumCalls { usleep(200) }
        let isOver = state.withLock { state -> Bool? in
          // Under the lock, because a report after a cancellation crashes the process.
          if state.isStopped { return true }
          // The session calls `stopLoading()` some time after the state has changed.
          let isSuspended = loading.task?.state == .suspended
          if state.isPaused || isSuspended || state.produced >= silence { return nil }
          if state.produced >= size {
            client.urlProtocolDidFinishLoading(loading)
            return true
          }
          let octet = Self.octet(state.produced / Self.chunk)
          client.urlProtocol(loading, didLoad: Data(repeating: octet, count: Self.chunk))
          state.produced += Self.chunk
          return false
        }
        if isOver == true { return }
        if isOver == nil { usleep(1000) }
      }
    }
  }

  /// Loads the requests for sources.
  final class PausingProtocol: URLProtocol {
    private var source: PausingSource? { PausingSource.find(request.url) }

    override class func canInit(with request: URLRequest) -> Bool { PausingSource.find(request.url) != nil }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
      if let client { source?.resume(client, self) }
    }

    override func stopLoading() {
      // A cancelled task has an error.
      if task?.error == nil { source?.pause() } else { source?.stop() }
    }
  }
#endif
