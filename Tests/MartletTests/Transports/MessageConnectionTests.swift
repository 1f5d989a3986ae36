#if canImport(Darwin) || URLSession
  import Foundation
  import MartletBase
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet
  @testable import MartletWebSocket

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  @Suite(.hangLimit) struct MessageConnectionTests {
    typealias Closure = MessageUpgrade.Closure

    // MARK: Messages

    @Test func `frames become calls of the task`() throws {
      let rig = Rig()
      var writer = MessageWriter(.client)

      let first = try writer.text("a") + writer.binary(hex("01"))
      #expect(rig.connection.write(first))
      #expect(rig.connection.write(writer.ping(hex("31"))))
      for _ in 0..<2 { rig.task.completesSend() }
      #expect(rig.connection.write(writer.close(.goingAway, reason: "bye")))
      #expect(!rig.connection.write(try writer.text("late")))

      #expect(
        rig.task.calls == [
          .text("a"), .binary(hex("01")), .ping(Data()), .close(Closure(code: 1001, reason: Data("bye".utf8))),
        ])
    }

    @Test func `messages, pongs and the server's close become frames`() async throws {
      let rig = Rig()
      var writer = MessageWriter(.client)
      rig.connection.receive()
      #expect(rig.connection.write(writer.ping(hex("31"))))

      rig.task.receives(.success(.text("a")))
      rig.task.answersPing()
      #expect(try await rig.read(6) == hex("810161 8a0131"))
      rig.connection.closed(Closure(code: 4001, reason: Data("why".utf8)))
      // A message before the close frame is delivered before it.
      rig.task.receives(.success(.binary(hex("01"))))
      #expect(try await rig.read(3) == hex("820101"))
      rig.task.receives(.failure(Lost()))

      #expect(try await rig.read(7) == hex("88050fa1776879"))
      #expect(try await rig.body.next() == nil)
      #expect(rig.task.cancellations == 0)
      #expect(rig.owner.receivedCount.value == 16)
    }

    @Test func `receives only after the reader has taken a message`() async throws {
      let rig = Rig()
      rig.connection.receive()
      rig.connection.receive()
      #expect(rig.task.receiveCount == 1)

      rig.task.receives(.success(.text("a")))
      #expect(rig.task.receiveCount == 1)
      #expect(try await rig.body.next() == hex("810161"))
      #expect(rig.task.receiveCount == 2)
    }

    @Test func `has no room while 256 KiB wait to be sent`() throws {
      let rig = Rig()
      var writer = MessageWriter(.client)
      let rooms = Log<Int>()
      rig.connection.onRoom { rooms.add(0) }

      #expect(rig.connection.write(try writer.binary(Data(count: MessageConnection.capacity - 1))))
      #expect(rig.connection.hasRoom)
      #expect(rig.connection.write(try writer.text("a")))
      #expect(!rig.connection.hasRoom)
      rig.connection.onRoom { rooms.add(1) }
      #expect(rooms.elements == [0])
      rig.task.completesSend()

      #expect(rooms.elements == [0, 1])
      #expect(rig.connection.hasRoom && rig.connection.sentCount == Int64(MessageConnection.capacity - 1))
      rig.task.completesSend(Lost())
      #expect(rig.connection.sentCount == Int64(MessageConnection.capacity - 1))
    }

    @Test func `closes after the waiting messages`() throws {
      let rig = Rig()
      var writer = MessageWriter(.client)

      #expect(rig.connection.write(try writer.text("a")))
      #expect(rig.connection.write(writer.close(.normalClosure, reason: "")))
      #expect(rig.task.calls == [.text("a")])
      #expect(!rig.connection.write(try writer.text("b")))
      rig.task.completesSend()

      #expect(rig.task.calls == [.text("a"), .close(Closure(code: 1000, reason: Data()))])
    }

    // MARK: Ends

    @Test func `reports the close frame that the task knows`() async throws {
      let rig = Rig()
      rig.connection.receive()
      rig.task.state.withLock { $0.closure = Closure(code: nil, reason: Data()) }

      rig.task.receives(.failure(Lost()))

      #expect(try await rig.body.next() == hex("8800"))
      #expect(try await rig.body.next() == nil)
    }

    @Test func `a failure without a close frame cancels the task, and its end reports the failure`() async throws {
      let rig = Rig()
      rig.connection.receive()

      rig.task.receives(.failure(Lost()))
      #expect(rig.task.cancellations == 1)
      // The task may report its own cancellation as a code.
      rig.task.state.withLock { $0.closure = Closure(code: 1001, reason: Data()) }
      rig.connection.completed(Other())

      let error = await #expect(throws: HTTPError.self) { try await rig.body.next() }
      #expect(error?.message == "Lost()")
      #expect(!rig.connection.write(Data()))
    }

    @Test func `the end of the task without an error ends the bytes`() async throws {
      let rig = Rig()
      rig.connection.receive()
      rig.connection.completed(nil)
      rig.task.receives(.failure(Lost()))
      #expect(try await rig.body.next() == nil)
    }

    @Test(arguments: [1000, nil] as [UInt16?])
    func `after the client's close frame, only the server's is reported`(code: UInt16?) async throws {
      let rig = Rig()
      var writer = MessageWriter(.client)
      rig.connection.receive()
      #expect(rig.connection.write(writer.close(.goingAway)))
      rig.task.state.withLock { $0.closure = Closure(code: 1001, reason: Data()) }

      rig.task.receives(.failure(Lost()))
      #expect(rig.task.cancellations == 0)
      if let code { rig.connection.closed(Closure(code: code, reason: Data())) }
      rig.connection.completed(Other())

      if code != nil { #expect(try await rig.body.next() == hex("880203e8")) }
      #expect(try await rig.body.next() == nil)
    }

    @Test func `closes with 1009 if a message exceeds the limit of the task`() async throws {
      let rig = Rig()
      rig.connection.receive()

      rig.task.receives(.failure(NSError(domain: NSPOSIXErrorDomain, code: Int(EMSGSIZE))))

      let error = await #expect(throws: HTTPError.self) { try await rig.body.next() }
      #expect(error?.kind == .bodyTooLarge)
      #expect(rig.task.calls == [.close(Closure(code: 1009, reason: Data()))])
    }

    @Test func `an abort ends the bytes and the wait for room`() async throws {
      let rig = Rig()
      var writer = MessageWriter(.client)
      let rooms = Log<Int>()
      #expect(rig.connection.write(try writer.binary(Data(count: MessageConnection.capacity))))
      rig.connection.onRoom { rooms.add(0) }

      rig.connection.abort(CancellationError())

      #expect(rooms.elements == [0] && rig.connection.hasRoom)
      await #expect(throws: CancellationError.self) { try await rig.body.next() }
    }

    @Test func `a reader that leaves ends the exchange`() {
      let rig = Rig()
      rig.body.abandon()
      #expect(rig.owner.leftCount.value == 1)
    }

    // MARK: Sessions

    @Test func `a WebSocket exchanges messages through a task`() async throws {
      let task = FakeTask(echoes: true)
      let client = HTTPClient.stubbed(MessageTransport(task: task))
      let options = WebSocketOptions { $0.subprotocols = ["chat"] }

      try await client.webSocket("/", options: options) { socket in
        #expect(socket.subprotocol == "chat" && !socket.isCompressed)
        try await socket.send("hello")
        #expect(try await socket.receive() == .text("hello"))
        try await socket.send(
          parts: AsyncStream { continuation in
            for text in ["gr", "ü", "n"] { continuation.yield(text) }
            continuation.finish()
          })
        #expect(try await socket.receive() == .text("grün"))
        try await socket.send(Data())
        #expect(try await socket.receive() == .binary(Data()))
      }

      #expect(task.calls.last == .close(Closure(code: 1000, reason: Data())))
    }

    @Test func `a WebSocket reports a close code through a task`() async throws {
      let task = FakeTask()
      let socket = try await HTTPClient.stubbed(MessageTransport(task: task)).webSocket("/")
      task.state.withLock { $0.closure = Closure(code: 4001, reason: Data("why".utf8)) }

      task.receives(.failure(Lost()))

      let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
      #expect(error?.kind == .webSocketClosed)
      #expect(socket.closeCode?.rawValue == 4001 && socket.closeReason == "why")
    }

    // MARK: Foundation

    @Test(
      arguments: [
        (1000, MessageUpgrade.Closure(code: 1000, reason: Data())),
        (4001, MessageUpgrade.Closure(code: 4001, reason: Data())),
        (1005, MessageUpgrade.Closure(code: nil, reason: Data())), (1006, nil), (1015, nil), (999, nil), (0, nil),
        (-1, nil), (70_000, nil),
      ] as [(Int, MessageUpgrade.Closure?)])
    func `converts close codes`(code: Int, closure: Closure?) {
      #expect(WebSocketTask.closure(code, nil) == closure)
    }

    @Test(arguments: [
      (EMSGSIZE, HTTPError.Kind.bodyTooLarge), (ETIMEDOUT, .timedOut), (ENOTCONN, .connectionLost),
      (ECONNABORTED, .connectionLost), (EPROTO, .protocolViolation),
    ]) func `maps the errors of connections`(code: Int32, kind: HTTPError.Kind) {
      #expect(URLSessionErrors.kind(of: NSError(domain: NSPOSIXErrorDomain, code: Int(code))) == kind)
      #expect(URLSessionErrors.kind(of: NSError(domain: "other", code: Int(code))) == .protocolViolation)
    }

    @Test(arguments: [("http://a.test/b?c=d", "ws://a.test/b?c=d"), ("https://a.test:1/", "wss://a.test:1/")])
    func `requests have the scheme of WebSockets, and no key`(target: String, url: String) throws {
      let request = HTTPRequest(
        .get, RequestTarget(text: target),
        headers: ["Sec-WebSocket-Key": "a", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Protocol": "chat"])

      let sent = try URLSessionWire(request, messages: WebSocketOptions().messages).urlRequest()

      #expect(sent.url?.absoluteString == url)
      #expect(sent.allHTTPHeaderFields?.keys.filter { $0.hasPrefix("Sec-") } == ["Sec-WebSocket-Protocol"])
    }
  }

  private struct Lost: Error {}
  private struct Other: Error {}

  /// A task whose events come from the test.
  private final class FakeTask: MessageTask {
    typealias Message = MessageUpgrade.Message

    struct State {
      var calls: [Message] = []
      var cancellations = 0
      var receiveCount = 0
      var closure: MessageUpgrade.Closure?
      var incoming: [Message] = []
      var receiver: (@Sendable (Result<Message, any Error>) -> Void)?
      var sends: [@Sendable ((any Error)?) -> Void] = []
      var pings: [@Sendable ((any Error)?) -> Void] = []
      var onClose: @Sendable () -> Void = {}
    }

    let state = Shared(State())
    private let echoes: Bool

    init(echoes: Bool = false) { self.echoes = echoes }

    var calls: [Message] { state.value.calls }
    var cancellations: Int { state.value.cancellations }
    var receiveCount: Int { state.value.receiveCount }
    var closure: MessageUpgrade.Closure? { state.value.closure }

    func send(_ message: Message, _ completion: @escaping @Sendable ((any Error)?) -> Void) {
      state.withLock { $0.calls.append(message) }
      guard echoes else { return state.withLock { $0.sends.append(completion) } }
      completion(nil)
      receives(.success(message))
    }

    func receive(_ completion: @escaping @Sendable (Result<Message, any Error>) -> Void) {
      let message: Message? = state.withLock { state in
        state.receiveCount += 1
        if !state.incoming.isEmpty { return state.incoming.removeFirst() }
        state.receiver = completion
        return nil
      }
      if let message { completion(.success(message)) }
    }

    func ping(_ completion: @escaping @Sendable ((any Error)?) -> Void) {
      state.withLock { state in
        state.calls.append(.ping(Data()))
        state.pings.append(completion)
      }
    }

    func close(_ closure: MessageUpgrade.Closure) {
      let onClose = state.withLock { state in
        state.calls.append(.close(closure))
        return state.onClose
      }
      onClose()
    }

    func cancel() { state.withLock { $0.cancellations += 1 } }

    /// Gives a result to the receiver; a message may arrive before it.
    func receives(_ result: Result<Message, any Error>) {
      let receiver = state.withLock { state in
        let receiver = state.receiver
        state.receiver = nil
        if receiver == nil, case .success(let message) = result { state.incoming.append(message) }
        return receiver
      }
      receiver?(result)
    }

    func completesSend(_ error: (any Error)? = nil) {
      let completion = state.withLock { $0.sends.removeFirst() }
      completion(error)
    }

    func answersPing() {
      let completion = state.withLock { $0.pings.removeFirst() }
      completion(nil)
    }
  }

  private final class FakeOwner: MessageConnection.Owner {
    let receivedCount = Shared(0)
    let leftCount = Shared(0)

    func received(byteCount: Int) { receivedCount.withLock { $0 += byteCount } }
    func sent(_ bytes: Int) {}
    func readerDidCancel() { leftCount.withLock { $0 += 1 } }

    func failure(for error: any Error) -> HTTPError {
      HTTPError(URLSessionErrors.kind(of: error as NSError), "\(error)", phase: .receiving)
    }
  }

  private struct Rig {
    let task = FakeTask()
    let owner = FakeOwner()
    let connection: MessageConnection
    let body: BodyStream

    init() {
      connection = MessageConnection(task, WebSocketOptions().messages, owner: owner)
      body = connection.open()
    }

    /// At least this many bytes.
    func read(_ count: Int) async throws -> Data {
      var bytes = Data()
      while bytes.count < count, let chunk = try await body.next() { bytes += chunk }
      return bytes
    }
  }

  private struct MessageTransport: Transport {
    let task: FakeTask

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      let messages = try #require(context.call.messageUpgrade)
      let connection = MessageConnection(task, messages, owner: FakeOwner())
      let body = ResponseBody(connection.open())
      task.state.withLock { $0.onClose = { [weak connection] in connection?.completed(nil) } }
      connection.receive()
      let offered = request.headers["Sec-WebSocket-Protocol"]
      return StreamedResponse(
        headers: messages.responseFields(request, offered), body: body, request: request, writer: connection)
    }
  }
#endif
