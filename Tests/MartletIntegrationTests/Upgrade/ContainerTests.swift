#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import MartletWebSocket
  import TestSupport
  import Testing

  /// Docker's and Kubernetes' protocols for the input and output of containers.
  @Suite(.hangLimit) struct ContainerTests {
    /// A part of a container's output.
    private struct Output: Equatable {
      /// 1 is the standard output, 2 the standard error.
      var stream: UInt8
      var text: String
    }

    /// Removes complete frames of Docker's multiplexed streams from a buffer: stream, three zeros, length, bytes.
    private static func frames(_ buffer: inout Data) -> [Output] {
      var frames: [Output] = []
      while buffer.count >= 8 {
        let header = [UInt8](buffer.prefix(8))
        let length = header[4...].reduce(0) { $0 << 8 | Int($1) }
        guard buffer.count - 8 >= length else { break }
        frames.append(
          Output(stream: header[0], text: String(decoding: buffer.dropFirst(8).prefix(length), as: UTF8.self)))
        buffer = Data(buffer.dropFirst(8 + length))
      }
      return frames
    }

    /// A Unix socket like Docker's, and its client.
    private struct Docker {
      let client: HTTPClient
      private let process: ToolProcess
      private let folder: TemporaryFolder

      init() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("docker.sock")
        process = try TestProgram.python.start(["-u", "-c", Self.program, path])
        let process = process
        _ = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("ready") || !process.isRunning }
        try #require(process.isRunning, "the server has not started: \(process.errorsSoFar)")
        client = Lane.curl.client(.baseURL("http://docker/v1.47")) { $0.unixSocket = path }
        self.folder = folder
      }

      /// Waits until the server has printed a text.
      func prints(_ text: String) async -> Bool { await becomes { process.outputSoFar.contains(text) } }

      static func attach(_ id: String) -> HTTPRequest {
        .post(
          "/containers/\(id)/attach", query: ["stream": "1", "stdin": "1", "stdout": "1", "stderr": "1"])
      }

      /// A container `wc` that counts its input, `shell` that responds to each line, and `old` that does not upgrade.
      private static let program = """
        import socket, struct, sys, threading

        def frame(stream, data):
            return struct.pack(">BxxxL", stream, len(data)) + data

        def serve(connection):
            data = b""
            while b"\\r\\n\\r\\n" not in data:
                data += connection.recv(65536)
            head, data = data.split(b"\\r\\n\\r\\n", 1)
            print(head.decode().replace("\\r\\n", "|"), flush=True)
            container = head.split(b"/")[3]
            if container == b"old":
                connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: application/vnd.docker.raw-stream\\r\\n\\r\\n")
                connection.sendall(frame(1, b"one way"))
                return connection.close()
            if container == b"none":
                body = b'{"message":"No such container: none"}'
                connection.sendall(b"HTTP/1.1 404 Not Found\\r\\nContent-Type: application/json\\r\\n"
                    b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
                return connection.close()
            connection.sendall(b"HTTP/1.1 101 UPGRADED\\r\\nApi-Version: 1.47\\r\\nConnection: Upgrade\\r\\n"
                b"Content-Type: application/vnd.docker.multiplexed-stream\\r\\nUpgrade: tcp\\r\\n\\r\\n")
            count = 0
            while True:
                if container == b"shell":
                    while b"\\n" in data:
                        line, data = data.split(b"\\n", 1)
                        # The header of a frame may arrive in two parts.
                        output = frame(1, b"out " + line) + frame(2, b"err " + line)
                        connection.sendall(output[:3])
                        connection.sendall(output[3:])
                else:
                    count += len(data)
                    data = b""
                more = connection.recv(65536)
                if not more:
                    break
                data += more
            print("end of input", flush=True)
            for part in range(300):
                connection.sendall(frame(1, bytes([97 + part % 26]) * 4000))
            connection.sendall(frame(2, b"read %d" % count))
            connection.close()

        listener = socket.socket(socket.AF_UNIX)
        listener.bind(sys.argv[1])
        listener.listen(16)
        print("ready", flush=True)
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """
    }

    // MARK: Docker

    @Test(.needs(.python)) func `a container gets its input to the end and sends its output to the end`() async throws {
      let docker = try await Docker()
      let input = Data(repeating: 10, count: 3_000_000)

      let (outputs, rest) = try await docker.client.upgrade(Docker.attach("wc"), to: "tcp") { connection in
        #expect(connection.response.headers["Content-Type"] == "application/vnd.docker.multiplexed-stream")
        try await connection.write(input)
        connection.finish()
        var (outputs, buffer): ([Output], Data) = ([], Data())
        for try await chunk in connection.bytes {
          buffer += chunk
          outputs += Self.frames(&buffer)
        }
        return (outputs, buffer)
      }

      #expect(rest.isEmpty && outputs.count == 301)
      #expect(outputs.dropLast().allSatisfy { $0.stream == 1 && $0.text.utf8.count == 4000 })
      #expect(outputs.last == Output(stream: 2, text: "read 3000000"))
      #expect(await docker.prints("POST /v1.47/containers/wc/attach?stream=1&stdin=1&stdout=1&stderr=1 HTTP/1.1|"))
      #expect(await docker.prints("|Upgrade: tcp"))
      await docker.client.waitUntilEmpty()
    }

    @Test(.needs(.python)) func `a container responds to each line of its input`() async throws {
      let docker = try await Docker()
      let connection = try await docker.client.upgrade(Docker.attach("shell"), to: "tcp").connection

      var (buffer, bytes) = (Data(), connection.bytes.makeAsyncIterator())
      for number in 0..<20 {
        try await connection.write(Data("line \(number)\n".utf8))
        var outputs: [Output] = []
        while outputs.count < 2, let chunk = try await bytes.next() {
          buffer += chunk
          outputs += Self.frames(&buffer)
        }
        #expect(
          outputs == [Output(stream: 1, text: "out line \(number)"), Output(stream: 2, text: "err line \(number)")])
      }
      connection.finish()

      #expect(await docker.prints("end of input"))
      while let chunk = try await bytes.next() { buffer += chunk }
      #expect(Self.frames(&buffer).last == Output(stream: 2, text: "read 0"))
      await docker.client.waitUntilEmpty()
    }

    @Test(.needs(.python)) func `a daemon that responds with 200 delivers output, and its input is an error`()
      async throws
    {
      let docker = try await Docker()

      let outcome = try await docker.client.upgrade(Docker.attach("old"), to: "tcp")

      let error = #expect(throws: HTTPError.self) { try outcome.connection }
      #expect(error?.kind == .unsupported && error?.message.contains("did not change the protocol") == true)
      guard case .response(let response) = outcome else { return }
      var buffer = try await response.body.collect(upTo: 1_000)
      #expect(Self.frames(&buffer) == [Output(stream: 1, text: "one way")])
      await docker.client.waitUntilEmpty()
    }

    @Test(.needs(.python)) func `an unknown container is an error with the daemon's message`() async throws {
      let docker = try await Docker()

      let error = await #expect(throws: HTTPError.self) {
        try await docker.client.upgrade(Docker.attach("none"), to: "tcp", options: .accepts(.success)) { _ in }
      }

      #expect(error?.kind == .status && error?.status == .notFound)
      #expect(error?.response?.text.contains("No such container") == true)
    }

    // MARK: Kubernetes

    private struct Status: Decodable {
      struct Details: Decodable { var causes: [Cause] }
      struct Cause: Decodable { var reason, message: String }
      var status: String
      var details: Details?
    }

    /// Bytes of a channel: 0 is the input, 1 the standard output, 2 the standard error, 3 the status.
    private static func channel(_ number: UInt8, _ text: String) -> Data { Data([number]) + Data(text.utf8) }

    @Test(arguments: [0, 7]) func `a command in a pod has output, errors and a status`(code: Int) async throws {
      let failure = """
        {"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"\(code)"}]}}
        """
      let server = try MockServer(
        .webSocket(
          [
            .binary(Data([1])), .receive(Self.channel(0, "ls\n")), .binary(Self.channel(1, "file\n")),
            .fragments([Self.channel(2, "no "), Data("access\n".utf8)]),
            .binary(Self.channel(3, code == 0 ? #"{"metadata":{},"status":"Success"}"# : failure)), .close,
          ], subprotocols: ["v4.channel.k8s.io"]))
      let options = WebSocketOptions { $0.subprotocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"] }
      let request = HTTPRequest.get(
        RequestTarget(server.webSocketURL("/api/v1/namespaces/default/pods/web/exec")),
        query: ["command": "sh", "stdin": "true", "stdout": "true", "stderr": "true"])

      var output: [UInt8: String] = [:]
      try await Lane.curl.client().webSocket(
        request, options: options, requestOptions: .credential(.token("token"))
      ) { socket in
        #expect(socket.subprotocol == "v4.channel.k8s.io")
        try await socket.send(Self.channel(0, "ls\n"))
        for try await message in socket.messages {
          guard case .binary(let data) = message, let number = data.first else { continue }
          output[number, default: ""] += String(decoding: data.dropFirst(), as: UTF8.self)
        }
      }

      #expect(output[1] == "file\n" && output[2] == "no access\n")
      let status = try JSONDecoder().decode(Status.self, from: Data((output[3] ?? "").utf8))
      #expect(status.status == (code == 0 ? "Success" : "Failure"))
      #expect(status.details?.causes.first?.message == (code == 0 ? nil : "\(code)"))
      let record = try #require(await server.waitForWebSocket { $0.isEnded })
      #expect(record.request.header("Authorization") == "Bearer token")
      #expect(record.request.query == "command=sh&stdin=true&stdout=true&stderr=true")
      #expect(record.messages.first == .binary(Self.channel(0, "ls\n")) && record.closeCode == .normalClosure)
    }
  }
#endif
