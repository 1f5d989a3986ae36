import Foundation
import Martlet

/// What a conformance case works with: a client on the transport under test, and checks that say what is wrong.
struct ConformanceBench: Sendable {
  /// How soon a server has to see that a client gave up.
  static let promptly = Duration.seconds(20)

  let name: String
  /// Repeats nothing, follows nothing and accepts every status, so that the transport's own doing shows.
  let client: HTTPClient

  init(name: String, transport: any Transport) {
    self.name = name
    client = HTTPClient {
      $0 = HTTPClient.Configuration()
      // It is the transport that must store nothing.
      $0.cache = .off
      $0.transport = transport
      $0.retry = .off
      $0.redirects = .off
      $0.cookies = .off
      $0.accepts = .any
      // Shorter than the limit of the case, whose error says less.
      $0.options = $0.options.timeout(.seconds(25))
    }
  }

  /// The same client with the one repetition that clients make by default when a connection turns out dead.
  var repeatingClient: HTTPClient { client.derived { $0.retry = .standard } }

  /// Runs the body of a case within its time limit.
  func run(_ body: @escaping @Sendable (ConformanceBench) async throws -> Void) async throws {
    let source = AbortSource()
    let limit = TransportConformance.timeLimit
    let timer = Task {
      guard (try? await Task.sleep(for: limit)) != nil else { return }
      source.abort(failure(expected: "an end within \(limit)", got: "none"))
    }
    defer { timer.cancel() }
    try await withTaskCancellationHandler {
      try await withAbort(source) { try await body(self) }
    } onCancel: {
      source.abort(CancellationError())
    }
  }

  // MARK: Checks

  func failure(expected: String, got: String) -> ConformanceFailure {
    ConformanceFailure(caseName: name, expected: expected, got: got)
  }

  func expect<T: Equatable>(_ subject: String, _ got: T, is expected: T) throws {
    guard got != expected else { return }
    throw failure(expected: "\(subject) is \(Self.show(expected))", got: Self.show(got))
  }

  func expect(_ claim: String, _ holds: Bool, got: @autoclosure () -> String = "the contrary") throws {
    guard !holds else { return }
    throw failure(expected: claim, got: got())
  }

  private static func show(_ value: some Any) -> String {
    switch value {
    case let data as Data where data.count > 100: "\(data.count) bytes with the hash \(fnv(data))"
    case let data as Data: "\(data.count) bytes, \"\(String(decoding: data, as: UTF8.self))\""
    case let text as String: "\"\(text)\""
    default: String(describing: value)
    }
  }

  /// Tells apart two bodies of the same length.
  private static func fnv(_ data: Data) -> String {
    String(data.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
  }

  // MARK: Exchanges

  /// Sends a request and reports an error as a failure of the case.
  func send(_ request: HTTPRequest, with client: HTTPClient? = nil) async throws -> HTTPResponse {
    do {
      return try await (client ?? self.client).send(request)
    } catch let error as HTTPError {
      throw failure(expected: "a response", got: "\(error)")
    }
  }

  /// Starts a server with one answer, and asks for it once.
  func answer(to method: HTTPMethod = .get, _ response: MockResponse) async throws -> HTTPResponse {
    let server = try MockServer(response)
    let received = try await send(HTTPRequest(method, RequestTarget(server.url("/"))))
    try expect("the number of requests", server.requests.count, is: 1)
    return received
  }

  /// Starts a server that plays the text as it is and then closes, and asks it once.
  func answer(_ text: String) async throws -> HTTPResponse { try await answer(.raw(text)) }

  /// Fails unless a `GET` of the answer ends with one of these kinds of error.
  func expect(_ kinds: HTTPError.Kind..., from response: MockResponse) async throws {
    try expectError(kinds, in: await outcome(of: response))
  }

  /// Fails unless a `GET` of the answer ends with an error, or with a body the server has really sent.
  ///
  /// `whole` says whether a beginning of it is not enough.
  func expectErrorOrBody(of sent: Data, whole: Bool = false, from response: MockResponse) async throws {
    let outcome = try await outcome(of: response)
    guard case .success(let received) = outcome else {
      return try expectError([.connectionLost, .protocolViolation, .bodyTooLarge], in: outcome)
    }
    let isFine = whole ? received.body == sent : sent.starts(with: received.body)
    try expect(
      "an error, or \(whole ? "all" : "a beginning") of the \(sent.count) bytes sent", isFine,
      got: Self.show(received.body))
  }

  /// Fails unless the result is one of these kinds of error.
  func expectError(_ kinds: [HTTPError.Kind], in outcome: Result<HTTPResponse, HTTPError>) throws {
    let expected = "an HTTPError of kind " + kinds.map(\.description).joined(separator: " or ")
    switch outcome {
    case .failure(let error): try expect(expected, kinds.contains(error.kind), got: "\(error)")
    case .success(let response):
      throw failure(expected: expected, got: "\(response.status.rawValue) with \(response.body.count) bytes")
    }
  }

  /// Sends a request and returns what it came to; errors that are not ours fail the case.
  func outcome(
    of request: HTTPRequest, with client: HTTPClient? = nil
  ) async throws -> Result<HTTPResponse, HTTPError> {
    do {
      return .success(try await (client ?? self.client).send(request))
    } catch let error as HTTPError {
      return .failure(error)
    } catch {
      try Task.checkCancellation()
      throw failure(expected: "a response or an HTTPError", got: "\(error)")
    }
  }

  private func outcome(of response: MockResponse) async throws -> Result<HTTPResponse, HTTPError> {
    let server = try MockServer(response)
    return try await outcome(of: .get(RequestTarget(server.url("/"))))
  }

  // MARK: Material

  /// The beginning of every answer written out by hand.
  static let ok = "HTTP/1.1 200 OK\r\n"

  /// 1 MiB and a few bytes, so that no buffer's size divides it.
  static let megabyte = bytes((1 << 20) + 7)

  /// Bytes that show a lost, repeated or moved piece, in any number.
  static func bytes(_ count: Int) -> Data {
    // 251 is prime: no buffer's size is a multiple of it.
    let block = Data((0..<251).map { UInt8($0) })
    var data = Data(capacity: count + block.count)
    while data.count < count { data.append(block) }
    return data.prefix(count)
  }
}
