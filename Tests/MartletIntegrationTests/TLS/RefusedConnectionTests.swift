#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Connections that a server refuses during the TLS handshake or just after it.
  @Suite(.needs(.openssl, .python), .hangLimit) struct RefusedConnectionTests {
    /// A server that refuses a connection, serves one request on the next connection, and so on.
    private struct Server {
      let url: String
      private let process: ToolProcess

      init(_ identity: CertificateAuthority.Identity, _ way: Way, _ next: String) async throws {
        let process = try TestProgram.python.start([
          "-u", "-c", RefusedConnectionTests.program, identity.certificate.path, identity.key.path, way.rawValue, next,
        ])
        _ = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("\n") || !process.isRunning }
        let line = process.outputSoFar.split(separator: "\n").first.map(String.init) ?? ""
        url = "https://127.0.0.1:\(try #require(Int(line), "the server has not started: \(process.errorsSoFar)"))"
        self.process = process
      }

      /// The numbers of the served requests, with repetitions.
      var served: [Int] { process.outputSoFar.split(separator: "\n").dropFirst().compactMap { Int($0) } }
    }

    /// The moment and the means of a refusal.
    enum Way: String, CaseIterable {
      /// RST before the first byte, after the ClientHello, after the server's messages and after the client's Finished.
      case unread, first, second, third
      /// The alert `certificate_required` of TLS 1.3 after the client's Finished, with or without RST after it.
      case alert, alertAndReset
      /// An alert in TLS 1.2, which ends the handshake.
      case oldAlert
      /// RST, or the end of TLS, after the request.
      case request, end

      var isAlert: Bool { [.alert, .alertAndReset, .oldAlert].contains(self) }
    }

    @Test(arguments: Lane.engines, Way.allCases)
    func `a POST after a refused connection opens another connection`(_ lane: Lane, _ way: Way) async throws {
      let authority = try await CertificateAuthority()
      let identity = try await authority.identity()
      let rounds = Figures.setting("MARTLET_REFUSALS") ?? Stress.count(10, full: 28)

      for next in HostFact.http2.holds ? ["http/1.1", "h2"] : ["http/1.1"] {
        let server = try await Server(identity, way, next)
        var problems: [String] = []
        for round in 0..<rounds {
          let client = lane.client { [root = authority.root] in $0.tls = .customRoots(pem: root) }
          let refused = await Result { try await client.get("\(raw: server.url)/get/\(round)") }
          if case .failure(let error as HTTPError) = refused {
            // Sending may fail before the connection counts as open.
            let mayBeLost = way == .alertAndReset && (next == "h2" || !HostFact.reportedRequests.holds)
            let isLost = mayBeLost && error.kind == .cannotConnect
            let isRight = way.isAlert ? error.kind == .tls && !error.isTransient : error.kind != .protocolViolation
            if !isRight, !isLost, HostFact.curlWithOpenSSL.holds { problems.append("GET \(round): \(error)") }
          } else {
            problems.append("GET \(round): \(refused)")
          }
          try await Task.sleep(for: .milliseconds([0, 1, 20][round % 3]))
          let result = await Result { try await client.post("\(raw: server.url)/post/\(round)", body: .text("x")) }
          if (try? result.get())?.text != "\(round)" { problems.append("POST \(round): \(result)") }
        }

        #expect(problems.isEmpty, "\(next): \(problems.count) of \(rounds), \(problems.first ?? "")")
        #expect(await becomes { server.served.count >= rounds })
        #expect(Set(server.served).count == rounds && server.served.count == rounds)
      }
    }

    private static let program = """
      import os, socket, ssl, struct, sys
      certificate, key, way, protocol = sys.argv[1:5]

      def context(isStrict, version=None):
          made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
          made.load_cert_chain(certificate, key)
          if isStrict:
              made.verify_mode = ssl.CERT_REQUIRED
              made.load_verify_locations(certificate)
          if version:
              made.maximum_version = version
          return made

      good = context(False)
      refusing = context("lert" in way, ssl.TLSVersion.TLSv1_2 if way == "oldAlert" else None)
      refusing.set_alpn_protocols([protocol])

      def reset(plain):
          plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
          plain.close()

      def refuse(plain):
          if way == "unread":
              return reset(plain)
          incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
          tls = refusing.wrap_bio(incoming, outgoing, server_side=True)
          flight = 0
          try:
              while True:
                  incoming.write(plain.recv(65536) or b"")
                  flight += 1
                  if way == "first":
                      return reset(plain)
                  try:
                      tls.do_handshake()
                      break
                  except ssl.SSLWantReadError:
                      plain.sendall(outgoing.read())
                      if way == "second" or incoming.eof:
                          return reset(plain)
          except ssl.SSLError:
              plain.sendall(outgoing.read())
              return reset(plain) if way == "alertAndReset" else end(plain)
          if way == "third":
              return reset(plain)
          plain.sendall(outgoing.read())
          while True:
              try:
                  if tls.read(65536):
                      break
              except ssl.SSLWantReadError:
                  incoming.write(plain.recv(65536))
                  if incoming.eof:
                      break
          if way == "request":
              return reset(plain)
          try:
              tls.unwrap()
          except ssl.SSLError:
              pass
          plain.sendall(outgoing.read())
          end(plain)

      def end(plain):
          plain.shutdown(socket.SHUT_WR)
          plain.settimeout(1)
          try:
              while plain.recv(65536):
                  pass
          except OSError:
              pass
          plain.close()

      def serve(plain):
          connection = good.wrap_socket(plain, server_side=True)
          text = b""
          while b"\\r\\n\\r\\n" not in text or (text.startswith(b"POST") and not text.endswith(b"x")):
              piece = connection.recv(65536)
              if not piece:
                  raise OSError
              text += piece
          number = text.split(b" ")[1].split(b"/")[2]
          os.write(1, number + b"\\n")
          head = b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n"
          connection.sendall(head % len(number) + number)
          connection.close()

      listener = socket.create_server(("127.0.0.1", 0))
      print(listener.getsockname()[1], flush=True)
      refuses = True
      while True:
          plain = listener.accept()[0]
          plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
          try:
              refuse(plain) if refuses else serve(plain)
          except OSError:
              plain.close()
          refuses = not refuses
      """

    @Test(.needs(.http2)) func `each request attempts a refused handshake only once`() async throws {
      let server = try MockServer(.ok(), options: MockServer.Options(onConnect: { _ in .closeAtOnce }))
      let client = Lane.curl.client { $0.retry = .off }

      await withTaskGroup { group in
        for number in 0..<40 {
          group.addTask {
            let target = RequestTarget(text: "https://127.0.0.1:\(server.port)/\(number)")
            await #expect(throws: HTTPError.self) { _ = try await client.get(target) }
          }
        }
      }

      #expect((1...40).contains(server.connectionCount))
    }
  }
#endif
