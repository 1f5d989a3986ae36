import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// A server that reads a request body slowly, or not at all.
///
/// It reads the body of one request at 10 kB/s for six seconds and the rest at once, and responds with the length.
struct SlowReader {
  enum Version: String, CaseIterable {
    case http1
    case http2
  }

  /// The reason the server cannot run here, or `nil`.
  static let problem = PythonPackage.problem("h2")

  let target: RequestTarget
  private let process: ToolProcess

  /// Starts the server on a free port.
  ///
  /// - Parameters:
  ///   - version: The HTTP version.
  ///   - isDeaf: Whether it reads no body.
  ///   - identity: The server's certificate and key; without them, it does not use TLS.
  /// - Throws: A test failure if the server does not start.
  init(_ version: Version, isDeaf: Bool = false, _ identity: CertificateAuthority.Identity? = nil) async throws {
    let files = identity.map { [$0.certificate.path, $0.key.path] } ?? []
    let process = try TestProgram.python.start(
      ["-u", "-c", Self.program, version.rawValue, isDeaf ? "deaf" : "slow"] + files)
    _ = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("\n") || !process.isRunning }
    let line = process.outputSoFar.split(separator: "\n").first.map(String.init) ?? ""
    let port = try #require(Int(line), "the server has not started: \(process.errorsSoFar)")
    target = RequestTarget("\(identity == nil ? "http" : "https")://127.0.0.1:\(port)/")
    self.process = process
  }

  private static let program = """
    import socket, ssl, sys, time

    version, how = sys.argv[1:3]
    began = None

    def raw():
        if began and how == "deaf":
            time.sleep(3600)
        if began and time.monotonic() - began < 6:
            time.sleep(0.1)
        data = connection.recv(1000 if began and time.monotonic() - began < 6 else 65536)
        if not data:
            sys.exit()
        return data

    def flush():
        piece = outgoing.read()
        if piece:
            connection.sendall(piece)

    def receive():
        if not tls:
            return raw()
        while True:
            try:
                return tls.read(65536)
            except ssl.SSLWantReadError:
                flush()
                incoming.write(raw())

    def send(data):
        if not tls:
            return connection.sendall(data)
        tls.write(data)
        flush()

    def serve_http1():
        global began
        data = b""
        while b"\\r\\n\\r\\n" not in data:
            data += receive()
        head, data = data.split(b"\\r\\n\\r\\n", 1)
        began = time.monotonic()
        lines = head.decode().lower().split("\\r\\n")
        length = sum(int(line[15:]) for line in lines if line.startswith("content-length:"))
        count = len(data)
        while count < length:
            count += len(receive())
        text = str(count).encode()
        send(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(text), text))

    def serve_http2():
        global began
        from h2.config import H2Configuration
        from h2.connection import H2Connection
        from h2.events import DataReceived, RequestReceived, StreamEnded
        state = H2Connection(H2Configuration(client_side=False))
        state.initiate_connection()
        send(state.data_to_send())
        count = 0
        while True:
            for event in state.receive_data(receive()):
                if isinstance(event, RequestReceived):
                    began = time.monotonic()
                if isinstance(event, DataReceived):
                    count += len(event.data)
                    state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if isinstance(event, StreamEnded):
                    state.send_headers(event.stream_id, [(":status", "200")])
                    state.send_data(event.stream_id, str(count).encode(), end_stream=True)
            send(state.data_to_send())

    listener = socket.socket()
    # The window opens in small steps.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1000)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    connection = listener.accept()[0]
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    tls = None
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
        context.set_alpn_protocols(["h2" if version == "http2" else "http/1.1"])
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                flush()
                incoming.write(raw())
        flush()
    (serve_http2 if version == "http2" else serve_http1)()
    time.sleep(3600)
    """
}
