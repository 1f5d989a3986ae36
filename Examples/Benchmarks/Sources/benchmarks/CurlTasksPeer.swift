import CCurlLoop
import Synchronization

/// The C loop on its own thread, with one waiting task per request.
///
/// This is the lower bound for an asynchronous client over libcurl.
///
/// It creates no response, reads no head, keeps no body and cannot be cancelled.
final class CurlTasksPeer: Peer, @unchecked Sendable {
  private let loop: OpaquePointer
  private let isHTTP2: Bool
  private let served = Mutex<String?>(nil)

  init(connections: Int, isHTTP2: Bool) throws {
    guard let loop = curl_loop_new(connections) else { throw Impossible("there is no libcurl.so.4") }
    self.loop = loop
    self.isHTTP2 = isHTTP2
  }

  deinit { curl_loop_free(loop) }

  func get(_ url: String, length: Int) async throws {
    try served.withLock { served in
      if served == url { return }
      guard served == nil, curl_loop_serve(loop, url, Int64(length), isHTTP2) else {
        throw Impossible("the loop serves one URL")
      }
      served = url
    }
    try await withUnsafeThrowingContinuation { continuation in
      let waiter = Unmanaged.passRetained(Waiter(continuation)).toOpaque()
      curl_loop_get(
        loop,
        { waiter, problem in
          let waiter = Unmanaged<Waiter>.fromOpaque(waiter).takeRetainedValue()
          if let problem {
            waiter.continuation.resume(throwing: Complaint(String(cString: problem)))
          } else {
            waiter.continuation.resume()
          }
        }, waiter)
    }
  }

  func download(_ url: String, pause: Duration?) async throws { throw Impossible("only small GETs") }

  func collect(_ url: String) async throws { throw Impossible("only small GETs") }

  func upload(_ file: String, to url: String) async throws { throw Impossible("only small GETs") }

  func cancel(_ url: String, count: Int, after seconds: Double) async throws -> Double {
    throw Impossible("cannot be cancelled")
  }
}

private final class Waiter {
  let continuation: UnsafeContinuation<Void, any Error>

  init(_ continuation: UnsafeContinuation<Void, any Error>) { self.continuation = continuation }
}
