import MartletBase
import MartletWebSocket
public import Foundation
public import Martlet

/// The other protocol of a stub's upgraded connection.
enum StubUpgrade: Sendable {
  case webSocket(MockWebSocket)
  case bytes(protocolName: String, greeting: Data, @Sendable (Data) async throws -> Data?)
}

/// The WebSockets of a ``StubTransport``.
final class WebSocketLog: Sendable {
  private let records = Locked<[RecordedWebSocket]>([])
  private let changes = ChangeSignal()

  var all: [RecordedWebSocket] { records.withLock { $0 } }

  /// Adds a record; returns its index.
  func add(_ record: RecordedWebSocket) -> Int {
    let index = records.withLock { records in
      records.append(record)
      return records.count - 1
    }
    changes.signal()
    return index
  }

  /// Returns the closure that changes a record.
  func change(_ index: Int) -> @Sendable ((inout RecordedWebSocket) -> Void) -> Void {
    { [self] change in
      records.withLock { change(&$0[index]) }
      changes.signal()
    }
  }

  func wait(_ index: Int, until condition: (RecordedWebSocket) -> Bool) async {
    await changes.wait { found(index, condition) != nil }
  }

  func found(_ index: Int, _ condition: (RecordedWebSocket) -> Bool) -> RecordedWebSocket? {
    let records = all
    return records.indices.contains(index) && condition(records[index]) ? records[index] : nil
  }
}

extension StubTransport {
  /// The WebSockets so far, in the order of their opening handshakes.
  ///
  /// Requests that were not valid handshakes are only in ``requests``. A record contains at most 64 MiB of messages; later
  /// messages are recorded as empty.
  public var webSockets: [RecordedWebSocket] { sockets.all }

  /// Waits until a WebSocket has opened and its record fulfills a condition.
  ///
  /// - Parameters:
  ///   - index: The index of the WebSocket in ``webSockets``.
  ///   - timeout: The longest wait in real time, by default 30 seconds.
  ///   - condition: Returns whether to end the wait; by default, the wait ends when the WebSocket has opened.
  /// - Returns: The record, or `nil` if the condition did not hold before the timeout and
  ///   before the task was cancelled.
  public func waitForWebSocket(
    _ index: Int = 0, timeout: Duration = .seconds(30),
    until condition: @escaping @Sendable (RecordedWebSocket) -> Bool = { _ in true }
  ) async -> RecordedWebSocket? {
    try? await race([
      { [sockets] in await sockets.wait(index, until: condition) }, { try await Task.sleep(for: timeout) },
    ])
    return sockets.found(index, condition)
  }

  /// The response to a request for another protocol.
  func upgrade(
    _ request: HTTPRequest, with upgrade: StubUpgrade, _ headers: HTTPHeaders, _ context: RequestContext
  ) -> StreamedResponse {
    switch upgrade {
    case .webSocket(var socket):
      socket.headers += headers.map { MockResponse.Field($0.name, $0.value) }
      return open(socket, request, context)
    case .bytes(let name, let greeting, let respond):
      let fields: HTTPHeaders = ["Upgrade": name, "Connection": "Upgrade"]
      guard let asked = context.upgradeProtocol, FieldSyntax.isSameName(asked, name) else {
        return StreamedResponse(status: .upgradeRequired, headers: fields, request: request)
      }
      var all = fields
      all.replace(with: headers)
      return StreamedResponse(
        upgrading: request, all, to: StubByteServer(greeting: greeting, respond), context)
    }
  }

  private func open(_ socket: MockWebSocket, _ request: HTTPRequest, _ context: RequestContext) -> StreamedResponse {
    WebSocketOpening.response(socket, request, context, sockets) { $0.session(socket) }
  }
}

/// A WebSocket in memory whose handshake was accepted.
struct WebSocketOpening {
  private let deflate: PermessageDeflate?
  private let log: WebSocketLog
  private let index: Int

  /// The record of the WebSocket.
  var record: RecordedWebSocket { log.all[index] }

  /// Plays a script.
  func session(_ socket: MockWebSocket) -> WebSocketServerSession {
    WebSocketServerSession(
      socket, head: Data(), deflate: deflate, options: MockServer.Options(), record: log.change(index))
  }

  /// The response to an opening handshake, which opens a connection to a server if it is valid.
  ///
  /// The server uses the client's clock, unless there is another one.
  static func response(
    _ socket: MockWebSocket, _ request: HTTPRequest, _ context: RequestContext, _ log: WebSocketLog,
    _ timeline: Timeline? = nil, _ makeServer: (WebSocketOpening) -> sending any StubServer
  ) -> StreamedResponse {
    let received = RecordedRequest(request, upgrade: context.upgradeProtocol, connection: log.all.count)
    switch WebSocketUpgrade(received, socket) {
    case .response(let message):
      let body = if case .data(let data) = message.body { data } else { Data() }
      return StreamedResponse(
        status: HTTPStatus(rawValue: message.status), headers: HTTPHeaders(message.headers), body: ResponseBody(body),
        request: request)
    case .open(let fields, let subprotocol, let deflate):
      let compression = deflate.map { MockWebSocket.Compression($0) }
      let index = log.add(RecordedWebSocket(request: received, subprotocol: subprotocol, compression: compression))
      let server = makeServer(WebSocketOpening(deflate: deflate, log: log, index: index))
      return StreamedResponse(upgrading: request, HTTPHeaders(fields), to: server, context, timeline)
    }
  }
}

extension StreamedResponse {
  /// A response that opens a connection to a server in memory.
  fileprivate init(
    upgrading request: HTTPRequest, _ headers: HTTPHeaders, to server: sending any StubServer,
    _ context: RequestContext, _ timeline: Timeline? = nil
  ) {
    let connection = StubConnection(server, context, timeline)
    self.init(headers: headers, body: connection.body, request: request, writer: connection)
  }
}

extension StubResponse {
  /// A WebSocket that plays steps (RFC 6455), without a network.
  ///
  /// ```swift
  /// let transport = StubTransport(routes: ["GET /chat": .webSocket([.receive("ping"), .text("pong"), .close])])
  /// ```
  ///
  /// The steps are those of a ``MockServer``, and are played while the client reads. Delays use the client's clock. A
  /// request that is not a valid opening handshake gets 400 or 426, with the reason as text. The transport records its
  /// WebSockets; see ``StubTransport/webSockets``.
  ///
  /// - Parameters:
  ///   - steps: The steps, in order. By default, the server only receives.
  ///   - subprotocols: The supported subprotocols. The server selects the client's first offer among them, or none.
  ///   - compression: The parameters of permessage-deflate, or `nil` to refuse it.
  ///   - headers: The additional fields of the handshake's response.
  ///   - handshake: The opening handshake, by default a valid one.
  ///   - sendsPongs: Whether the server responds to pings.
  /// - Returns: The response.
  public static func webSocket(
    _ steps: [MockWebSocket.Step] = [], subprotocols: [String] = [], compression: MockWebSocket.Compression? = nil,
    headers: HTTPHeaders = [:], handshake: MockWebSocket.Handshake = .valid, sendsPongs: Bool = true
  ) -> StubResponse {
    var socket = MockWebSocket(steps: steps)
    (socket.subprotocols, socket.compression) = (subprotocols, compression)
    (socket.handshake, socket.sendsPongs) = (handshake, sendsPongs)
    return upgrading(to: .webSocket(socket), headers)
  }

  /// A connection that changes to another protocol, whose server responds from a closure.
  ///
  /// A request that does not ask for this protocol gets 426. The server's side ends when the client calls
  /// `UpgradedConnection.finish()` and its bytes have been handled. More than 1 MiB of unhandled bytes leave no room to
  /// write.
  ///
  /// - Parameters:
  ///   - protocolName: The protocol, such as `tcp`.
  ///   - headers: The additional fields of the response.
  ///   - greeting: The bytes that the server sends first; none by default.
  ///   - respond: Receives the bytes that the client has written since the last call, and returns the bytes to send, or
  ///     `nil` to end the connection. It is called while the client reads. An error that it throws fails the connection.
  /// - Returns: The response.
  public static func upgrade(
    to protocolName: String, headers: HTTPHeaders = [:], greeting: Data = Data(),
    _ respond: @escaping @Sendable (Data) async throws -> Data?
  ) -> StubResponse {
    upgrading(to: .bytes(protocolName: protocolName, greeting: greeting, respond), headers)
  }

  private static func upgrading(to upgrade: StubUpgrade, _ headers: HTTPHeaders) -> StubResponse {
    StubResponse(
      status: .switchingProtocols, headers: headers, outcome: .success(ResponseBody()), upgrade: upgrade)
  }
}

extension HTTPHeaders {
  fileprivate init(_ fields: [MockResponse.Field]) {
    self.init(fields.map { Field(name: $0.name, value: $0.value) })
  }
}

extension RecordedRequest {
  /// A request as a transport would send it over HTTP/1.1.
  init(_ request: HTTPRequest, upgrade: String?, connection: Int) {
    let url = request.url
    let path = url?.path(percentEncoded: true) ?? "/"
    let target = (path.isEmpty ? "/" : path) + (url?.query(percentEncoded: true).map { "?\($0)" } ?? "")
    var fields = request.headers.map { Field($0.name, $0.value) }
    if let upgrade { fields = [Field("Connection", "Upgrade"), Field("Upgrade", upgrade)] + fields }
    if !request.headers.contains("Host"), let host = url?.host(percentEncoded: true) {
      fields.insert(Field("Host", url?.port.map { "\(host):\($0)" } ?? host), at: 0)
    }
    self.init(
      method: request.method.rawValue, target: target, httpVersion: "HTTP/1.1", headers: fields,
      rawHead: fields.head(line: "\(request.method.rawValue) \(target) HTTP/1.1"), connection: connection,
      indexOnConnection: 0, arrival: .now)
    isComplete = true
  }
}
