import CCurlLoop
import Foundation
import Martlet

/// One measurement in its own process, so processor time and memory are those of one client.
enum Child {
  static func run(_ text: String) async {
    // Ends a client that hangs.
    alarm(60)
    bench_die_with_parent()
    signal(SIGPIPE, SIG_IGN)
    bench_raise_descriptor_limit()
    let outcome: Outcome
    do {
      let job = try JSONDecoder().decode(Job.self, from: Data(text.utf8))
      // Done before any other thread starts, so all clients verify against the replaced file as the system's
      // certificates.
      let isReplaced =
        job.workload.isTLS && bench_replace_file("/etc/ssl/certs/ca-certificates.crt", job.servers.bundle)
      outcome = .measured(try await measure(job, roots: isReplaced ? nil : job.servers.bundle))
    } catch let error as Impossible {
      outcome = .impossible(error.reason)
    } catch {
      outcome = .failed("\(error)")
    }
    guard let line = try? JSONEncoder().encode(outcome) else { return }
    FileHandle.standardOutput.write(line)
    // A client that cannot end would change the next measurement.
    exit(0)
  }

  // `roots` are the certificates to trust; `nil` means the system's.
  private static func makePeer(_ job: Job, roots: String?) throws -> any Peer {
    let isHTTP2 = job.workload.isHTTP2
    let connections = isHTTP2 ? 1 : job.workload.concurrency
    let threads = job.workload == .threads2 ? 2 : 1
    let isTLS = job.workload.isTLS
    if let roots, isTLS {
      switch job.client {
      case .asyncHTTPClient: return AsyncHTTPClientPeer(connections: connections, roots: roots)
      case .curlLoop: return try CurlLoopPeer(connections: connections, roots: roots, isHTTP2: isHTTP2)
      default: throw Impossible("needs a private view of the system's certificates, which takes rights to mount")
      }
    }
    var cache: ResponseCache?
    switch job.workload {
    case .cacheMemory: cache = .memory()
    case .cacheDisk:
      let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-cache-\(UUID().uuidString)")
      cache = .disk(folder)
    default: break
    }
    if job.workload.isCached, job.client != .martletCurl, job.client != .martletURLSession {
      throw Impossible("has no cache here")
    }
    return switch job.client {
    case .urlSession: URLSessionPeer(connections: connections)
    case .martletURLSession: MartletPeer(.urlSession, connections: connections, threads: threads, cache: cache)
    case .martletCurl: MartletPeer(.curl, connections: connections, threads: threads, cache: cache)
    case .asyncHTTPClient: AsyncHTTPClientPeer(connections: connections, roots: nil)
    case .nio: throw Impossible("only for WebSockets")
    case .curlTasks: try CurlTasksPeer(connections: connections, isHTTP2: isHTTP2)
    case .curlLoop: try CurlLoopPeer(connections: connections, roots: nil, isHTTP2: isHTTP2)
    }
  }

  @concurrent
  private static func measureSockets(_ job: Job, _ peer: some SocketPeer) async throws -> Measurement {
    let (servers, workload) = (job.servers, job.workload)
    let isCompressed = workload.isCompressed
    let payload = workload == .socketEcho || workload == .socketEcho64 ? Payload.small : Payload.large
    let messages = Servers.bodyLength / payload.count
    func echo(for seconds: Double) async throws -> Int {
      try await peer.echo(
        servers.echo, payload: payload, isCompressed: isCompressed, concurrency: workload.concurrency, seconds: seconds)
    }
    func transfer(_ count: Int) async throws {
      switch workload {
      case .socketSend, .socketSendCompressed:
        try await peer.send(servers.sink, payload: payload, isCompressed: isCompressed, count: count)
      default: try await peer.receive(servers.source, payload: payload, isCompressed: isCompressed, count: count)
      }
    }
    if workload == .idleSockets {
      _ = try await peer.echo(servers.echo, payload: payload, isCompressed: false, concurrency: 1, seconds: 0)
      return try await peer.keepIdle(servers.echo, count: workload.concurrency)
    }
    if workload.isTransfer {
      try await transfer(10)
      return try await Meter.measure(idle: Memory.resident) {
        try await transfer(messages)
        return 1
      }
    }
    _ = try await echo(for: 0)
    let idle = Memory.resident
    _ = try await echo(for: job.warmUpSeconds)
    return try await Meter.measure(idle: idle) { try await echo(for: job.seconds) }
  }

  @concurrent
  private static func measure(_ job: Job, roots: String?) async throws -> Measurement {
    let servers = job.servers
    let workload = job.workload
    if workload.isSocket {
      switch job.client {
      case .martletCurl: return try await measureSockets(job, MartletSocketPeer())
      case .nio: return try await measureSockets(job, NIOSocketPeer())
      default: throw Impossible("has no WebSocket here")
      }
    }
    let length = Servers.smallLength
    let make = { try makePeer(job, roots: roots) }
    var peer: any Peer = try make()
    switch workload {
    case .getSequential, .get64, .get256, .get1024, .tlsKept, .tlsNew, .tls64, .http2, .cacheMemory, .cacheDisk:
      let url =
        switch workload {
        case .tlsKept, .tls64: servers.smallTLS
        case .tlsNew: servers.smallTLSOnce
        case .http2: servers.smallHTTP2
        default: servers.small
        }
      try await peer.get(url, length: length)
      let idle = Memory.resident
      _ = try await peer.gets(
        url, length: length, concurrency: workload.concurrency, seconds: job.warmUpSeconds)
      return try await Meter.measure(idle: idle) {
        try await peer.gets(url, length: length, concurrency: workload.concurrency, seconds: job.seconds)
      }
    case .http2Downloads:
      try await peer.get(servers.smallHTTP2, length: length)
      return try await Meter.measure(idle: Memory.resident) {
        let end = ContinuousClock.now + .seconds(job.seconds)
        var count = 0
        repeat {
          try await peer.burst(servers.middleHTTP2, length: Servers.middleLength, count: workload.concurrency)
          count += workload.concurrency
        } while ContinuousClock.now < end
        return count
      }
    case .threads2:
      try await peer.get(servers.smallTLS, length: length)
      return try await Meter.measure(idle: Memory.resident) { [peer] in
        try await peer.downloads(servers.bigTLS, count: workload.concurrency)
        return workload.concurrency
      }
    case .download, .copiedDownload, .slowDownload, .buffered, .upload, .tlsDownload, .tlsUpload:
      try await peer.get(workload.isTLS ? servers.smallTLS : servers.small, length: length)
      return try await Meter.measure(idle: Memory.resident) {
        switch workload {
        case .download: try await peer.download(servers.big, pause: nil)
        case .copiedDownload: try await peer.download(servers.bigCopied, pause: nil)
        case .slowDownload: try await peer.download(servers.big, pause: Servers.pause)
        case .buffered: try await peer.collect(servers.big)
        case .tlsDownload: try await peer.download(servers.bigTLS, pause: nil)
        case .tlsUpload: try await peer.upload(servers.file, to: servers.uploadTLS)
        default: try await peer.upload(servers.file, to: servers.upload)
        }
        return 1
      }
    case .creation:
      try await peer.get(servers.small, length: length)
      let idle = Memory.resident
      func create(for seconds: Double) async throws -> Int {
        let end = ContinuousClock.now + .seconds(seconds)
        var count = 0
        repeat {
          try await peer.close()
          peer = try make()
          try await peer.get(servers.small, length: length)
          count += 1
        } while ContinuousClock.now < end
        return count
      }
      _ = try await create(for: job.warmUpSeconds)
      return try await Meter.measure(idle: idle) { try await create(for: job.seconds) }
    case .idleClients:
      try await peer.get(servers.small, length: length)
      return try await Meter.measure(idle: Memory.resident) {
        let peers = try (0..<Workload.idleClientCount).map { _ in try make() }
        for peer in peers { try await peer.get(servers.small, length: length) }
        return peers.count
      }
    case .inFlight:
      try await peer.get(servers.held, length: length)
      return try await Meter.measure(idle: Memory.resident) {
        try await peer.burst(servers.held, length: length, count: workload.concurrency)
        return workload.concurrency
      }
    case .socketEcho, .socketEcho64, .socketEchoCompressed, .socketSend, .socketReceive, .socketSendCompressed,
      .socketReceiveCompressed, .idleSockets:
      throw Impossible("only for WebSockets")
    case .cancel:
      try await peer.get(servers.held, length: length)
      return try await measureCancel(peer, job)
    }
  }

  private static func measureCancel(_ peer: any Peer, _ job: Job) async throws -> Measurement {
    let count = job.workload.concurrency
    let before = Memory.descriptors
    // Measures for one second while the requests wait. The slowest client needs three seconds to send all of them.
    let waiting = Task.detached {
      try await Task.sleep(for: .seconds(3.8))
      let start = bench_cpu_seconds()
      try await Task.sleep(for: .seconds(1))
      return bench_cpu_seconds() - start
    }
    var seconds = 0.0
    var result = try await Meter.measure(idle: Memory.resident) {
      seconds = try await peer.cancel(job.servers.never, count: count, after: 5)
      return count
    }
    result.seconds = seconds
    result.waitingCores = try await waiting.value
    try await Task.sleep(for: .milliseconds(500))
    // The difference is negative if the client has also closed its idle connection.
    result.descriptorsLeft = max(0, Memory.descriptors - before)
    return result
  }
}
