#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// A server that changes its protocol to `echo`; the path selects how.
  ///
  /// It prints the heads of its requests, and the ends of its clients' bytes.
  struct UpgradeServer {
    let url: String
    private let process: ToolProcess

    /// Starts the server on a free port or a Unix socket.
    ///
    /// - Parameters:
    ///   - identity: The server's certificate and key; without them, it does not use TLS.
    ///   - path: The path of the socket.
    /// - Throws: A test failure if the server does not start.
    init(_ identity: CertificateAuthority.Identity? = nil, path: String = "") async throws {
      let files = identity.map { [$0.certificate.path, $0.key.path] } ?? []
      let process = try TestProgram.python.start(["-u", "-c", Self.program, path] + files)
      _ = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("\n") || !process.isRunning }
      let line = process.outputSoFar.split(separator: "\n").first.map(String.init) ?? ""
      let port = try #require(Int(line), "the server has not started: \(process.errorsSoFar)")
      url = "\(identity == nil ? "http" : "https")://127.0.0.1:\(port)"
      self.process = process
    }

    func target(_ path: String) -> RequestTarget { RequestTarget("\(raw: url)\(raw: path)") }

    /// The lines that the server has printed.
    var log: String { process.outputSoFar }

    /// Waits until the server has printed a text.
    func prints(_ text: String) async -> Bool { await becomes { log.contains(text) } }

    private static let program = """
      import base64, os, socket, ssl, sys, threading, time

      SWITCH = b"HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n"

      def tell(text):
          os.write(1, (text + "\\n").encode())

      def plain(status, fields="", body=b"no"):
          return f"HTTP/1.1 {status} Status\\r\\n{fields}Content-Length: {len(body)}\\r\\n\\r\\n".encode() + body

      def echo(connection, data):
          while True:
              if data:
                  connection.sendall(data)
              data = connection.recv(65536)
              if not data:
                  tell("end of client")
                  connection.sendall(b"bye")
                  if isinstance(connection, ssl.SSLSocket):
                      connection.unwrap()
                  return

      def serve(connection):
          data = b""
          while True:
              while b"\\r\\n\\r\\n" not in data:
                  piece = connection.recv(65536)
                  if not piece:
                      return tell("end of connection")
                  data += piece
              head, data = data.split(b"\\r\\n\\r\\n", 1)
              text = head.decode()
              tell(text.replace("\\r\\n", "|"))
              path = text.split(" ")[1].split("?")[0]
              if path == "/refused":
                  # Before the body, which is then read until the client ends the connection.
                  connection.sendall(plain(200)[:-1])
                  time.sleep(0.5)
                  connection.sendall(b"o")
                  while connection.recv(1 << 20):
                      pass
                  return tell("end of refused connection")
              for line in text.split("\\r\\n"):
                  if line.startswith("Content-Length: "):
                      count = int(line[16:])
                      while len(data) < count:
                          data += connection.recv(65536)
                      if count:
                          tell(f"body of {count} bytes, {len(set(data[:count]))} different")
                      data = data[count:]
              if path.startswith("/status/"):
                  connection.sendall(plain(path[8:]))
                  continue
              if path == "/redirect":
                  connection.sendall(plain(302, "Location: /echo\\r\\n"))
                  continue
              if path == "/credentials" and "uthorization:" not in text:
                  connection.sendall(plain(401, 'WWW-Authenticate: Basic realm="r"\\r\\n'))
                  continue
              if path == "/silent":
                  time.sleep(3600)
              if path == "/other":
                  connection.sendall(SWITCH.replace(b": echo", b": other") + b"\\r\\n")
              elif path == "/length":
                  connection.sendall(SWITCH + b"Content-Length: 5\\r\\n\\r\\nhello")
              elif path == "/chunked":
                  connection.sendall(SWITCH + b"Transfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n")
              elif path == "/old":
                  connection.sendall(SWITCH.replace(b"1.1", b"1.0", 1) + b"\\r\\n")
              elif path == "/slow":
                  for byte in b"HTTP/1.1 103 Early Hints\\r\\n\\r\\n" + SWITCH + b"\\r\\nfirst":
                      connection.sendall(bytes([byte]))
              elif path == "/early":
                  connection.sendall(SWITCH + b"\\r\\nfirst")
              elif path == "/cut":
                  connection.sendall(SWITCH + b"\\r\\nfirst")
                  if not isinstance(connection, ssl.SSLSocket):
                      connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
                      time.sleep(0.1)
                  return connection.close()
              elif path.startswith("/reset/"):
                  connection.sendall(SWITCH + b"\\r\\n" + b"x" * (int(path[7:]) << 10))
                  connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
                  time.sleep(0.01)
                  return connection.close()
              elif path == "/end":
                  connection.sendall(SWITCH + b"\\r\\nlast")
                  if isinstance(connection, ssl.SSLSocket):
                      connection.unwrap()
                  return connection.close()
              elif path == "/deaf":
                  connection.sendall(SWITCH + b"\\r\\n")
                  time.sleep(3600)
              elif path == "/flood":
                  connection.sendall(SWITCH + b"\\r\\n")
                  while True:
                      connection.sendall(b"x" * 65536)
              else:
                  connection.sendall(SWITCH + b"\\r\\n")
              return echo(connection, data)

      def run(plain):
          try:
              if context:
                  plain = context.wrap_socket(plain, server_side=True)
              serve(plain)
          except (OSError, ValueError) as error:
              tell(f"error {error}")
          plain.close()

      context = None
      if len(sys.argv) > 2:
          context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
          context.load_cert_chain(sys.argv[2], sys.argv[3])
          context.set_alpn_protocols(["h2", "http/1.1"])
      if sys.argv[1]:
          listener = socket.socket(socket.AF_UNIX)
          listener.bind(sys.argv[1])
          listener.listen(128)
          print(80, flush=True)
      else:
          listener = socket.create_server(("127.0.0.1", 0), backlog=128)
          print(listener.getsockname()[1], flush=True)
      while True:
          threading.Thread(target=run, args=(listener.accept()[0],), daemon=True).start()
      """
  }

  extension UpgradedConnection {
    /// Reads bytes until a text has arrived completely.
    static func read(_ text: String, _ bytes: inout ResponseBody.AsyncIterator) async throws {
      var read = Data()
      while read.count < text.utf8.count, let chunk = try await bytes.next() { read += chunk }
      #expect(String(decoding: read, as: UTF8.self) == text)
    }
  }
#endif
