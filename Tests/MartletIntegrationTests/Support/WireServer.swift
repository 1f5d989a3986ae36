import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// A server, in clear or over TLS, that says more than it was asked for, or less than it should, when a path says so.
///
/// `/STATUS/AFTER/PAUSE/NUMBER` is answered with a status and a number, in a field and where there is a body in that; then,
/// after a pause in milliseconds, with what ``After`` says.
struct WireServer {
  /// What follows the answer.
  enum After: String, CaseIterable {
    case nothing
    /// A response that nobody has asked for.
    case stray
    /// The same, sent with the answer's body, after its head.
    case joined
    /// A body where there is none, and such a response.
    case body
    /// 408 and the end of the connection.
    case timeout
    /// The end of the connection, which is the end of the body: TLS is ended first, or it is not.
    case end
    case cut
  }

  static let stray = "STRAY"

  let url: String
  private let process: ToolProcess

  /// Starts it on a free port, or on a unix socket.
  ///
  /// - Parameters:
  ///   - identity: Who it is; without one it speaks in clear.
  ///   - path: The path of the socket.
  /// - Throws: What fails in the test, if it does not start.
  init(_ identity: CertificateAuthority.Identity? = nil, path: String = "") async throws {
    let files = [path] + (identity.map { [$0.certificate.path, $0.key.path] } ?? [])
    let process = try TestProgram.python.start(["-u", "-c", Self.program] + files)
    _ = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("\n") || !process.isRunning }
    let line = process.outputSoFar.split(separator: "\n").first.map(String.init) ?? ""
    let port = try #require(Int(line), "the server has not started: \(process.errorsSoFar)")
    url = "\(identity == nil ? "http" : "https")://127.0.0.1:\(port)"
    self.process = process
  }

  func target(_ number: Int, _ status: Int = 200, _ after: After = .nothing, pause: Int = 0) -> RequestTarget {
    RequestTarget("\(raw: url)/\(status)/\(after.rawValue)/\(pause)/\(number)")
  }

  /// Waits until what follows an answer was sent.
  func waitForSent(_ number: Int) async -> Bool {
    await becomes { process.outputSoFar.contains("sent \(number)\n") }
  }

  private static let program = """
    import os, socket, ssl, sys, threading, time

    STRAY = b"HTTP/1.1 200 OK\\r\\nX-Number: stray\\r\\nContent-Length: 5\\r\\n\\r\\nSTRAY"
    TIMEOUT = b"HTTP/1.1 408 Request Timeout\\r\\nX-Number: stray\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n"

    def tell(number):
        # In one piece: other threads write, too.
        os.write(1, f"sent {number}\\n".encode())

    def serve(plain):
        if not sys.argv[1]:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = context.wrap_socket(plain, server_side=True) if context else plain
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
            _, status, after, pause, number = target.split("/")
            body = number.encode()
            answer = f"HTTP/1.1 {status} Status\\r\\nX-Number: {number}\\r\\n"
            if after in ("end", "cut"):
                connection.sendall(answer.encode() + b"Connection: close\\r\\n\\r\\n" + body)
                if after == "end" and context:
                    connection.settimeout(5)
                    try:
                        connection.unwrap()
                    except OSError:
                        pass
                connection.close()
                return
            if status not in ("204", "304"):
                answer += f"Content-Length: {len(body)}\\r\\n"
            answer = answer.encode() + b"\\r\\n"
            if after == "joined":
                connection.sendall(answer)
                connection.sendall(body + STRAY)
                tell(number)
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
                tell(number)
            if after == "timeout":
                return

    def run(plain):
        try:
            serve(plain)
        except (OSError, ValueError):
            pass

    context = None
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
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
