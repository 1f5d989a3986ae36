import Foundation
import Synchronization

/// An HTTP/1.1 server on a free port of 127.0.0.1, for tests.
///
/// It uses real sockets, so a test can show how a client handles a slow, broken or hostile peer. One thread serves all
/// connections; thousands may be open at once. The server starts with `init`, and ends with ``stop()`` or when its last
/// reference is released.
///
/// ```swift
/// let server = try MockServer(script: [.status(503), .ok("hello")])
/// let response = try await client.get(RequestTarget(server.url("/greeting")))
/// #expect(server.requests.map(\.target) == ["/greeting", "/greeting"])
/// ```
public final class MockServer: Sendable {
  /// Options for all connections of a server.
  public struct Options: Sendable {
    /// Whether request bodies are kept; otherwise they are only counted.
    ///
    /// The default is true.
    public var keepsBodies: Bool
    /// The maximum number of bytes kept of one body; the rest is only counted.
    ///
    /// The default is 64 MiB.
    public var maximumKeptBodyBytes: Int
    /// Whether the server sends `100 Continue` for `Expect: 100-continue` before it reads the body.
    ///
    /// The default is true (RFC 9110 §10.1.1).
    public var sendsContinue: Bool
    /// Returns the plan for a connection, given its number, from 0.
    ///
    /// The default serves. The closure runs on the thread of the server and must not block.
    public var onConnect: @Sendable (Int) -> ConnectionPlan
    /// Returns an early response to a head, if any.
    ///
    /// It is sent as soon as the head is read. With `nil`, the server reads the body and responds as usual. By default,
    /// there is no closure. It runs on the server's thread and must not block.
    public var earlyAnswer: (@Sendable (RecordedRequest) -> MockResponse?)?

    /// Creates options.
    public init(
      keepsBodies: Bool = true,
      maximumKeptBodyBytes: Int = 64 << 20,
      sendsContinue: Bool = true,
      onConnect: @escaping @Sendable (Int) -> ConnectionPlan = { _ in .serve },
      earlyAnswer: (@Sendable (RecordedRequest) -> MockResponse?)? = nil
    ) {
      self.keepsBodies = keepsBodies
      self.maximumKeptBodyBytes = maximumKeptBodyBytes
      self.sendsContinue = sendsContinue
      self.onConnect = onConnect
      self.earlyAnswer = earlyAnswer
    }
  }

  /// The port on which the server listens.
  public let port: Int
  let core: ServerCore

  init(options: Options, responder: Responder, port: Int = 0) throws {
    let core = try ServerCore(options: options, responder: responder)
    let listener = try Sockets.listen(backlog: 4096, port: port)
    self.core = core
    self.port = listener.port
    let thread = Thread {
      core.adoptThread()
      ServerLoop(core: core, listener: listener.socket).run()
    }
    thread.name = "MockServer"
    thread.stackSize = 1 << 20
    thread.start()
  }

  deinit { stop() }

  /// Creates a server that responds from an asynchronous closure.
  ///
  /// The closure runs in a new task for each request. The task is cancelled when the client disconnects or the server
  /// stops.
  ///
  /// - Parameters:
  ///   - options: The options for connections.
  ///   - responder: Returns the response to a request whose body has been read.
  /// - Throws: ``MockServerError`` if the system refuses a socket.
  public convenience init(
    options: Options = Options(), _ responder: @escaping @Sendable (RecordedRequest) async -> MockResponse
  ) throws {
    try self.init(options: options, responder: .concurrent(responder))
  }

  /// Creates a server that responds from a synchronous closure.
  ///
  /// The closure runs on the thread of the server, which makes it fast; while it blocks, no connection is served.
  ///
  /// - Parameters:
  ///   - options: The options for connections.
  ///   - responder: Returns the response to a request whose body has been read.
  /// - Throws: ``MockServerError`` if the system refuses a socket.
  public convenience init(
    options: Options = Options(), answering responder: @escaping @Sendable (RecordedRequest) -> MockResponse
  ) throws {
    try self.init(options: options, responder: .immediate(responder))
  }

  /// Creates a server on a port such as ``refusedPort()``, so a test can start it again.
  package convenience init(
    port: Int, options: Options = Options(), _ responder: @escaping @Sendable (RecordedRequest) async -> MockResponse
  ) throws {
    try self.init(options: options, responder: .concurrent(responder), port: port)
  }

  /// Creates a server that always sends the same response.
  ///
  /// - Parameters:
  ///   - fixed: The response.
  ///   - options: The options for connections.
  /// - Throws: ``MockServerError`` if the system refuses a socket.
  public convenience init(_ fixed: MockResponse, options: Options = Options()) throws {
    try self.init(options: options, responder: .fixed(fixed))
  }

  /// Creates a server that sends its responses in order.
  ///
  /// The n-th request gets the n-th response, on any connection.
  ///
  /// - Parameters:
  ///   - script: The responses, at least one; the last repeats.
  ///   - options: The options for connections.
  /// - Throws: ``MockServerError`` if the system refuses a socket.
  public convenience init(script: [MockResponse], options: Options = Options()) throws {
    precondition(!script.isEmpty, "A script needs at least one response.")
    try self.init(options: options, responder: .script(script))
  }

  /// Creates a server with a separate script for each connection.
  ///
  /// After the last response of its script, a connection is closed without announcing it.
  ///
  /// - Parameters:
  ///   - scripts: The responses for each connection, at least one script; the last repeats.
  ///   - options: The options for connections.
  /// - Throws: ``MockServerError`` if the system refuses a socket.
  public convenience init(connectionScripts scripts: [[MockResponse]], options: Options = Options()) throws {
    precondition(!scripts.isEmpty, "The first connection needs a script.")
    try self.init(options: options, responder: .connections(scripts))
  }

  /// The URL of the server, without a trailing slash.
  ///
  /// It is `http://127.0.0.1:` and the port.
  public var url: String { "http://127.0.0.1:\(port)" }

  /// The URL of a path on the server; a missing leading slash is added.
  public func url(_ path: String) -> String { path.hasPrefix("/") ? url + path : url + "/" + path }

  /// The URL of a path on the server for a WebSocket, such as `ws://127.0.0.1:4000/chat`.
  ///
  /// A missing leading slash is added.
  public func webSocketURL(_ path: String = "/") -> String { "ws" + url(path).dropFirst("http".count) }

  /// Stops the server.
  ///
  /// Closes the listener and all connections, cancels the responder's tasks and ends the thread. Returns when that is
  /// done, after at most one second; new connections are then refused. Calling it again does nothing. The records stay
  /// readable.
  public func stop() {
    core.stop()
    // A responder may stop its server. The loop then ends after this turn.
    guard !core.isOnLoopThread else { return }
    core.finished.wait(milliseconds: 1000)
  }

  /// Returns a free port, where connecting is refused.
  ///
  /// The system never assigns this port to a server or a connection, so it stays free unless a program requests its
  /// number.
  ///
  /// - Throws: ``MockServerError`` if the system refuses a socket.
  public static func refusedPort() throws -> Int {
    for _ in 0..<unclaimedPorts.count {
      let number = nextPort.wrappingAdd(1, ordering: .relaxed).newValue
      let port = unclaimedPorts.lowerBound + Int(number % UInt(unclaimedPorts.count))
      guard let bound = try? Sockets.bindToLoopback(port) else { continue }
      Sockets.close(bound.socket)
      return port
    }
    let bound = try Sockets.bindToLoopback()
    Sockets.close(bound.socket)
    return bound.port
  }

  /// Below the ports that Linux (32768 and up) and Apple's systems (49152 and up) assign.
  private static let unclaimedPorts = 12_000..<32_000
  /// The start is random, so two processes use different ports.
  private static let nextPort = Atomic(UInt.random(in: 0..<20_000))
}
