#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// A host with four addresses, at each of which a server returns its address.
  @Suite(.needs(.python), .needs(.loopbackAliases), .hangLimit) struct AddressShuffleTests {
    private static let addresses = (1...4).map { "127.0.0.\($0)" }

    private static let program = """
      import socket, sys, threading
      port, listeners = 0, []
      for number in range(1, 5):
          listener = socket.socket()
          listener.bind((f"127.0.0.{number}", port))
          listener.listen(100)
          port = listener.getsockname()[1]
          listeners.append(listener)
      def serve(listener):
          while True:
              connection, _ = listener.accept()
              data = b""
              while b"\\r\\n\\r\\n" not in data:
                  data += connection.recv(65536) or b"\\r\\n\\r\\n"
              body = listener.getsockname()[0].encode()
              head = b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body)
              connection.sendall(head + body)
              connection.close()
      for listener in listeners[1:]:
          threading.Thread(target=serve, args=[listener], daemon=True).start()
      print(port, flush=True)
      serve(listeners[0])
      """

    private static func start() async throws -> (process: ToolProcess, port: Int) {
      // One of the addresses may use the port already.
      for _ in 0..<10 {
        let process = try TestProgram.python.start(["-u", "-c", program])
        _ = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("\n") || !process.isRunning }
        let line = process.outputSoFar.split(separator: "\n").first.map(String.init) ?? ""
        if let port = Int(line) { return (process, port) }
      }
      throw CocoaError(.featureUnsupported)
    }

    @Test(arguments: Lane.engines) func `tries addresses in a random order only if that is set`(_ lane: Lane)
      async throws
    {
      let (process, port) = try await Self.start()
      let setting = ClientSetting.resolve(["several.test": Self.addresses])
      let (shuffling, usual) = (lane.client(setting) { $0.shufflesAddresses = true }, lane.client(setting))

      var seen: [String: Int] = [:]
      for _ in 0..<100 { seen[try await shuffling.get("http://several.test:\(port)/").text, default: 0] += 1 }
      let first = Set(
        try await [
          usual.get("http://several.test:\(port)/").text, usual.get("http://several.test:\(port)/").text,
        ])

      // Each is missing with a probability of 3e-13.
      #expect(Set(seen.keys) == Set(Self.addresses), "\(seen)")
      #expect(first == ["127.0.0.1"])
      withExtendedLifetime(process) {}
    }
  }
#endif
