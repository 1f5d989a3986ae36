import Foundation
import Martlet
import TestSupport
import Testing

/// An HTTP/2 server that sends the frames that a path specifies.
///
/// A request over HTTP/1.1 gets the text `one`. The pauses in its path follow the first letter, including
/// `until:NUMBER`, which ends when that request has been read. The only other supported step is `close`, in place of a
/// response.
///
/// The response to `/NUMBER/STEP/STEP…` consists of the steps in order. Each head contains the number in `x-number`,
/// and in `x-body` the length and the Adler-32 of the request's body. If the first step is `early`, the response does
/// not wait for the end of the request. If the first or second step is `slow:MS`, the server grants a window of 64 MiB
/// and reads nothing for that time. If the first step is `grant:MS`, the server grants what it has read after that
/// time. Otherwise it grants nothing, and a connection can send only 65,535 bytes.
struct HTTP2Server {
  let url: String
  private let process: ToolProcess

  /// Starts the server on a free port.
  ///
  /// - Parameters:
  ///   - identity: The server's certificate and key; `nil` to serve without TLS.
  ///   - streams: The maximum number of streams on a connection (SETTINGS_MAX_CONCURRENT_STREAMS); `nil` to set none.
  ///   - oldConnections: The number of connections that negotiate HTTP/1.1, whatever is offered, before HTTP/2.
  ///   - path: The Unix socket on which the server listens; `nil` for a port.
  ///   - receiveBuffer: The number of unread bytes that the system buffers; 0 for the default.
  /// - Throws: A test failure if the server does not start.
  init(
    _ identity: CertificateAuthority.Identity? = nil, streams: Int? = nil, oldConnections: Int = 0,
    unixSocket path: String? = nil, receiveBuffer: Int = 0
  ) async throws {
    let files = identity.map { [$0.certificate.path, $0.key.path] } ?? []
    let process = try TestProgram.python.start(
      ["-u", "-c", Self.program, streams.map { "\($0)" } ?? "", "\(oldConnections)", path ?? "", "\(receiveBuffer)"]
        + files)
    _ = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("\n") || !process.isRunning }
    let line = process.outputSoFar.split(separator: "\n").first.map(String.init) ?? ""
    let port = try #require(Int(line), "the server has not started: \(process.errorsSoFar)")
    url = "\(identity == nil ? "http" : "https")://127.0.0.1:\(port)"
    self.process = process
  }

  /// Returns the target of a request with these steps as its response.
  func target(_ number: Int, _ steps: [String]) -> RequestTarget { Self.target(url, number, steps) }

  static func target(_ url: String, _ number: Int, _ steps: [String]) -> RequestTarget {
    RequestTarget("\(raw: url)/\(number)/\(raw: steps.joined(separator: "/"))")
  }

  /// Returns the number of connections that used an HTTP version.
  func connectionCount(of version: Int = 2) -> Int {
    process.outputSoFar.split(separator: "\n").count { $0 == "connection \(version)" }
  }

  /// The number of closed connections.
  var closedCount: Int { process.outputSoFar.split(separator: "\n").count { $0 == "closed" } }

  /// The reasons connections ended: errors, and the client's GOAWAY frames with an error code.
  var errors: String { process.errorsSoFar }

  /// Returns how often a request was read.
  func count(of number: Int) -> Int {
    process.outputSoFar.split(separator: "\n").count { $0 == "request \(number)" }
  }

  /// Whether the client has reset the stream of a request.
  func hasReset(_ number: Int) -> Bool {
    process.outputSoFar.split(separator: "\n").contains { $0 == "reset \(number)" }
  }

  /// The number of times that the first of equal requests was refused.
  var refusedCount: Int { process.outputSoFar.split(separator: "\n").count { $0.hasPrefix("refused ") } }

  /// Returns the fields `te`, `connection` and `trailer` of a request over HTTP/2.
  func fields(of number: Int) -> [String] {
    let start = "field \(number) "
    return process.outputSoFar.split(separator: "\n").filter { $0.hasPrefix(start) }.map {
      String($0.dropFirst(start.count))
    }
  }

  /// The requests that were read more than once.
  var repeatedNumbers: [Int] {
    let numbers = process.outputSoFar.split(separator: "\n").filter { $0.hasPrefix("request ") }
    return Dictionary(grouping: numbers.compactMap { Int($0.dropFirst(8)) }) { $0 }
      .filter { $0.value.count > 1 }.map(\.key)
  }

  /// The server's program.
  ///
  /// It supports these steps:
  ///
  /// - `head:STATUS:NAME=VALUE…` and `end:STATUS:…`: HEADERS, the latter with END_STREAM; `trailer:NAME=VALUE…`.
  /// - `data:TEXT` and `last:TEXT`: DATA, the latter with END_STREAM.
  /// - `reset:CODE`: RST_STREAM. `goaway:CODE:LAST`: GOAWAY, whose last stream is this one plus `LAST`; later ones are
  ///   not read.
  /// - `fill:COUNT`: DATA with `COUNT` times `x`.
  /// - `frame:TYPE:FLAGS:STREAM:HEX`: any frame; the stream `-` is this one, and `-2` and `+2` are its neighbors.
  /// - `lie:LENGTH:TYPE:FLAGS:STREAM:HEX`: the same with a different length. `raw:HEX`: bytes.
  /// - `wait:MS`, `close`, `signal:NUMBER:PROCESS` and `COUNT*STEP`. `until:NUMBER`: waits for that request, on another
  ///   connection.
  /// - `again` ends the response to the first of equal requests.
  /// - `refuse`: REFUSED_STREAM in place of the response to the first of equal requests. `refuse:CODE:LAST`: The same
  ///   with GOAWAY and the end of the connection.
  private static let program = """
    import os, socket, ssl, struct, sys, threading, time, zlib
    import hpack

    def frame(kind, flags, stream, payload=b"", length=None):
        count = len(payload) if length is None else length
        return struct.pack(">I", count)[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    def exactly(connection, count):
        data = b""
        while len(data) < count:
            piece = connection.recv(count - len(data))
            if not piece:
                raise OSError("ended")
            data += piece
        return data

    class Closed(Exception):
        pass

    class Connection:
        def __init__(self, socket):
            self.socket = socket
            self.encoder = hpack.Encoder()
            self.decoder = hpack.Decoder()
            self.last_stream = 2 ** 31
            self.bodies = {}

        def block(self, words, first):
            fields = first + [tuple(word.split("=", 1)) for word in words]
            # Not indexed, because the table of a client that received garbage differs.
            return self.encoder.encode([hpack.NeverIndexedHeaderTuple(*field) for field in fields])

        def step(self, text, number, stream):
            count, star, rest = text.partition("*")
            if star:
                return b"".join(self.step(rest, number, stream) for _ in range(int(count)))
            words = text.split(":")
            name, words = words[0], words[1:]
            if name in ("head", "end"):
                status = words[0] if words else "200"
                count, adler = self.bodies.get(stream, (0, 1))
                body = ("x-body", f"{count} {adler}")
                fields = self.block(words[1:], [(":status", status), ("x-number", number), body])
                return frame(1, 5 if name == "end" else 4, stream, fields)
            if name == "trailer":
                return frame(1, 5, stream, self.block(words, []))
            if name in ("data", "last"):
                return frame(0, 1 if name == "last" else 0, stream, ":".join(words).encode())
            if name == "reset":
                return frame(3, 0, stream, struct.pack(">I", int(words[0])))
            if name == "goaway":
                self.last_stream = max(0, stream + int(words[1]))
                return frame(7, 0, 0, struct.pack(">II", self.last_stream, int(words[0])))
            if name == "fill":
                return frame(0, 0, stream, b"x" * int(words[0]))
            if name in ("frame", "lie"):
                length = int(words.pop(0)) if name == "lie" else None
                kind, flags, target, data = words
                if target == "-":
                    target = stream
                else:
                    target = max(0, int(target) + (stream if target[0] in "+-" else 0))
                return frame(int(kind), int(flags), target, bytes.fromhex(data), length)
            if name == "raw":
                return bytes.fromhex(words[0])
            raise ValueError(text)

        def answer(self, path, stream):
            if stream > self.last_stream:
                return
            _, number, *steps = path.replace("/early", "", 1).split("/")
            if steps and steps[0].startswith(("slow:", "grant:")):
                steps.pop(0)
            # A single write, because other threads also write.
            known = number in seen
            seen.add(number)
            refuses = not known and any(text.startswith("refuse") for text in steps)
            os.write(1, f"{'refused' if refuses else 'request'} {number}\\n".encode())
            data = b""
            for text in steps:
                if text == "again":
                    if not known:
                        break
                elif text.startswith("refuse"):
                    if not known:
                        data += self.step(text.replace("refuse", "goaway" if ":" in text else "reset:7"), number, stream)
                        if ":" in text:
                            self.socket.sendall(data)
                            raise Closed
                        break
                elif text == "close" or text.startswith(("wait:", "signal:", "until:")):
                    self.socket.sendall(data)
                    data = b""
                    if text == "close":
                        raise Closed
                    if text.startswith("signal:"):
                        os.kill(int(text.split(":")[2]), int(text.split(":")[1]))
                    elif text.startswith("until:"):
                        while text[6:] not in seen:
                            time.sleep(0.002)
                    else:
                        time.sleep(int(text[5:]) / 1000)
                else:
                    data += self.step(text, number, stream)
            self.socket.sendall(data)

        def serve(self):
            start = exactly(self.socket, 24)
            version = 2 if start.startswith(b"PRI ") else 1
            os.write(1, f"connection {version}\\n".encode())
            while version == 1:
                while b"\\r\\n\\r\\n" not in start:
                    start += exactly(self.socket, 1)
                words = start.decode("latin-1").split(" ")[1].split("/") + [""]
                os.write(1, f"request {words[1]}\\n".encode())
                seen.add(words[1])
                pauses = [int(word[5:]) / 1000 for word in words if word.startswith("wait:")]
                if "close" in words:
                    time.sleep(sum(pauses))
                    return
                head = f"HTTP/1.1 200 OK\\r\\nx-number: {words[1]}\\r\\nContent-Length: 3\\r\\n\\r\\no"
                self.socket.sendall(head.encode())
                time.sleep(sum(pauses))
                for other in [word[6:] for word in words if word.startswith("until:")]:
                    while other not in seen:
                        time.sleep(0.002)
                self.socket.sendall(b"ne")
                start = b""
            self.socket.sendall(frame(4, 0, 0, settings))
            paths, numbers, grants, block, window = {}, {}, {}, b"", 65535
            while True:
                head = exactly(self.socket, 9)
                length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
                stream = int.from_bytes(head[5:], "big")
                payload = exactly(self.socket, length)
                if kind in (1, 9):
                    if kind == 1 and flags & 8:
                        payload = payload[1:len(payload) - payload[0]]
                    if kind == 1 and flags & 0x20:
                        payload = payload[5:]
                    if kind == 1:
                        isEnd, block = flags & 1, b""
                    block += payload
                    if not flags & 4:
                        continue
                    fields = dict((name, value) for name, value in self.decoder.decode(block))
                    paths[stream] = fields[":path"]
                    number = paths[stream].split("/")[1]
                    numbers[stream] = number
                    for name in ("te", "connection", "trailer"):
                        if name in fields:
                            os.write(1, f"field {number} {name}: {fields[name]}\\n".encode())
                    first, second = (paths[stream].split("/") + ["", ""])[2:4]
                    slow = second if first == "early" else first
                    if slow.startswith("slow:"):
                        # The windows of a connection must not add up to 2 GiB.
                        size = 64 << 20
                        self.socket.sendall(frame(8, 0, stream, struct.pack(">I", size)))
                        if window < size:
                            self.socket.sendall(frame(8, 0, 0, struct.pack(">I", size - window)))
                            window = size
                        time.sleep(int(slow[5:]) / 1000)
                    if first.startswith("grant:"):
                        grants[stream] = int(first[6:]) / 1000
                    if isEnd or first == "early":
                        self.answer(paths.pop(stream), stream)
                elif kind == 0:
                    window -= length
                    count, adler = self.bodies.get(stream, (0, 1))
                    self.bodies[stream] = (count + len(payload), zlib.adler32(payload, adler))
                    if length and stream in grants:
                        time.sleep(grants[stream])
                        more = struct.pack(">I", length)
                        self.socket.sendall(frame(8, 0, stream, more) + frame(8, 0, 0, more))
                    if flags & 1 and stream in paths:
                        self.answer(paths.pop(stream), stream)
                elif kind == 3:
                    os.write(1, f"reset {numbers.get(stream)}\\n".encode())
                elif kind == 4 and not flags & 1:
                    self.socket.sendall(frame(4, 1, 0))
                elif kind == 6 and not flags & 1:
                    self.socket.sendall(frame(6, 1, 0, payload))
                elif kind == 7:
                    if any(payload[4:8]):
                        os.write(2, f"GOAWAY {payload!r}\\n".encode())
                    return

    def run(plain, context):
        try:
            if plain.family == socket.AF_INET:
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = context.wrap_socket(plain, server_side=True) if context else plain
            try:
                if not context or connection.selected_alpn_protocol():
                    Connection(connection).serve()
            except Closed:
                if context:
                    connection.unwrap()
            connection.close()
        except (OSError, hpack.HPACKError) as error:
            os.write(2, f"{error!r}\\n".encode())
        os.write(1, b"closed\\n")

    # The numbers of all requests.
    seen = set()
    settings = struct.pack(">HI", 3, int(sys.argv[1])) if sys.argv[1] else b""
    old, contexts = int(sys.argv[2]), [None, None]
    if len(sys.argv) > 5:
        for place, protocols in enumerate([["http/1.1"], ["h2", "http/1.1"]]):
            contexts[place] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            contexts[place].load_cert_chain(sys.argv[5], sys.argv[6])
            contexts[place].set_alpn_protocols(protocols)
    if sys.argv[3]:
        listener = socket.create_server(sys.argv[3], family=socket.AF_UNIX, backlog=64)
        print(1, flush=True)
    else:
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        if sys.argv[4] != "0":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(sys.argv[4]))
        print(listener.getsockname()[1], flush=True)
    while True:
        plain = listener.accept()[0]
        threading.Thread(target=run, args=(plain, contexts[0 if old > 0 else 1]), daemon=True).start()
        old -= 1
    """

}

/// A Python package, as Debian installs it.
enum PythonPackage {
  /// Returns the reason the package is missing, or `nil`.
  static func problem(_ name: String) -> String? {
    let places = ["/usr/lib/python3/dist-packages", "/usr/local/lib/python3/dist-packages"]
    let isThere = places.contains { FileManager.default.fileExists(atPath: "\($0)/\(name)") }
    return isThere ? nil : "python3-\(name) is not installed"
  }
}

extension Trait where Self == Needs {
  /// Skips the test if Python, its package hpack or OpenSSL is missing, except in CI, or if libcurl lacks HTTP/2.
  static var needsHTTP2Server: Needs {
    HostFact.http2.holds
      ? .needs(.python, .openssl, problem: PythonPackage.problem("hpack")) : .needs(.http2)
  }
}
