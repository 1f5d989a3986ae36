#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// A WebSocket server by other authors: `websockets` or `aiohttp`.
  ///
  /// The path selects its behavior: `/echo` repeats messages, `/close/CODE` closes, `/flood` sends without end, and
  /// `/silent` never receives.
  struct WebSocketServer {
    enum Library: String, CaseIterable {
      case websockets, aiohttp

      /// The reason the server cannot run here, or `nil`.
      var problem: String? { PythonPackage.problem(rawValue) }
    }

    static let problem = Library.allCases.compactMap(\.problem).first

    let url: String
    private let process: ToolProcess

    /// Starts the server on a free port.
    ///
    /// - Parameters:
    ///   - library: The library.
    ///   - isCompressed: Whether it accepts compression.
    ///   - identity: The server's certificate and key; without them, it does not use TLS.
    /// - Throws: A test failure if the server does not start.
    init(
      _ library: Library = .websockets, isCompressed: Bool = false, _ identity: CertificateAuthority.Identity? = nil
    ) async throws {
      let files = identity.map { [$0.certificate.path, $0.key.path] } ?? []
      let program = library == .websockets ? Self.websockets : Self.aiohttp
      let process = try TestProgram.python.start(["-u", "-c", program, isCompressed ? "deflate" : "plain"] + files)
      _ = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("\n") || !process.isRunning }
      let line = process.outputSoFar.split(separator: "\n").first.map(String.init) ?? ""
      let port = try #require(Int(line), "the server has not started: \(process.errorsSoFar)")
      url = "\(identity == nil ? "ws" : "wss")://127.0.0.1:\(port)"
      self.process = process
    }

    func request(_ path: String) -> HTTPRequest { .get(RequestTarget("\(raw: url)\(raw: path)")) }

    /// Waits until the server has printed a text.
    func prints(_ text: String) async -> Bool { await becomes { process.outputSoFar.contains(text) } }

    private static let shared = """
      import asyncio, ssl, sys

      context = None
      if len(sys.argv) > 2:
          context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
          context.load_cert_chain(sys.argv[2], sys.argv[3])
      deflate = sys.argv[1] == "deflate"

      """

    private static let websockets =
      shared + """
        import websockets

        async def serve(socket):
            path = getattr(socket, "path", None) or socket.request.path
            try:
                if path.startswith("/close/"):
                    await socket.close(int(path[7:]), "the reason")
                elif path == "/flood":
                    while True:
                        await socket.send(b"x" * 65536)
                elif path == "/silent":
                    await asyncio.sleep(3600)
                elif path == "/ping":
                    print("pong", await (await socket.ping(b"from the server")) is not None, flush=True)
                async for message in socket:
                    await socket.send(message)
            except websockets.ConnectionClosed:
                pass
            print("closed", socket.close_code, socket.close_reason, flush=True)

        async def main():
            server = await websockets.serve(
                serve, "127.0.0.1", 0, ssl=context, compression="deflate" if deflate else None,
                subprotocols=["chat", "superchat"], max_size=2 ** 26, ping_interval=None)
            print(server.sockets[0].getsockname()[1], flush=True)
            await asyncio.sleep(3600)

        asyncio.run(main())
        """

    private static let aiohttp =
      shared + """
        from aiohttp import web, WSMsgType

        async def serve(request):
            socket = web.WebSocketResponse(compress=deflate, max_msg_size=2 ** 26, protocols=["chat", "superchat"])
            await socket.prepare(request)
            if request.path.startswith("/close/"):
                await socket.close(code=int(request.path[7:]), message=b"the reason")
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    await socket.send_str(message.data)
                elif message.type == WSMsgType.BINARY:
                    await socket.send_bytes(message.data)
            print("closed", socket.close_code, flush=True)
            return socket

        async def main():
            app = web.Application()
            app.router.add_get("/{path:.*}", serve)
            runner = web.AppRunner(app)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
            await site.start()
            print(site._server.sockets[0].getsockname()[1], flush=True)
            await asyncio.sleep(3600)

        asyncio.run(main())
        """
  }
#endif
