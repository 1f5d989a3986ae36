import CCurlLoop

/// The C loop, which keeps its connections between jobs.
///
/// One job runs at a time, and blocks the thread that runs it.
final class CurlLoopPeer: Peer, @unchecked Sendable {
  private let loop: OpaquePointer
  private let roots: String?
  private let isHTTP2: Bool

  init(connections: Int, roots: String?, isHTTP2: Bool) throws {
    guard let loop = curl_loop_new(connections) else { throw Impossible("there is no libcurl.so.4") }
    self.loop = loop
    self.roots = roots
    self.isHTTP2 = isHTTP2
  }

  deinit { curl_loop_free(loop) }

  func get(_ url: String, length: Int) async throws {
    try run(url) { job in
      job.most = 1
      job.length = Int64(length)
    }
  }

  func gets(_ url: String, length: Int, concurrency: Int, seconds: Double) async throws -> Int {
    let result = try run(url) { job in
      job.length = Int64(length)
      job.concurrency = concurrency
      job.seconds = seconds
    }
    return Int(result.requests)
  }

  func burst(_ url: String, length: Int, count: Int) async throws {
    try run(url) { job in
      job.length = Int64(length)
      job.concurrency = count
      job.most = Int64(count)
    }
  }

  func cancel(_ url: String, count: Int, after seconds: Double) async throws -> Double {
    let result = try run(url) { job in
      job.concurrency = count
      job.seconds = seconds
      job.cancels = true
    }
    guard result.requests == count else { throw Complaint("a request ended before it was cancelled") }
    return result.cancel_seconds
  }

  func download(_ url: String, pause: Duration?) async throws {
    guard pause == nil else { throw Impossible("a reader that sleeps would stop the loop itself") }
    try run(url) { job in
      job.most = 1
      job.length = Int64(Servers.bodyLength)
    }
  }

  func downloads(_ url: String, count: Int) async throws {
    try run(url) { job in
      job.concurrency = count
      job.most = Int64(count)
      job.length = Int64(Servers.bodyLength)
    }
  }

  func collect(_ url: String) async throws { throw Impossible("the loop keeps no body") }

  func upload(_ file: String, to url: String) async throws {
    let answer = "\(Servers.bodyLength)\n"
    try file.withCString { path in
      _ = try run(url) { job in
        job.most = 1
        job.length = Int64(answer.utf8.count)
        job.upload_path = path
        job.upload_length = Int64(Servers.bodyLength)
      }
    }
  }

  @discardableResult
  private func run(_ url: String, _ fill: (inout curl_loop_job) -> Void) throws -> curl_loop_result {
    var result = curl_loop_result()
    let problem = url.withCString { url in
      // An empty name means no file.
      (roots ?? "").withCString { roots in
        var job = curl_loop_job(
          url: url, ca_file: self.roots == nil ? nil : roots, concurrency: 1, seconds: 0, most: 0, length: 0,
          upload_path: nil, upload_length: 0, cancels: false, is_http2: isHTTP2)
        fill(&job)
        return curl_loop_run(loop, &job, &result).map { String(cString: $0) }
      }
    }
    if let problem { throw Complaint(problem) }
    return result
  }
}
