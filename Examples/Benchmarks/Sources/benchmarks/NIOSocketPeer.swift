import CCurlLoop
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// SwiftNIO's WebSocket frames over a `NIOAsyncChannel`, and zlib's compression.
struct NIOSocketPeer: SocketPeer {
  private typealias Channel = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>

  /// One task uses it.
  final class Socket: SocketOfPeer, @unchecked Sendable {
    private let payload: ByteBuffer
    private let writer: NIOAsyncChannelOutboundWriter<WebSocketFrame>
    private var frames: NIOAsyncChannelInboundStream<WebSocketFrame>.AsyncIterator
    private let contexts: OpaquePointer?

    init(
      _ payload: Data, isCompressed: Bool, _ frames: NIOAsyncChannelInboundStream<WebSocketFrame>,
      _ writer: NIOAsyncChannelOutboundWriter<WebSocketFrame>
    ) {
      self.payload = ByteBuffer(bytes: payload)
      self.writer = writer
      self.frames = frames.makeAsyncIterator()
      contexts = isCompressed ? bench_deflate_new(6) : nil
    }

    deinit { if let contexts { bench_deflate_free(contexts) } }

    func send() async throws { try await send(payload, .binary) }

    func send(_ text: String) async throws { try await send(ByteBuffer(string: text), .text) }

    private func send(_ message: ByteBuffer, _ opcode: WebSocketOpcode) async throws {
      // As Martlet's, and the server reads the texts.
      guard let contexts, message.readableBytes >= 64 else {
        return try await writer.write(
          WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: message))
      }
      var compressed = ByteBuffer()
      let capacity = message.readableBytes + 64
      compressed.writeWithUnsafeMutableBytes(minimumWritableBytes: capacity) { room in
        message.withUnsafeReadableBytes { bytes in
          guard let source = bytes.baseAddress, let target = room.baseAddress else { return 0 }
          return max(0, bench_deflate_message(contexts, source, bytes.count, target, room.count))
        }
      }
      try await writer.write(
        WebSocketFrame(fin: true, rsv1: true, opcode: opcode, maskKey: .random(), data: compressed))
    }

    func receive() async throws -> Int {
      while let frame = try await frames.next(isolation: nil) {
        switch frame.opcode {
        case .binary, .text: return frame.rsv1 ? try expand(frame.unmaskedData) : frame.unmaskedData.readableBytes
        case .ping:
          try await writer.write(
            WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData))
        default: continue
        }
      }
      throw Complaint("the server has closed")
    }

    private func expand(_ message: ByteBuffer) throws -> Int {
      guard let contexts else { throw Complaint("a compressed message arrived") }
      var expanded = ByteBuffer()
      return expanded.writeWithUnsafeMutableBytes(minimumWritableBytes: 66_000) { room in
        message.withUnsafeReadableBytes { bytes in
          guard let source = bytes.baseAddress, let target = room.baseAddress else { return 0 }
          return max(0, bench_inflate_message(contexts, source, bytes.count, target, room.count))
        }
      }
    }

    func close() async throws {
      var code = ByteBuffer()
      code.writeInteger(UInt16(1000))
      try await writer.write(WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: code))
      while let frame = try await frames.next(isolation: nil), frame.opcode != .connectionClose {}
    }
  }

  func withSocket<R: Sendable>(
    _ url: String, payload: Data, isCompressed: Bool, _ body: @Sendable (Socket) async throws -> R
  ) async throws -> R {
    guard let url = URL(string: url), let host = url.host, let port = url.port else { throw Complaint("bad URL") }
    let upgrade: EventLoopFuture<Channel?> = try await ClientBootstrap(
      group: .singletonMultiThreadedEventLoopGroup
    ).channelOption(.tcpOption(.tcp_nodelay), value: 1).connect(host: host, port: port) { channel in
      channel.eventLoop.makeCompletedFuture {
        let upgrader = NIOTypedWebSocketClientUpgrader<Channel?>(maxFrameSize: 1 << 24) { channel, _ in
          channel.eventLoop.makeCompletedFuture { try Channel(wrappingChannelSynchronously: channel) }
        }
        var headers = HTTPHeaders([("Host", "\(host):\(port)"), ("Content-Length", "0")])
        if isCompressed { headers.add(name: "Sec-WebSocket-Extensions", value: "permessage-deflate") }
        let configuration = NIOTypedHTTPClientUpgradeConfiguration<Channel?>(
          upgradeRequestHead: HTTPRequestHead(version: .http1_1, method: .GET, uri: url.path, headers: headers),
          upgraders: [upgrader],
          notUpgradingCompletionHandler: { $0.eventLoop.makeSucceededFuture(nil) })
        return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
          configuration: .init(upgradeConfiguration: configuration))
      }
    }
    guard let channel = try await upgrade.get() else { throw Complaint("the upgrade was refused") }
    return try await channel.executeThenClose { frames, writer in
      let socket = Socket(payload, isCompressed: isCompressed, frames, writer)
      let result = try await body(socket)
      try await socket.close()
      return result
    }
  }
}
