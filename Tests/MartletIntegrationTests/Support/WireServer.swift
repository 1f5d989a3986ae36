import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// A server, with or without TLS, that sends more or less than it should if the path requests it.
///
/// The response to `/STATUS/AFTER/PAUSE/NUMBER` has that status and repeats the number in a field and in any body.
/// After a pause in milliseconds, the server sends what ``After`` specifies.
struct WireServer {
  /// The bytes or the event after the response.
  enum After: String, CaseIterable {
    case nothing
    /// An unrequested response.
    case stray
    /// The same, sent with the response's body, after its head.
    case joined
    /// The same, sent with the last chunk, which contains the body.
    case chunked
    /// The same; for TLS within TLS, one message of the outer session contains two of the inner one.
    case paired
    /// A body where none is allowed, and an unrequested response.
    case body
    /// A 408 and the end of the connection.
    case timeout
    /// The end of the connection, which ends the body, with or without a `close_notify`. For TLS within TLS, this
    /// applies to the inner session, and the outer one does the opposite.
    case end
    case cut
    /// The same after 1 MiB.
    case longEnd
    case longCut
  }

  /// How clients reach the server.
  enum Way: String, CaseIterable {
    case direct
    /// The server is a proxy and also the origin behind its tunnel; the connection to the proxy may use TLS as well.
    case tunnel
    case secureTunnel
    /// The server is a proxy over TLS, for an http URL.
    case secureProxy

    var isTunnel: Bool { self == .tunnel || self == .secureTunnel }

    static let proxied: [Way] = [.tunnel, .secureTunnel, .secureProxy]
  }

  static let stray = "STRAY"
  static let longBody = 1 << 20

  let port: Int
  let url: String
  /// The proxy settings of the clients.
  let proxy: ProxySettings
  private let process: ToolProcess

  /// Starts the server on a free port or a Unix socket.
  ///
  /// - Parameters:
  ///   - identity: The server's certificate and key; without them, it does not use TLS.
  ///   - path: The path of the socket.
  ///   - way: How clients reach the server; all ways but the direct one require an identity.
  /// - Throws: A test failure if the server does not start.
  init(_ identity: CertificateAuthority.Identity? = nil, path: String = "", _ way: Way = .direct) async throws {
    let files = [path, way.rawValue] + (identity.map { [$0.certificate.path, $0.key.path] } ?? [])
    let process = try TestProgram.python.start(["-u", "-c", Self.program] + files)
    _ = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("\n") || !process.isRunning }
    let line = process.outputSoFar.split(separator: "\n").first.map(String.init) ?? ""
    port = try #require(Int(line), "the server has not started: \(process.errorsSoFar)")
    let host = "127.0.0.1:\(port)"
    switch way {
    case .direct: (url, proxy) = ("\(identity == nil ? "http" : "https")://\(host)", .direct)
    case .tunnel: (url, proxy) = ("https://localhost", .proxy(Proxy("http://\(host)")))
    case .secureTunnel: (url, proxy) = ("https://localhost", .proxy(Proxy("https://\(host)")))
    case .secureProxy: (url, proxy) = ("http://localhost", .proxy(Proxy("https://\(host)")))
    }
    self.process = process
  }

  func target(_ number: Int, _ status: Int = 200, _ after: After = .nothing, pause: Int = 0) -> RequestTarget {
    RequestTarget("\(raw: url)/\(status)/\(after.rawValue)/\(pause)/\(number)")
  }

  /// Waits until the bytes after a response have been sent.
  func waitForSent(_ number: Int) async -> Bool {
    await becomes { process.outputSoFar.contains("sent \(number)\n") }
  }

  private static let program = """
    import os, socket, ssl, sys, threading, time

    STRAY = b"HTTP/1.1 200 OK\\r\\nX-Number: stray\\r\\nContent-Length: 5\\r\\n\\r\\nSTRAY"
    TIMEOUT = b"HTTP/1.1 408 Request Timeout\\r\\nX-Number: stray\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n"

    def deliver(number):
        # A single write, because other threads also write.
        os.write(1, f"sent {number}\\n".encode())

    class Inner:
        # TLS within another connection.
        def __init__(self, carrier):
            self.carrier = carrier
            self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
            self.wait_for(self.tls.do_handshake)

        def flush(self):
            data = self.outgoing.read()
            if data:
                self.carrier.sendall(data)

        def wait_for(self, work, *words):
            while True:
                try:
                    result = work(*words)
                    self.flush()
                    return result
                except ssl.SSLWantReadError:
                    self.flush()
                    data = self.carrier.recv(65536)
                    if not data:
                        raise OSError("ended")
                    self.incoming.write(data)

        def recv(self, count):
            return self.wait_for(self.tls.read, count)

        def sendall(self, *pieces):
            for piece in pieces:
                view = memoryview(piece)
                while view:
                    view = view[self.tls.write(view):]
            self.flush()

        def close(self):
            self.carrier.close()

        def end(self):
            try:
                self.tls.unwrap()
            except ssl.SSLWantReadError:
                pass
            self.flush()

    def finish(connection, is_ended):
        if isinstance(connection, Inner):
            if is_ended:
                connection.end()
            return finish(connection.carrier, not is_ended)
        if is_ended and isinstance(connection, ssl.SSLSocket):
            connection.settimeout(5)
            try:
                connection.unwrap()
            except OSError:
                pass
        connection.close()

    def accept(plain):
        if not sys.argv[1]:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        carrier = context.wrap_socket(plain, server_side=True) if context and way != "tunnel" else plain
        if not way.lower().endswith("tunnel"):
            return carrier
        head = b""
        while b"\\r\\n\\r\\n" not in head:
            piece = carrier.recv(65536)
            if not piece:
                raise OSError("ended")
            head += piece
        # The port selects the bytes that follow in the same segment.
        port = int(head.split(b" ")[1].rsplit(b":", 1)[1])
        stray = {1001: b"X", 1002: STRAY[:20], 1003: STRAY}.get(port, b"")
        carrier.sendall(b"HTTP/1.1 200 Yes\\r\\n\\r\\n" + stray)
        return Inner(carrier)

    def serve(plain):
        connection = accept(plain)
        data = b""
        while True:
            while b"\\r\\n\\r\\n" not in data:
                piece = connection.recv(65536)
                if not piece:
                    return
                data += piece
            head, data = data.split(b"\\r\\n\\r\\n", 1)
            lines = head.decode().split("\\r\\n")
            method, target, _ = lines[0].split(" ")
            length = sum(int(line[15:]) for line in lines if line.lower().startswith("content-length:"))
            while len(data) < length:
                data += connection.recv(65536)
            data = data[length:]
            status, after, pause, number = target.split("/")[-4:]
            body = number.encode()
            answer = f"HTTP/1.1 {status} Status\\r\\nX-Number: {number}\\r\\n"
            if after.lower().endswith(("end", "cut")):
                if after.startswith("long"):
                    body = b"x" * 2 ** 20
                connection.sendall(answer.encode() + b"Connection: close\\r\\n\\r\\n" + body)
                return finish(connection, after.lower().endswith("end"))
            if after == "chunked":
                answer += "Transfer-Encoding: chunked\\r\\n\\r\\n"
                body = f"{len(body):x}\\r\\n{body.decode()}\\r\\n0\\r\\n\\r\\n".encode()
                connection.sendall(answer.encode())
                connection.sendall(body + STRAY)
                deliver(number)
                continue
            if status not in ("204", "304"):
                answer += f"Content-Length: {len(body)}\\r\\n"
            answer = answer.encode() + b"\\r\\n"
            if after in ("joined", "paired"):
                connection.sendall(answer)
                if after == "paired" and isinstance(connection, Inner):
                    connection.sendall(body, STRAY)
                else:
                    connection.sendall(body + STRAY)
                deliver(number)
                continue
            if method != "HEAD" and status not in ("204", "304"):
                answer += body
            follow = {"stray": STRAY, "body": body + STRAY, "timeout": TIMEOUT}.get(after, b"")
            if pause == "0":
                connection.sendall(answer + follow)
            else:
                connection.sendall(answer)
                time.sleep(int(pause) / 1000)
                if follow:
                    connection.sendall(follow)
            if after == "timeout":
                connection.close()
            if follow:
                deliver(number)
            if after == "timeout":
                return

    def run(plain):
        try:
            serve(plain)
        except (OSError, ValueError):
            pass

    way, context = sys.argv[2], None
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
    if sys.argv[1]:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(sys.argv[1])
        listener.listen(64)
        print(80, flush=True)
    else:
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        print(listener.getsockname()[1], flush=True)
    while True:
        threading.Thread(target=run, args=(listener.accept()[0],), daemon=True).start()
    """
}
