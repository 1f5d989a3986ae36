import Foundation
import TestSupport
import Testing

/// A relay that delays the bytes in both directions, as a long path does.
struct SlowPath {
  /// The server's URL, with the relay's port.
  let url: String
  private let process: ToolProcess

  /// Starts the relay on a free port.
  ///
  /// - Throws: A test failure if the relay does not start.
  init(to server: String, milliseconds: Int) async throws {
    let target = try #require(URL(string: server))
    let port = try #require(target.port)
    let process = try TestProgram.python.start(["-u", "-c", Self.program, "\(port)", "\(milliseconds)"])
    _ = await becomes(every: .milliseconds(2)) { process.outputSoFar.contains("\n") || !process.isRunning }
    let line = process.outputSoFar.split(separator: "\n").first.map(String.init) ?? ""
    let own = try #require(Int(line), "the relay has not started: \(process.errorsSoFar)")
    url = "\(target.scheme ?? "http")://127.0.0.1:\(own)"
    self.process = process
  }

  private static let program = """
    import asyncio, sys
    port, delay = int(sys.argv[1]), int(sys.argv[2]) / 1000

    async def pump(reader, writer):
        pieces = asyncio.Queue()
        now = asyncio.get_running_loop().time

        async def send():
            while True:
                due, piece = await pieces.get()
                await asyncio.sleep(max(0, due - now()))
                if not piece:
                    return writer.close()
                writer.write(piece)

        sending = asyncio.create_task(send())
        try:
            while True:
                piece = await reader.read(65536)
                pieces.put_nowait((now() + delay, piece))
                if not piece:
                    break
            await sending
        except OSError:
            writer.close()

    async def relay(reader, writer):
        other, out = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, out), pump(other, writer))

    async def main():
        server = await asyncio.start_server(relay, "127.0.0.1", 0, backlog=512)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(main())
    """
}
