import Foundation
import Martlet

/// The environment of a conformance case: a client on the transport, and checks.
struct ConformanceBench: Sendable {
  /// The time within which a server must notice that a client has disconnected.
  static let promptly = Duration.seconds(20)

  let name: String
  /// A client without retries, redirects and status checks, so it hides nothing of the transport.
  let client: HTTPClient

  init(name: String, transport: any Transport) {
    self.name = name
    client = HTTPClient {
      $0 = HTTPClient.Configuration()
      // The transport itself must store nothing.
      $0.cache = .off
      $0.transport = transport
      $0.retry = .off
      $0.redirects = .off
      $0.cookies = .off
      $0.accepts = .any
      // Shorter than the case's limit, whose error contains less information.
      $0.options = $0.options.timeout(.seconds(25))
    }
  }

  /// The same client with the default retry for dead connections.
  var repeatingClient: HTTPClient { client.derived { $0.retry = .standard } }

  /// Runs the body of a case within its time limit.
  func run(_ body: @escaping @Sendable (ConformanceBench) async throws -> Void) async throws {
    let source = AbortSource()
    let limit = TransportConformance.timeLimit
    let timer = Task {
      guard (try? await Task.sleep(for: limit)) != nil else { return }
      source.abort(failure(expected: "an end within \(limit)", actual: "none"))
    }
    defer { timer.cancel() }
    try await withTaskCancellationHandler {
      try await withAbort(source) { try await body(self) }
    } onCancel: {
      source.abort(CancellationError())
    }
  }

  // MARK: Checks

  func failure(expected: String, actual: String) -> ConformanceFailure {
    ConformanceFailure(caseName: name, expected: expected, actual: actual)
  }

  func expect<T: Equatable>(_ subject: String, _ actual: T, is expected: T) throws {
    guard actual != expected else { return }
    throw failure(expected: "\(subject) is \(Self.show(expected))", actual: Self.show(actual))
  }

  func expect(_ claim: String, _ holds: Bool, actual: @autoclosure () -> String = "the contrary") throws {
    guard !holds else { return }
    throw failure(expected: claim, actual: actual())
  }

  private static func show(_ value: some Any) -> String {
    switch value {
    case let data as Data where data.count > 100: "\(data.count) bytes with the hash \(fnv(data))"
    case let data as Data: "\(data.count) bytes, \"\(String(decoding: data, as: UTF8.self))\""
    case let text as String: "\"\(text)\""
    default: String(describing: value)
    }
  }

  /// A hash that distinguishes bodies of the same length.
  private static func fnv(_ data: Data) -> String {
    String(data.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
  }

  // MARK: Exchanges

  /// Sends a request; an error fails the case.
  func send(_ request: HTTPRequest, with client: HTTPClient? = nil) async throws -> HTTPResponse {
    do {
      return try await (client ?? self.client).send(request)
    } catch let error as HTTPError {
      throw failure(expected: "a response", actual: "\(error)")
    }
  }

  /// Sends a request for a path; returns it as the server received it.
  func arrival(of request: HTTPRequest) async throws -> RecordedRequest {
    let server = try MockServer(.ok("done"))
    let client = client.derived { $0.baseURL = RequestTarget(server.url) }
    let response = try await send(request, with: client)
    try expect("the body", response.text, is: "done")
    try expect("malformed requests", server.malformed.map(\.reason), is: [])
    guard let arrived = server.requests.first, server.requests.count == 1 else {
      throw failure(expected: "one request", actual: "\(server.requests.count)")
    }
    return arrived
  }

  /// Starts a server with one response, and requests it once.
  func answer(to method: HTTPMethod = .get, _ response: MockResponse) async throws -> HTTPResponse {
    let server = try MockServer(response)
    let received = try await send(HTTPRequest(method, RequestTarget(server.url("/"))))
    try expect("the number of requests", server.requests.count, is: 1)
    return received
  }

  /// Fails unless the response has this status and this text.
  func expect(_ response: HTTPResponse, _ status: HTTPStatus, _ text: String, for detail: String = "") throws {
    try expect("the status\(detail)", response.status, is: status)
    try expect("the body\(detail)", response.text, is: text)
  }

  /// Fails unless a server notices that its last client has disconnected.
  func expectClosed(_ server: MockServer) async throws {
    let hasClosed = await server.waitForOpenConnections(atMost: 0, timeout: Self.promptly)
    try expect("the connection is closed within \(Self.promptly)", hasClosed)
  }

  /// Starts a server that sends the text unchanged and closes, and sends it one request.
  func answer(_ text: String) async throws -> HTTPResponse { try await answer(.raw(text)) }

  /// Fails unless a `GET` of the response ends with an error or a body that was sent.
  ///
  /// If `whole` is true, the beginning of the body is not enough.
  func expectErrorOrBody(of sent: Data, whole: Bool = false, from response: MockResponse) async throws {
    let outcome = try await outcome(of: response)
    guard case .success(let received) = outcome else {
      return try expectError([.connectionLost, .protocolViolation, .bodyTooLarge], in: outcome)
    }
    let isFine = whole ? received.body == sent : sent.starts(with: received.body)
    try expect(
      "an error, or \(whole ? "all" : "a beginning") of the \(sent.count) bytes sent", isFine,
      actual: Self.show(received.body))
  }

  /// Fails unless the result is one of these error kinds.
  func expectError(_ kinds: [HTTPError.Kind], in outcome: Result<HTTPResponse, HTTPError>) throws {
    let expected = "an HTTPError of kind " + kinds.map(\.description).joined(separator: " or ")
    switch outcome {
    case .failure(let error): try expect(expected, kinds.contains(error.kind), actual: "\(error)")
    case .success(let response):
      throw failure(expected: expected, actual: "\(response.status.rawValue) with \(response.body.count) bytes")
    }
  }

  /// Sends a request and returns its result; errors other than `HTTPError` fail the case.
  func outcome(
    of request: HTTPRequest, with client: HTTPClient? = nil
  ) async throws -> Result<HTTPResponse, HTTPError> {
    do {
      return .success(try await (client ?? self.client).send(request))
    } catch let error as HTTPError {
      return .failure(error)
    } catch {
      try Task.checkCancellation()
      throw failure(expected: "a response or an HTTPError", actual: "\(error)")
    }
  }

  func outcome(of response: MockResponse) async throws -> Result<HTTPResponse, HTTPError> {
    let server = try MockServer(response)
    return try await outcome(of: .get(RequestTarget(server.url("/"))))
  }

  // MARK: Material

  /// The status line of handwritten responses.
  static let ok = "HTTP/1.1 200 OK\r\n"

  /// 1 MiB and a few bytes, so it is not a multiple of any buffer's size.
  static let megabyte = bytes((1 << 20) + 7)

  /// Returns bytes that reveal a lost, repeated or moved chunk.
  static func bytes(_ count: Int) -> Data {
    // 251 is prime, so no buffer's size is a multiple of it.
    let block = Data((0..<251).map { UInt8($0) })
    var data = Data(capacity: count + block.count)
    while data.count < count { data.append(block) }
    return data.prefix(count)
  }
}
