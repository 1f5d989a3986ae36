import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// A server on SwiftNIO that changes its protocol to `websocket` or `echo`; the path of a WebSocket selects its behavior.
enum NIOServer {
  typealias Frames = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>
  typealias Bytes = NIOAsyncChannel<ByteBuffer, ByteBuffer>

  enum Connection: Sendable {
    case webSocket(Frames, path: String)
    case echo(Bytes)
    case http(NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>)
  }

  /// Runs a server for the duration of a closure.
  ///
  /// - Parameters:
  ///   - maximumFrameBytes: The maximum size of a frame.
  ///   - body: Receives the port, and the ends of WebSockets: `closed`, with the code and reason of the client.
  /// - Throws: The errors of the system and the closure.
  static func run(
    maximumFrameBytes: Int = 16 << 20, _ body: (Int, inout AsyncStream<String>.Iterator) async throws -> Void
  ) async throws {
    let (ends, log) = AsyncStream.makeStream(of: String.self)
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .bind(host: "127.0.0.1", port: 0) { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureUpgradableHTTPServerPipeline(
            configuration: .init(upgradeConfiguration: configuration(maximumFrameBytes)))
        }
      }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await withThrowingDiscardingTaskGroup { group in
          try await server.executeThenClose { connections in
            for try await connection in connections {
              // The end of one connection must not end the others.
              group.addTask { try? await serve(connection.get(), log) }
            }
          }
        }
      }
      defer { group.cancelAll() }
      var iterator = ends.makeAsyncIterator()
      try await body(server.channel.localAddress?.port ?? 0, &iterator)
    }
  }

  private static func configuration(_ maximumFrameBytes: Int) -> NIOTypedHTTPServerUpgradeConfiguration<Connection> {
    let webSocket = NIOTypedWebSocketServerUpgrader<Connection>(
      maxFrameSize: maximumFrameBytes,
      shouldUpgrade: { channel, head in
        let offers = head.headers[canonicalForm: "Sec-WebSocket-Protocol"]
        return channel.eventLoop.makeSucceededFuture(
          offers.contains("chat") ? ["Sec-WebSocket-Protocol": "chat"] : [:])
      },
      upgradePipelineHandler: { channel, head in
        channel.eventLoop.makeCompletedFuture {
          .webSocket(try Frames(wrappingChannelSynchronously: channel), path: head.uri)
        }
      })
    return NIOTypedHTTPServerUpgradeConfiguration(
      upgraders: [webSocket, EchoUpgrader()],
      notUpgradingCompletionHandler: { channel in
        channel.eventLoop.makeCompletedFuture { .http(try NIOAsyncChannel(wrappingChannelSynchronously: channel)) }
      })
  }

  private static func serve(_ connection: Connection, _ log: AsyncStream<String>.Continuation) async throws {
    switch connection {
    case .webSocket(let frames, let path):
      try await frames.executeThenClose { inbound, outbound in
        try await begin(path, outbound)
        for try await frame in inbound where try await respond(to: frame, path, outbound, log) { return }
      }
    case .echo(let bytes):
      try await bytes.executeThenClose { inbound, outbound in
        for try await chunk in inbound { try await outbound.write(chunk) }
        try await outbound.write(ByteBuffer(string: "bye"))
      }
    case .http(let parts):
      try await parts.executeThenClose { inbound, outbound in
        for try await part in inbound {
          guard case .end = part else { continue }
          try await outbound.write(
            .head(HTTPResponseHead(version: .http1_1, status: .notFound, headers: ["Content-Length": "0"])))
          try await outbound.write(.end(nil))
        }
      }
    }
  }

  /// Sends the first frames.
  private static func begin(_ path: String, _ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>) async throws {
    switch path {
    case "/close":
      var data = ByteBuffer()
      data.write(webSocketErrorCode: .unknown(4000))
      data.writeString("grün")
      try await outbound.write(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
    case "/fragments":
      try await outbound.write(WebSocketFrame(opcode: .text, data: ByteBuffer(string: "gr")))
      try await outbound.write(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer(string: "between")))
      // The parts of a text may end inside a character.
      for byte in "ü".utf8 { try await outbound.write(WebSocketFrame(data: ByteBuffer(bytes: [byte]))) }
      try await outbound.write(WebSocketFrame(fin: true, data: ByteBuffer(string: "n")))
    default: break
    }
  }

  /// Responds to a frame; returns whether it was the last one.
  private static func respond(
    to frame: WebSocketFrame, _ path: String, _ outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>,
    _ log: AsyncStream<String>.Continuation
  ) async throws -> Bool {
    var data = frame.unmaskedData
    switch frame.opcode {
    case .ping: try await outbound.write(WebSocketFrame(fin: true, opcode: .pong, data: data))
    case .pong: log.yield("pong \(String(buffer: data))")
    case .connectionClose:
      if path != "/close" { try await outbound.write(WebSocketFrame(fin: true, opcode: .connectionClose, data: data)) }
      log.yield("closed \(data.readInteger(as: UInt16.self) ?? 0) \(String(buffer: data))")
      return true
    default: try await outbound.write(WebSocketFrame(fin: frame.fin, opcode: frame.opcode, data: data))
    }
    return false
  }
}

/// Changes the protocol to `echo`, which repeats bytes.
private struct EchoUpgrader: NIOTypedHTTPServerProtocolUpgrader {
  let supportedProtocol = "echo"
  let requiredUpgradeHeaders: [String] = []

  func buildUpgradeResponse(
    channel: any Channel, upgradeRequest: HTTPRequestHead, initialResponseHeaders: HTTPHeaders
  ) -> EventLoopFuture<HTTPHeaders> { channel.eventLoop.makeSucceededFuture(initialResponseHeaders) }

  func upgrade(channel: any Channel, upgradeRequest: HTTPRequestHead) -> EventLoopFuture<NIOServer.Connection> {
    channel.eventLoop.makeCompletedFuture { .echo(try NIOServer.Bytes(wrappingChannelSynchronously: channel)) }
  }
}
