import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL

/// AsyncHTTPClient.
struct AsyncHTTPClientPeer: Peer {
  private let client: HTTPClient

  init(connections: Int, roots: String?) {
    var configuration = HTTPClient.Configuration()
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
    if let roots {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.trustRoots = .file(roots)
      configuration.tlsConfiguration = tls
    }
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  func get(_ url: String, length: Int) async throws {
    let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(120))
    let body = try await response.body.collect(upTo: 1 << 20)
    try check(status: Int(response.status.code), length: body.readableBytes, expected: length)
  }

  func download(_ url: String, pause: Duration?) async throws {
    let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(120))
    var length = 0
    var pauses = PauseCounter()
    for try await piece in response.body {
      length += piece.readableBytes
      if let pause { for _ in 0..<pauses.count(piece.readableBytes) { try await Task.sleep(for: pause) } }
    }
    try check(status: Int(response.status.code), length: length, expected: Servers.bodyLength)
  }

  func collect(_ url: String) async throws {
    let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(120))
    let body = try await response.body.collect(upTo: Servers.bodyLength)
    try check(status: Int(response.status.code), length: body.readableBytes, expected: Servers.bodyLength)
  }

  func upload(_ file: String, to url: String) async throws {
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    request.body = .stream(FilePieces(path: file), length: .known(Int64(Servers.bodyLength)))
    let response = try await client.execute(request, timeout: .seconds(120))
    let body = try await response.body.collect(upTo: 1 << 20)
    try check(status: Int(response.status.code), count: body.readableBytesView)
  }

  func close() async throws { try await client.shutdown() }
}

/// A file, read in chunks on demand.
private struct FilePieces: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  var path: String

  struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let file: FileHandle?

    mutating func next() async throws -> ByteBuffer? {
      guard let file else { throw Complaint("the file cannot be opened") }
      var buffer = ByteBufferAllocator().buffer(capacity: 256 << 10)
      let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 256 << 10) { room in
        let count = read(file.fileDescriptor, room.baseAddress, room.count)
        return count < 0 ? 0 : count
      }
      return count > 0 ? buffer : nil
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: FileHandle(forReadingAtPath: path)) }
}
