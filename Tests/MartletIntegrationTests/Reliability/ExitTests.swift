#if os(Linux)
  import Foundation
  import Martlet
  import MartletOutbox
  import MartletTesting
  import TestSupport
  import Testing

  /// A program may exit whatever its requests are doing.
  ///
  /// OpenSSL clears its memory when the process exits, so another thread that uses it at that moment crashes.
  @Suite(.ownThreads, .hangLimit) struct ExitTests {
    /// Reading the system's roots takes each client about 20 ms, so one of many clients is always doing it.
    @Test(.needs(.openSSL), arguments: Lane.engines, [false, true])
    func `survives an exit during TLS handshakes`(_ lane: Lane, _ isUsedBefore: Bool) async {
      for pause in [0, 15] {
        await #expect(processExitsWith: .success) {
          [lane = lane as Lane, isUsedBefore = isUsedBefore as Bool, pause = pause as Int] in
          if isUsedBefore { useOpenSSL() }
          let server = try stallingServer()
          let clients = (0..<clientCount).map { _ in lane.client() }
          for client in clients { client.start(.get(RequestTarget("https://127.0.0.1:\(server.port)/"))) }
          // The first request loads libcurl. If OpenSSL was in use before, Martlet cannot make an exit at that moment
          // safe.
          if isUsedBefore || pause > 0 { #expect(await becomes { server.openConnections > 0 }) }
          try await Task.sleep(for: .milliseconds(pause))
          exit(0)
        }
      }
    }

    #if canImport(Darwin) || URLSession
      @Test func `survives an exit with the system's loader if OpenSSL was not used before`() async {
        for pause in [0, 15] {
          await #expect(processExitsWith: .success) { [pause = pause as Int] in
            let server = try stallingServer()
            let clients = (0..<clientCount).map { _ in HTTPClient { $0.transport = .urlSession(loader: .system) } }
            for client in clients { client.start(.get(RequestTarget("https://127.0.0.1:\(server.port)/"))) }
            #expect(await becomes { server.openConnections > 0 })
            try await Task.sleep(for: .milliseconds(pause))
            exit(0)
          }
        }
      }
    #endif

    /// When clients are released, their threads free the memory that OpenSSL keeps for them.
    @Test(.needs(.openSSL), arguments: Lane.engines)
    func `survives an exit after clients are released`(_ lane: Lane) async {
      for pause in [0, 300, 1000] {
        await #expect(processExitsWith: .success) { [lane = lane as Lane, pause = pause as Int] in
          useOpenSSL()
          let server = try stallingServer()
          var clients = (0..<clientCount).map { _ in lane.client() }
          let handles = clients.map { $0.start(.get(RequestTarget("https://127.0.0.1:\(server.port)/"))) }
          #expect(await becomes { server.openConnections == clientCount })
          for handle in handles { handle.cancel() }
          clients = []
          #expect(await becomes { server.openConnections == 0 })
          try await Task.sleep(for: .microseconds(pause))
          exit(0)
        }
      }
    }

    @Test(arguments: Lane.engines, [false, true])
    func `refuses requests while the process exits`(_ lane: Lane, _ isFull: Bool) async {
      await #expect(processExitsWith: .success) { [lane = lane as Lane, isFull = isFull as Bool] in
        let client = lane.client { $0.maximumConnectionsPerHost = 1 }
        late.withLock { $0 = client }
        // Exit handlers run in reverse order, so this one runs last.
        atexit {
          guard let client = late.withLock({ $0 }) else { return }
          let end = DispatchSemaphore(value: 0)
          let kind = Shared<HTTPError.Kind?>(nil)
          Task {
            do { _ = try await client.get("http://127.0.0.1:9/") } catch {
              kind.withLock { $0 = (error as? HTTPError)?.kind }
            }
            end.signal()
          }
          guard end.wait(timeout: .now() + 50) == .success, kind.withLock({ $0 }) == .clientClosed else { _exit(3) }
        }
        let server = try MockServer(.ok("x"))
        #expect(try await client.get(RequestTarget(server.url)).text == "x")
        let hanging = try MockServer(.hang)
        if isFull {
          client.start(.get(RequestTarget(hanging.url)))
          _ = await hanging.waitForRequests(1)
        }
        // A separate thread, because tasks need the threads of the pool.
        Thread.detachNewThread { exit(0) }
        try await Task.sleep(for: .seconds(600))
        _exit(4)
      }
    }

    /// Requests that cannot be sent because the process exits must not become dead letters.
    @Test(arguments: Lane.engines) func `an outbox keeps pending requests while the process exits`(_ lane: Lane)
      async throws
    {
      let folder = try TemporaryFolder()
      let box = URL(filePath: folder.path("box"))
      await #expect(processExitsWith: .success) { [lane = lane as Lane, box = box as URL] in
        // Exit handlers run in reverse order, so this one runs last.
        atexit {
          lateOutbox.withLock { $0 }?.retryNow()
          usleep(500_000)
        }
        let refused = try MockServer.refusedPort()
        let outbox = try await lane.client().outbox(at: box)
        lateOutbox.withLock { $0 = outbox }
        try await outbox.submit(.post(RequestTarget("http://127.0.0.1:\(refused)/")))
        // Waits until the delivery has failed and the outbox pauses.
        #expect(await becomes { outbox.status.pending == 1 && outbox.status.sending == 0 })
        try await Task.sleep(for: .milliseconds(100))
        Thread.detachNewThread { exit(0) }
        try await Task.sleep(for: .seconds(600))
        _exit(4)
      }
      let outbox = try await lane.client().outbox(at: box)
      #expect(outbox.status.pending == 1 && outbox.status.dead == 0, "\(outbox.status)")
      await outbox.close()
    }

    /// The callback runs on a queue's thread while the engine's thread wants to continue.
    @Test(arguments: Lane.engines, [false, true])
    func `a callback can exit the process`(_ lane: Lane, _ isSecond: Bool) async {
      await #expect(processExitsWith: .success) { [lane = lane as Lane, isSecond = isSecond as Bool] in
        let server = try MockServer(.ok("x"))
        let client = lane.client()
        if isSecond {
          _ = try await client.get(RequestTarget(server.url))
          try await Task.sleep(for: .milliseconds(100))
        }
        let target = RequestTarget(server.url)
        let options = RequestOptions.onProgress { _ in
          // An exit that waits for itself takes 5 seconds.
          if Stress.isOn { DispatchQueue.global().asyncAfter(deadline: .now() + 4) { _exit(3) } }
          client.start(.get(target))
          usleep(50_000)
          exit(0)
        }
        _ = try await client.get(target, options: options)
        try await Task.sleep(for: .seconds(600))
        _exit(4)
      }
    }
  }

  private let late = Shared<HTTPClient?>(nil)
  private let lateOutbox = Shared<Outbox?>(nil)

  /// Under the sanitizer, clients take so long that an exit would not wait for many of them.
  private var clientCount: Int { isSanitized ? 4 : 12 }

  private func stallingServer() throws -> MockServer {
    try MockServer(.ok(), options: MockServer.Options(onConnect: { _ in .acceptAndStall }))
  }

  /// Initializes OpenSSL, as another library of the program may have done.
  private func useOpenSSL() {
    guard let image = HostFact.openSSLImage, let symbol = dlsym(image, "OPENSSL_init_crypto") else {
      Issue.record("there is no OpenSSL")
      return
    }
    typealias Initialize = @convention(c) (UInt64, UnsafeRawPointer?) -> CInt
    #expect(unsafeBitCast(symbol, to: Initialize.self)(8, nil) == 1)
  }
#endif
