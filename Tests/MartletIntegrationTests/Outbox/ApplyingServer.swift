#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  /// A server in its own process that applies each `Idempotency-Key` once and records it on disk.
  ///
  /// It can be killed at any time and restarted on the same port.
  final class ApplyingServer {
    private let folder: TemporaryFolder
    private var process: ToolProcess
    let port: Int

    init() async throws {
      folder = try TemporaryFolder()
      // The system does not assign this port again while the server is down.
      port = try MockServer.refusedPort()
      process = try await Self.start(folder, port)
    }

    private static func start(_ folder: TemporaryFolder, _ port: Int) async throws -> ToolProcess {
      let process = try TestProgram.python.start(["-u", "-c", program, folder.path("applied"), "\(port)"])
      let starts = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("\n") || !process.isRunning }
      try #require(
        starts && process.isRunning, "the server has not started: \(process.outputSoFar)\(process.errorsSoFar)")
      return process
    }

    /// Kills the server and restarts it.
    func crash() async throws {
      process.send(SIGKILL)
      _ = try await process.end()
      process = try await Self.start(folder, port)
    }

    /// The `X-Lane` field and the text of each applied request, in order.
    var applied: [(lane: String, text: String)] {
      let lines = ((try? folder.contents("applied")).map { String(decoding: $0, as: UTF8.self) } ?? "").split(
        separator: "\n")
      return lines.map { line in
        let words = line.split(separator: " ", maxSplits: 2).map(String.init)
        return (words.count > 1 ? words[1] : "", words.count > 2 ? words[2] : "")
      }
    }

    private static let program = """
      import os, sys, threading
      from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

      path = sys.argv[1]
      lock = threading.Lock()
      seen = set()
      log = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
      for line in os.read(log, 1 << 30).decode().splitlines():
          seen.add(line.split(" ")[0])

      class Handler(BaseHTTPRequestHandler):
          protocol_version = "HTTP/1.1"

          def do_POST(self):
              length = int(self.headers["Content-Length"])
              body = self.rfile.read(length).decode()
              if len(body) < length:  # The sender was killed.
                  self.close_connection = True
                  return
              key = self.headers["Idempotency-Key"]
              with lock:
                  if key not in seen:
                      seen.add(key)
                      # One short write, so a killed process has written all of it or nothing.
                      text = body.rstrip("x")
                      os.write(log, f"{key} {self.headers['X-Lane']} {text}x{len(body) - len(text)}\\n".encode())
              self.send_response(204)
              self.end_headers()

          def log_message(self, *arguments):
              pass

      class Server(ThreadingHTTPServer):
          daemon_threads = True
          allow_reuse_address = True

      server = Server(("127.0.0.1", int(sys.argv[2])), Handler)
      print(server.server_address[1])
      server.serve_forever()
      """
  }
#endif
