public import MartletBase

/// A connection that has changed from HTTP to another protocol, with bytes in both directions.
///
/// The connection belongs to its owner alone: no other request uses it, and it does not count for
/// ``HTTPClient/Configuration/maximumConnectionsPerHost``. It ends with the server's bytes, with ``close()``, with the
/// cancellation of a task that reads or writes, and when the last copy of it and of its ``bytes`` is released.
/// ``HTTPClient/drain(timeout:)`` and `cancelAll()` treat it as a running request.
///
/// ```swift
/// let connection = try await client.upgrade(.post("/containers/\(id)/attach"), to: "tcp").connection
/// try await connection.write(Data("ls\n".utf8))
/// for try await chunk in connection.bytes { show(chunk) }
/// ```
public final class UpgradedConnection: Sendable {
  /// The response with status 101, without a body.
  public let response: StreamedResponse

  /// The bytes from the server; readable once.
  ///
  /// The first bytes may have arrived with the response. A reader that pauses slows the server down. The end of the
  /// bytes ends the connection, even if the client has not finished writing.
  public let bytes: ResponseBody

  private let writer: any UpgradeWriter
  private let call: Call
  /// Ends the call of a held connection.
  private let owner: StreamedCall?
  private let hasFinished = Locked(false)

  init(_ response: StreamedResponse, _ writer: any UpgradeWriter, _ call: Call, owner: StreamedCall?) {
    var head = response
    head.body = ResponseBody()
    self.response = head
    bytes = response.body
    (self.writer, self.call, self.owner) = (writer, call, owner)
  }

  /// The identifier of the request.
  public var id: RequestID { call.id }

  /// Sends bytes; waits while the server does not keep up.
  ///
  /// Up to 256 KiB wait to be sent; from then on, a write waits for room before it adds its bytes. So a write that
  /// throws has added nothing, and a write that returns has not necessarily sent anything yet. Bytes of concurrent
  /// writes are never mixed.
  ///
  /// - Parameter bytes: The bytes.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/timedOut`` if nothing could be sent for ``TimeoutPolicy/idle``,
  ///   which ends the connection; of kind ``HTTPError/Kind/invalidRequest`` after ``finish()``; the connection's error
  ///   after its end; `CancellationError` if the task is cancelled.
  public func write(_ bytes: Data) async throws {
    try Task.checkCancellation()
    while !writer.hasRoom { try await waitForRoom() }
    guard writer.write(bytes) else { throw refusal }
  }

  /// Sends bytes without waiting.
  ///
  /// For a few bytes that must not wait, such as an acknowledgement. They are sent after the bytes of earlier writes.
  ///
  /// - Parameter bytes: The bytes.
  /// - Returns: `false` if there is no room, or the connection has ended; then nothing was added.
  public func writeIfRoom(_ bytes: Data) -> Bool { writer.hasRoom && writer.write(bytes) }

  /// Ends the client's side of the connection after the written bytes.
  ///
  /// Over TCP and Unix sockets, the server then reads the end of the client's bytes; over TLS, if the system's TLS
  /// library is OpenSSL or GnuTLS. The server's bytes continue.
  public func finish() {
    hasFinished.withLock { $0 = true }
    writer.finish()
  }

  /// Closes the connection at once; bytes that were not sent yet are dropped.
  ///
  /// The request counts as successful. Calling it again has no effect.
  public func close() {
    _ = call.finish(.succeeded(response.status), response: nil, source: response.source)
    call.abortSource.abort(CancellationError())
  }

  private var refusal: any Error {
    if hasFinished.withLock({ $0 }) {
      return HTTPError(.invalidRequest, "bytes were written after finish()", request: call.currentRequest)
    }
    return call.failure
      ?? HTTPError(.connectionLost, "the upgraded connection has ended", phase: .sending).described(call.currentRequest)
  }

  private func waitForRoom() async throws {
    let sent = writer.sentCount
    let room = Promise<Void>()
    writer.onRoom { room.resolve(.success(())) }
    guard let limit = call.timeouts.idle else { return try await room.value() }
    let timeline = call.core.timeline
    try await race([{ try await room.value() }, { try await timeline.watch(limit) }])
    // The server may take bytes without making enough room.
    guard !writer.hasRoom, writer.sentCount == sent else { return }
    var error = HTTPError(.timedOut, HTTPError.passedLimit("idle", limit), phase: .sending)
    error.mayHaveReachedServer = true
    call.complete(&error)
    call.abort(error)
    throw error
  }
}
