#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import MartletWebSocket
  import TestSupport
  import Testing

  /// The cases of `conformance.py`, in the categories of the Autobahn test suite.
  @Suite(.hangLimit, .needs(.python, .openssl, problem: PythonPackage.problem("wsproto")))
  struct WebSocketConformanceTests {
    private struct Offer: Decodable {
      var compression: Bool
    }

    /// Runs the server until it is released.
    private struct Server {
      let port: Int
      let count: Int
      private let process: ToolProcess

      init(_ identity: CertificateAuthority.Identity?) async throws {
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "conformance.py").path
        let files = identity.map { [$0.certificate.path, $0.key.path] } ?? []
        let process = try TestProgram.python.start(["-u", program] + files)
        _ = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("cases ") || !process.isRunning }
        let lines = process.outputSoFar.split(separator: "\n")
        port = try #require(lines.first.flatMap { Int($0) }, "the server has not started: \(process.errorsSoFar)")
        count = try #require(lines.last.flatMap { Int($0.dropFirst(6)) })
        self.process = process
      }
    }

    /// Runs every sixth case without TLS, and every sixth other one with TLS; all of them with `MARTLET_STRESS=1`.
    @Test(arguments: [false, true]) func `passes the cases`(isSecure: Bool) async throws {
      let authority = isSecure ? try await CertificateAuthority() : nil
      let root = try authority?.rootPEM
      let server = try await Server(try await authority?.identity())
      let client = Lane.curl.client {
        if let root { $0.tls = .customRoots(pem: root) }
        $0.maximumConnectionsPerHost = 32
      }
      let base = "\(isSecure ? "https" : "http")://127.0.0.1:\(server.port)"

      let failures = try await withThrowingTaskGroup(of: String?.self) { group in
        let stride = Stress.isOn ? 1 : 6
        var rest = Array(Swift.stride(from: !Stress.isOn && isSecure ? 4 : 1, through: server.count, by: stride))[...]
        for number in rest.prefix(8) { group.addTask { try await Self.run(number, base, client) } }
        rest = rest.dropFirst(8)
        var failures: [String] = []
        while let failure = try await group.next() {
          if let failure { failures.append(failure) }
          if let number = rest.popFirst() { group.addTask { try await Self.run(number, base, client) } }
        }
        return failures
      }

      #expect(server.count >= 600)
      #expect(failures.isEmpty, "\(failures.sorted().joined(separator: "\n"))")
      await client.waitUntilEmpty()
    }

    /// Echoes the messages of a case; returns why it failed.
    private static func run(_ number: Int, _ base: String, _ client: HTTPClient) async throws -> String? {
      let offer = try await client.get("\(raw: base)/offer/\(number)", as: Offer.self)
      let options = WebSocketOptions {
        $0.compression = offer.compression ? .deflate : .off
        $0.compression.minimumBytes = 0
      }
      do {
        let target = RequestTarget("ws\(raw: String(base.dropFirst(4)))/case/\(number)")
        let socket = try await client.webSocket(.get(target), options: options)
        while let message = try await socket.receive() { try await socket.send(message) }
        await socket.close()
      } catch is HTTPError {
        // Many cases require a failure; the server judges it.
      }
      let verdict = try await client.get("\(raw: base)/verdict/\(number)").text
      guard verdict.trimmingCharacters(in: .whitespacesAndNewlines) != "ok" else { return nil }
      let name = try await client.get("\(raw: base)/name/\(number)").text
      return "\(number) \(name): \(verdict)"
    }
  }
#endif
