#if os(Linux)
  import Foundation
  import Martlet
  import MartletOutbox
  import MartletTesting
  import TestSupport
  import Testing

  /// A program may exit whatever its requests are doing.
  ///
  /// OpenSSL clears its memory when the process exits: who uses it on another thread at that moment crashes.
  @Suite(.ownThreads, .hangLimit) struct ExitTests {
    /// Reading the roots of the system takes each client some 20 ms, so that one of many always does.
    @Test(.needs(.openSSL), arguments: Lane.engines, [false, true])
    func `survives an exit during TLS handshakes`(_ lane: Lane, _ isUsedBefore: Bool) async {
      for pause in [0, 15] {
        await #expect(processExitsWith: .success) {
          [lane = lane as Lane, isUsedBefore = isUsedBefore as Bool, pause = pause as Int] in
          if isUsedBefore { useOpenSSL() }
          let server = try stallingServer()
          let clients = (0..<clientCount).map { _ in lane.client() }
          for client in clients { client.start(.get(RequestTarget("https://127.0.0.1:\(server.port)/"))) }
          // The first request opens libcurl: with OpenSSL in use before, an exit at that moment is not ours to survive.
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

    /// Threads of clients that are gone give back what OpenSSL keeps for them.
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
        // Registered first, and so called last.
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
        // Not a thread that tasks need.
        Thread.detachNewThread { exit(0) }
        try await Task.sleep(for: .seconds(600))
        _exit(4)
      }
    }

    /// What cannot be sent because the process exits is not dead.
    @Test(arguments: Lane.engines) func `an outbox keeps pending requests while the process exits`(_ lane: Lane)
      async throws
    {
      let folder = try TemporaryFolder()
      let box = URL(filePath: folder.path("box"))
      await #expect(processExitsWith: .success) { [lane = lane as Lane, box = box as URL] in
        // Registered first, and so called last.
        atexit {
          lateOutbox.withLock { $0 }?.retryNow()
          usleep(500_000)
        }
        let refused = try MockServer.refusedPort()
        let outbox = try await lane.client().outbox(at: box)
        lateOutbox.withLock { $0 = outbox }
        try await outbox.submit(.post(RequestTarget("http://127.0.0.1:\(refused)/")))
        // Until it has failed, and makes a pause.
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

    /// On a thread of a queue, while the engine's wants to go on.
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
          // Who waits for itself takes 5 seconds.
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

  /// With the sanitizer all of it takes so long that an exit would not wait for many.
  private var clientCount: Int { isSanitized ? 4 : 12 }

  private func stallingServer() throws -> MockServer {
    try MockServer(.ok(), options: MockServer.Options(onConnect: { _ in .acceptAndStall }))
  }

  /// Does what any other library of the program may have done before.
  private func useOpenSSL() {
    guard let image = HostFact.openSSLImage, let symbol = dlsym(image, "OPENSSL_init_crypto") else {
      Issue.record("there is no OpenSSL")
      return
    }
    typealias Initialize = @convention(c) (UInt64, UnsafeRawPointer?) -> CInt
    #expect(unsafeBitCast(symbol, to: Initialize.self)(8, nil) == 1)
  }
#endif
