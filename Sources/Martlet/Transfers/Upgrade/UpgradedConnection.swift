public import MartletBase

/// A connection that has changed from HTTP to another protocol, with bytes in both directions.
///
/// The connection belongs to its owner alone: no other request uses it, and it does not count for
/// ``HTTPClient/Configuration/maximumConnectionsPerHost``. It ends with the server's bytes, with ``close(throwing:)``, with the
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

  /// The number of bytes at the beginning of each message that the client's instruments receive.
  ///
  /// `nil` without instruments; then ``report(_:_:_:count:)`` has no effect. It does not change.
  public let maximumReportedBytes: Int?

  private let writer: any UpgradeWriter
  private let receiver: (any InlineReceiver)?
  let call: Call
  /// The number of the exchange for events; 0 without instruments.
  let exchange: Int
  /// Ends the call of a held connection.
  private let owner: StreamedCall?
  private let hasFinished = Locked(false)

  init(_ response: StreamedResponse, _ writer: any UpgradeWriter, _ call: Call, owner: StreamedCall?) {
    var head = response
    head.body = ResponseBody()
    self.response = head
    bytes = response.body
    (self.writer, self.call, self.owner) = (writer, call, owner)
    receiver = writer as? any InlineReceiver
    exchange = call.exchangeNumber
    maximumReportedBytes = exchange > 0 ? call.settings.instruments?.maximumBodyBytes : nil
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
    try await waitForRoom()
    guard writer.write(bytes) else { throw refusal }
  }

  /// Whether ``write(_:)`` would add its bytes without waiting.
  public var hasRoom: Bool { writer.hasRoom }

  /// Waits until ``hasRoom`` is true, as ``write(_:)`` does.
  ///
  /// - Throws: The errors of ``write(_:)``.
  public func waitForRoom() async throws {
    try Task.checkCancellation()
    while !writer.hasRoom { try await awaitRoom() }
  }

  /// Adds bytes without waiting, even without room.
  ///
  /// For a few bytes that must not wait, such as an acknowledgement; use ``write(_:)`` or ``waitForRoom()`` to bound the
  /// memory. The bytes are sent after those of earlier writes.
  ///
  /// - Parameter bytes: The bytes.
  /// - Returns: `false` if the connection has ended, or after ``finish()``; then nothing was added.
  public func writeNow(_ bytes: Data) -> Bool { writer.write(bytes) }

  /// Ends the client's side of the connection after the written bytes.
  ///
  /// Over TCP and Unix sockets, the server then reads the end of the client's bytes; over TLS, if libcurl uses OpenSSL.
  /// The server's bytes continue.
  public func finish() {
    hasFinished.withLock { $0 = true }
    writer.finish()
  }

  /// Closes the connection at once; bytes that were not sent yet are dropped.
  ///
  /// Calling it again has no effect. A request that belongs to a closure ends with its closure, and has its result.
  ///
  /// - Parameter error: The reason why a held connection's request counts as failed; `nil` if it is successful.
  public func close(throwing error: HTTPError? = nil) {
    guard owner != nil else { return call.endExchange() }
    var end = RequestEvent.End.succeeded(response.status)
    if var error {
      call.complete(&error)
      end = .failed(error)
    }
    _ = call.finish(end, response: nil, source: response.source)
    call.abortSource.abort(CancellationError())
  }

  /// Receives the next bytes on this thread, if they are likely to arrive soon; returns whether it waited for them.
  ///
  /// Waking two threads takes longer than receiving a small message. The task that reads ``bytes`` should be one that
  /// continues on the thread that resumes it.
  package func receiveHere() -> Bool { receiver?.receiveHere() ?? false }

  /// The number of written bytes that the transport has taken to send them.
  public var sentCount: Int64 { writer.sentCount }

  private var refusal: any Error {
    if hasFinished.withLock({ $0 }) {
      return HTTPError(.invalidRequest, "bytes were written after finish()", request: call.currentRequest)
    }
    return call.failure
      ?? HTTPError(.connectionLost, "the upgraded connection has ended", phase: .sending).described(call.currentRequest)
  }

  private func awaitRoom() async throws {
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
