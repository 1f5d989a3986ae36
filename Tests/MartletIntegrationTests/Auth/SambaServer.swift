#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  extension TestProgram {
    static let ntlmAuth = TestProgram("ntlm_auth")
  }

  /// An HTTP and TLS server that verifies NTLM messages with Samba's `ntlm_auth`.
  ///
  /// Its users are CORP's ada and bob, who share one password that depends on the path. A login applies to all later
  /// requests on its connection. The response contains the user's name and the length of the request body.
  struct SambaServer: Sendable {
    /// A logged request.
    struct Entry: Codable, Hashable {
      var connection: Int
      var method: String
      var path: String
      var size: Int
      /// The number of the message in `Authorization`, or 0.
      var step: Int
      /// The connection's user after the request.
      var user: String?
    }

    private struct Ports: Codable {
      var http: Int
      var https: Int
    }

    static let password = "s3cret"
    /// The password for `/latin` and the paths below it.
    static let latinPassword = "s\u{E9}cret \u{FF}\u{DF}"

    /// The server that a suite's tests share.
    @TaskLocal static var current: SambaServer?

    /// The root certificate that issued the server's certificate.
    let root: URL
    private let ports: Ports
    private let log: String

    /// Returns the server's origin.
    func origin(isSecure: Bool) -> String {
      isSecure ? "https://127.0.0.1:\(ports.https)" : "http://127.0.0.1:\(ports.http)"
    }

    /// Returns the URL of a path.
    func url(_ path: String, isSecure: Bool) -> RequestTarget {
      RequestTarget("\(raw: origin(isSecure: isSecure))\(raw: path)")
    }

    /// Returns the logged requests for a path.
    func entries(_ path: String) throws -> [Entry] {
      try Data(contentsOf: URL(filePath: log)).split(separator: 0x0A).dropFirst()
        .map { try JSONDecoder().decode(Entry.self, from: $0) }.filter { $0.path == path }
    }

    /// The reason the server cannot run here, or `nil`.
    static let problem: String? = {
      let missing = [TestProgram.python, .ntlmAuth, .openssl].filter { $0.url == nil }.map(\.name)
      let packages = "python3 and winbind have them"
      return missing.isEmpty ? nil : "\(missing.joined(separator: " and ")) is not installed: \(packages)"
    }()

    /// A running server, whose process ends when it is released.
    fileprivate struct Running {
      let facts: SambaServer
      private let authority: CertificateAuthority
      private let process: ToolProcess
      private let folder: TemporaryFolder

      init() async throws {
        let authority = try await CertificateAuthority()
        let identity = try await authority.identity()
        let folder = try TemporaryFolder()
        let places = ["private", "lock", "state", "cache", "pid"].map { "\($0) directory = \(folder.url.path)" }
        try folder.write(
          """
          [global]
          workgroup = CORP
          netbios name = WWW
          unix charset = UTF-8
          log file = \(folder.path("samba.log"))
          \(places.joined(separator: "\n"))

          """, to: "smb.conf")
        let log = folder.path("log")
        let helper = try TestProgram.ntlmAuth.path()
        let process = try TestProgram.python.start([
          "-c", SambaServer.program, helper.path, folder.path("smb.conf"), SambaServer.password,
          SambaServer.latinPassword, identity.certificate.path, identity.key.path, log,
        ])
        var ports: Ports?
        _ = await becomes(every: .milliseconds(10)) {
          let line = (try? folder.contents("log"))?.split(separator: 0x0A).first
          ports = line.flatMap { try? JSONDecoder().decode(Ports.self, from: $0) }
          return ports != nil || !process.isRunning
        }
        let open = try #require(ports, "the server did not start: \(process.outputSoFar)")
        facts = SambaServer(root: authority.root, ports: open, log: log)
        (self.authority, self.process, self.folder) = (authority, process, folder)
      }
    }

    private static let program = #"""
      import itertools, json, ssl, subprocess, sys, threading
      from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

      helper, configuration, password, latin_password, certificate, key, log = sys.argv[1:]
      numbers, lock, log = itertools.count(1), threading.Lock(), open(log, "w")

      def deliver(fact):
          with lock:
              print(json.dumps(fact), file=log, flush=True)

      class Connection(BaseHTTPRequestHandler):
          protocol_version = "HTTP/1.1"

          def setup(self):
              super().setup()
              self.number, self.helper, self.user = next(numbers), None, None

          def finish(self):
              self.end_helper()
              super().finish()

          def log_message(self, *_):
              pass

          def ask(self, command, message):
              if not self.helper:
                  right = latin_password if self.path.startswith("/latin") else password
                  self.helper = subprocess.Popen(
                      [helper, "--configfile=" + configuration, "--helper-protocol=squid-2.5-ntlmssp",
                       "--password=" + right], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
              self.helper.stdin.write(command + " " + message + "\n")
              self.helper.stdin.flush()
              answer, _, text = self.helper.stdout.readline().strip().partition(" ")
              return answer, text

          def end_helper(self):
              if self.helper:
                  self.helper.communicate()
                  self.helper = None

          def read_body(self):
              if self.headers.get("Transfer-Encoding") != "chunked":
                  return len(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
              count = 0
              while size := int(self.rfile.readline(), 16):
                  count += len(self.rfile.read(size))
                  self.rfile.readline()
              self.rfile.readline()
              return count

          def answer(self):
              size, step, challenge = self.read_body(), 0, "NTLM"
              scheme, _, message = (self.headers.get("Authorization") or "").partition(" ")
              if scheme == "NTLM":
                  step = 3 if self.helper else 1
                  answer, text = self.ask("KK" if self.helper else "YR", message)
                  if answer == "TT":
                      challenge = "NTLM " + text
                  else:
                      self.end_helper()
                      if answer == "AF" and text in ["CORP\\ada", "CORP\\bob", "\\ada"]:
                          self.user = text
              deliver({"connection": self.number, "method": self.command, "path": self.path, "size": size,
                    "step": step, "user": self.user})
              text = f"{self.user} {size}" if self.user else "who are you?"
              self.send_response(200 if self.user else 401)
              if not self.user:
                  self.send_header("WWW-Authenticate", challenge)
              self.send_header("Content-Length", str(len(text)))
              self.end_headers()
              self.wfile.write(text.encode())

          do_GET = do_POST = do_PUT = answer

      class Server(ThreadingHTTPServer):
          request_queue_size = 100

          def finish_request(self, request, address):
              # The TLS handshake also runs on the connection's own thread.
              if self is secure:
                  request = context.wrap_socket(request, server_side=True)
              super().finish_request(request, address)

          def handle_error(self, *_):
              pass

      plain, secure = (Server(("127.0.0.1", 0), Connection) for _ in range(2))
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(certificate, key)
      threading.Thread(target=secure.serve_forever, daemon=True).start()
      deliver({"http": plain.server_port, "https": secure.server_port})
      plain.serve_forever()
      """#
  }

  extension Trait where Self == Needs {
    /// Skips the test if Samba's `ntlm_auth` is missing, except in CI.
    static var needsSamba: Needs { .needs(.python, .ntlmAuth, .openssl, problem: SambaServer.problem) }
  }

  extension Trait where Self == Surroundings<SambaServer> {
    /// Starts a ``SambaServer`` for the suite.
    static var sambaServer: Surroundings<SambaServer> {
      Surroundings(facts: SambaServer.$current) {
        let running = try await SambaServer.Running()
        return (running.facts, running)
      }
    }
  }
#endif
