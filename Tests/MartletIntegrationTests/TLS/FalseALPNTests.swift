#if os(Linux)
  @testable import CurlEngine
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Servers that negotiate HTTP/2 by ALPN and then use HTTP/1.1.
  @Suite(.needs(.openssl, .python), .needs(.http2), .hangLimit) struct FalseALPNTests {
    /// When the server sends its response, and what happens to its connection.
    enum Way: String, CaseIterable {
      case close, stay
      /// Before it reads the request.
      case early
    }

    // Since 8.0, libcurl waits if the server does not close the connection.
    private static let ways = CurlLibrary.dropsUnread ? [Way.close] : Way.allCases

    @Test(arguments: Lane.engines, ways) func `the error names the cause and the remedy`(
      _ lane: Lane, _ way: Way
    ) async throws {
      let authority = try await CertificateAuthority()
      let identity = try await authority.identity()
      let process = try TestProgram.python.start([
        "-u", "-c", Self.program, identity.certificate.path, identity.key.path, way.rawValue,
      ])
      _ = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("\n") || !process.isRunning }
      let port = try #require(Int(process.outputSoFar.dropLast()), "not started: \(process.errorsSoFar)")
      let client = lane.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        $0.retry = .off
      }

      for number in 0..<Stress.count(6, full: 50) {
        let body: HTTPBody? = number % 2 == 0 ? nil : .text("body")
        let request = HTTPRequest(body == nil ? .get : .post, "https://127.0.0.1:\(port)/", body: body)

        let error = await #expect(throws: HTTPError.self) { try await client.send(request) }

        let shown = Comment(rawValue: error.map { "\($0)" } ?? "")
        #expect(error?.kind == .protocolViolation && error?.isTransient == false, shown)
        #expect(error?.message.contains("agreed on HTTP/2 by ALPN, but sent HTTP/1.1: set httpVersion") == true)
      }
      let old = try await client.get("https://127.0.0.1:\(port)/", options: .httpVersion(.http1_1))
      #expect(old.status == .badRequest && old.httpVersion == .http1_1)
    }

    private static let program = """
      import socket, ssl, sys, threading
      certificate, key, way = sys.argv[1:4]
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(certificate, key)
      context.set_alpn_protocols(["h2", "http/1.1"])

      def serve(plain):
          connection = context.wrap_socket(plain, server_side=True)
          is_old = connection.selected_alpn_protocol() != "h2"
          if way != "early" or is_old:
              connection.recv(65536)
          connection.sendall(b"HTTP/1.1 400 Bad Request\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
          if way == "close":
              connection.shutdown(socket.SHUT_WR)
          while connection.recv(65536):
              pass
          connection.close()

      def attempt(plain):
          try:
              serve(plain)
          except OSError:
              plain.close()

      listener = socket.create_server(("127.0.0.1", 0))
      print(listener.getsockname()[1], flush=True)
      while True:
          threading.Thread(target=attempt, args=(listener.accept()[0],), daemon=True).start()
      """
  }
#endif
