#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import Testing

  /// A program may exit whatever its requests are doing.
  ///
  /// OpenSSL clears its memory when the process exits: who uses it on another thread at that moment crashes.
  @Suite(.serialized, .timeLimit(.minutes(2))) struct ExitTests {
    /// Reading the roots of the system takes each client some 20 ms, so that one of many always does.
    @Test(arguments: Lane.engines, [false, true])
    func `survives an exit while connections are secured`(_ lane: Lane, _ isUsedBefore: Bool) async {
      for pause in [0, 30] {
        await #expect(processExitsWith: .success) {
          [lane = lane as Lane, isUsedBefore = isUsedBefore as Bool, pause = pause as Int] in
          if isUsedBefore { useOpenSSL() }
          let server = try MockServer(.ok(), options: MockServer.Options(onConnect: { _ in .acceptAndStall }))
          let clients = (0..<12).map { _ in lane.client() }
          for client in clients { client.start(.get(RequestTarget("https://127.0.0.1:\(server.port)/"))) }
          // The first request opens libcurl: with OpenSSL in use before, an exit at that moment is not ours to survive.
          if isUsedBefore || pause > 0 { #expect(await becomes { server.openConnections > 0 }) }
          try await Task.sleep(for: .milliseconds(pause))
          exit(0)
        }
      }
    }

    @Test(arguments: Lane.engines)
    func `refuses requests while the process exits`(_ lane: Lane) async {
      await #expect(processExitsWith: .success) { [lane = lane as Lane] in
        lateRequest.withLock { $0 = lane }
        // Registered first, and so called last.
        atexit {
          guard let lane = lateRequest.withLock({ $0 }) else { return }
          let end = DispatchSemaphore(value: 0)
          let kind = Shared<HTTPError.Kind?>(nil)
          Task {
            do { _ = try await lane.client().get("http://127.0.0.1:9/") } catch {
              kind.withLock { $0 = (error as? HTTPError)?.kind }
            }
            end.signal()
          }
          guard end.wait(timeout: .now() + 10) == .success, kind.withLock({ $0 }) == .unsupported else { _exit(3) }
        }
        let server = try MockServer(.ok("x"))
        let client = lane.client()
        #expect(try await client.get(RequestTarget(server.url)).text == "x")
        exit(0)
      }
    }

    @Test(arguments: Lane.engines) func `may exit in a callback`(_ lane: Lane) async {
      await #expect(processExitsWith: .success) { [lane = lane as Lane] in
        let server = try MockServer(.ok("x"))
        let client = lane.client()
        let options = RequestOptions.onProgress { _ in exit(0) }
        _ = try await client.get(RequestTarget(server.url), options: options)
        try await Task.sleep(for: .seconds(10))
        _exit(3)
      }
    }
  }

  private let lateRequest = Shared<Lane?>(nil)

  /// Does what any other library of the program may have done before.
  private func useOpenSSL() {
    guard let symbol = dlsym(dlopen("libcrypto.so.3", RTLD_NOW), "OPENSSL_init_crypto") else { return }
    typealias Initialize = @convention(c) (UInt64, UnsafeRawPointer?) -> CInt
    #expect(unsafeBitCast(symbol, to: Initialize.self)(8, nil) == 1)
  }
#endif
