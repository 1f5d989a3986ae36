import Foundation
import Synchronization

/// An HTTP/1.1 server on a free port of 127.0.0.1, for tests.
///
/// It answers real sockets, so that a test can show what a client does with a slow, broken or hostile peer. One thread
/// serves all connections; thousands may be open at once. The server starts with `init` and ends with ``stop()`` or
/// when the last reference goes.
///
/// ```swift
/// let server = try MockServer(script: [.status(503), .ok("hello")])
/// let response = try await client.get(RequestTarget(server.url("/greeting")))
/// #expect(server.requests.map(\.target) == ["/greeting", "/greeting"])
/// ```
public final class MockServer: Sendable {
  /// How a server treats all its connections.
  public struct Options: Sendable {
    /// Whether request bodies are kept; otherwise they are only counted.
    ///
    /// The default is true.
    public var keepsBodies: Bool
    /// The most bytes kept of one body; what follows is only counted.
    ///
    /// The default is 64 MiB.
    public var maximumKeptBodyBytes: Int
    /// Whether `Expect: 100-continue` is answered with `100 Continue` before the body is read.
    ///
    /// The default is true (RFC 9110 §10.1.1).
    public var sendsContinue: Bool
    /// The plan for each connection, asked with its number, counted from 0.
    ///
    /// The default serves. The closure runs on the thread of the server and must not block.
    public var onConnect: @Sendable (Int) -> ConnectionPlan
    /// An answer given as soon as the head is read, or `nil` to read the body and answer as usual.
    ///
    /// The default is no closure. It runs on the thread of the server and must not block.
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

  /// The port the server listens on.
  public let port: Int
  let core: ServerCore

  init(options: Options, responder: Responder) throws {
    let core = try ServerCore(options: options, responder: responder)
    let listener = try Sockets.listen(backlog: 4096)
    self.core = core
    port = listener.port
    let thread = Thread {
      core.adoptThread()
      let loop = ServerLoop(core: core, listener: listener.socket)
      loop.run()
    }
    thread.name = "MockServer"
    thread.stackSize = 1 << 20
    thread.start()
  }

  deinit { stop() }

  /// Creates a server that answers from an asynchronous closure, called in a task for each request.
  ///
  /// The task is cancelled when the client goes away or the server stops.
  ///
  /// - Parameters:
  ///   - options: How connections are treated.
  ///   - responder: Returns the answer to a request whose body was read.
  /// - Throws: ``MockServerError`` if the system refuses a socket.
  public convenience init(
    options: Options = Options(), _ responder: @escaping @Sendable (RecordedRequest) async -> MockResponse
  ) throws {
    try self.init(options: options, responder: .concurrent(responder))
  }

  /// Creates a server that answers from a closure without waits.
  ///
  /// The closure is called on the thread of the server, which makes it fast; while it blocks, no connection is served.
  ///
  /// - Parameters:
  ///   - options: How connections are treated.
  ///   - responder: Returns the answer to a request whose body was read.
  /// - Throws: ``MockServerError`` if the system refuses a socket.
  public convenience init(
    options: Options = Options(), answering responder: @escaping @Sendable (RecordedRequest) -> MockResponse
  ) throws {
    try self.init(options: options, responder: .immediate(responder))
  }

  /// Creates a server that gives the same answer each time.
  ///
  /// - Parameters:
  ///   - fixed: The answer.
  ///   - options: How connections are treated.
  /// - Throws: ``MockServerError`` if the system refuses a socket.
  public convenience init(_ fixed: MockResponse, options: Options = Options()) throws {
    try self.init(options: options, responder: .fixed(fixed))
  }

  /// Creates a server that gives the n-th answer to the n-th request, on whatever connection it comes.
  ///
  /// - Parameters:
  ///   - script: The answers, at least one; the last repeats.
  ///   - options: How connections are treated.
  /// - Throws: ``MockServerError`` if the system refuses a socket.
  public convenience init(script: [MockResponse], options: Options = Options()) throws {
    precondition(!script.isEmpty, "A script needs at least one answer.")
    try self.init(options: options, responder: .script(script))
  }

  /// Creates a server with a script of its own for each connection.
  ///
  /// After the last answer of its script a connection is closed without announcing it.
  ///
  /// - Parameters:
  ///   - scripts: For the n-th connection its answers, at least one script; the last repeats.
  ///   - options: How connections are treated.
  /// - Throws: ``MockServerError`` if the system refuses a socket.
  public convenience init(connectionScripts scripts: [[MockResponse]], options: Options = Options()) throws {
    precondition(!scripts.isEmpty, "There has to be a script for the first connection.")
    try self.init(options: options, responder: .connections(scripts))
  }

  /// The address of the server, `http://127.0.0.1:` and the port, without a slash at the end.
  public var url: String { "http://127.0.0.1:\(port)" }

  /// The address of a path on the server, with a slash before the path if it has none.
  public func url(_ path: String) -> String {
    path.hasPrefix("/") ? url + path : url + "/" + path
  }

  /// Closes the listener and all connections, cancels the tasks of the responder and ends the thread.
  ///
  /// It returns when that is done, at the latest after a second; from then on connecting is refused. Calling it again
  /// does nothing. The records stay readable.
  public func stop() {
    core.stop()
    // A responder may stop its server: the loop then ends after this turn.
    guard !core.isOnLoopThread else { return }
    core.finished.wait(milliseconds: 1000)
  }

  /// Returns a port where connecting is refused: it was free a moment ago and nobody listens.
  ///
  /// It is none that a system gives out by itself, to a server or to a connection, so it stays free unless somebody asks
  /// for it by its number.
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

  /// Below those that Linux (32768 and up) and Apple's systems (49152 and up) give out.
  private static let unclaimedPorts = 12_000..<32_000
  /// Not the same ones for two processes.
  private static let nextPort = Atomic(UInt.random(in: 0..<20_000))
}
