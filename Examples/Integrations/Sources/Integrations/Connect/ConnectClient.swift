public import Foundation
public import Martlet

/// Calls RPCs of a service that speaks the Connect protocol (connectrpc.com, version 1).
///
/// ```swift
/// let greeter = ConnectClient(client, baseURL: url)
/// let reply = try await greeter.unary("greet.v1.GreetService/Greet", Data(#"{"name": "Ada"}"#.utf8))
/// ```
///
/// Messages are bytes: JSON, or Protobuf with the codec `proto`. The client's policies apply. The deadline of the task
/// and the total limit of the request, which is two minutes by default for unary RPCs, are sent as `Connect-Timeout-Ms`,
/// less what earlier attempts took. Values of binary metadata, whose names end with `-bin`, are base64. Streams are not
/// compressed. Sending and receiving at the same time works over HTTP/1.1 if the server supports it.
///
/// An RPC fails with a `ConnectError` if the server responds, and otherwise with the `HTTPError` or `CancellationError` of
/// the client; `ConnectError.Code` converts all of them.
public struct ConnectClient: Sendable {
  /// The format of messages.
  public struct Codec: Sendable, Hashable {
    /// The name in media types, such as `json`.
    public let name: String

    /// Creates a codec from its name in media types.
    public init(name: String) { self.name = name }

    /// JSON.
    public static let json = Codec(name: "json")
    /// Protobuf's binary format.
    public static let proto = Codec(name: "proto")
  }

  /// The response of an RPC that has a single response message.
  public struct Response: Sendable {
    /// The message.
    public var message: Data
    /// The header fields.
    public var headers: HTTPHeaders
    /// The trailing metadata.
    public var trailers: HTTPHeaders
  }

  /// The client that sends the RPCs; it shares the connections of the client that was passed.
  public let client: HTTPClient
  /// The format of messages.
  public let codec: Codec
  /// The maximum number of bytes of a received message; 4 MiB by default.
  public var maximumMessageBytes = 4 << 20
  /// The maximum number of bytes of the URL of a `GET`; 8 KiB by default.
  ///
  /// A longer request is a `POST`.
  public var maximumURLBytes = 8 << 10
  private let root: String

  /// Creates a client for the services below a URL.
  ///
  /// - Parameters:
  ///   - client: The client, whose current configuration is copied.
  ///   - baseURL: The URL before the name of a service.
  ///   - codec: The format of messages; JSON by default.
  public init(_ client: HTTPClient = .shared, baseURL: URL, codec: Codec = .json) {
    let text = baseURL.absoluteString
    root = text.hasSuffix("/") ? String(text.dropLast()) : text
    // An origin has neither userinfo nor a path.
    let parts = text.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true)
    let authority = (parts.dropFirst().first ?? "").split(separator: "@").last ?? ""
    self.client = client.derived {
      $0.deadlineHeader = .milliseconds("Connect-Timeout-Ms", to: ["\(parts.first ?? "")//\(authority)"])
    }
    self.codec = codec
  }

  /// Calls an RPC with one request message and one response message.
  ///
  /// - Parameters:
  ///   - procedure: The names of service and method, such as `greet.v1.GreetService/Greet`.
  ///   - message: The request message.
  ///   - headers: Leading metadata.
  ///   - isSideEffectFree: Whether the method is declared with `NO_SIDE_EFFECTS`. The request is then a `GET`, which
  ///     caches store, or a `POST` that may be retried if its URL would be too long.
  ///   - options: Per-request options.
  /// - Returns: The response.
  /// - Throws: `ConnectError`, `HTTPError` or `CancellationError`.
  public func unary(
    _ procedure: String, _ message: Data, headers: HTTPHeaders = [:], isSideEffectFree: Bool = false,
    options: RequestOptions = RequestOptions()
  ) async throws -> Response {
    let mediaType = "application/\(codec.name)"
    var options = options.accepts(.any).maximumBodyBytes(maximumMessageBytes)
    if isSideEffectFree { options.isIdempotent = true }
    let get = isSideEffectFree ? try get(procedure, message, headers) : nil
    let request = try get ?? post(procedure, .data(message, contentType: nil), headers, mediaType)
    let response: HTTPResponse
    do {
      response = try await client.send(request, options: options)
    } catch let error as HTTPError where error.kind == .bodyTooLarge {
      throw ConnectError(.resourceExhausted, "the response has more than \(maximumMessageBytes) bytes")
    }
    let prefix = "trailer-"
    let isTrailer: (HTTPHeaders.Field) -> Bool = { $0.name.lowercased().hasPrefix(prefix) }
    let leading = HTTPHeaders(response.headers.filter { !isTrailer($0) })
    let trailers = HTTPHeaders(
      response.headers.filter(isTrailer).map {
        HTTPHeaders.Field(name: String($0.name.dropFirst(prefix.count)), octets: $0.octets)
      })
    if var error = Self.problem(response.status, response.headers, mediaType, response.body) {
      (error.headers, error.trailers) = (leading, trailers)
      throw error
    }
    return Response(message: response.body, headers: leading, trailers: trailers)
  }

  /// Calls an RPC with one request message and a stream of response messages.
  ///
  /// - Parameters:
  ///   - procedure: The names of service and method.
  ///   - message: The request message.
  ///   - headers: Leading metadata.
  ///   - options: Per-request options.
  /// - Returns: The response messages. Without a total limit or a deadline, the stream may be endless.
  /// - Throws: `ConnectError`, `HTTPError` or `CancellationError`.
  public func serverStream(
    _ procedure: String, _ message: Data, headers: HTTPHeaders = [:], options: RequestOptions = RequestOptions()
  ) async throws -> ConnectStream {
    try await stream(procedure, .data(ConnectEnvelopes.envelope(message), contentType: nil), headers, options)
  }

  /// Calls an RPC with a stream of request messages and one response message.
  ///
  /// - Parameters:
  ///   - procedure: The names of service and method.
  ///   - messages: The request messages, read no faster than the server accepts them. The RPC is never repeated.
  ///   - headers: Leading metadata.
  ///   - options: Per-request options.
  /// - Returns: The response.
  /// - Throws: `ConnectError`, `HTTPError`, `CancellationError`, or the error of `messages`.
  public func clientStream<Messages: AsyncSequence & Sendable>(
    _ procedure: String, _ messages: Messages, headers: HTTPHeaders = [:], options: RequestOptions = RequestOptions()
  ) async throws -> Response where Messages.Element == Data {
    let responses = try await bidirectionalStream(procedure, messages, headers: headers, options: options)
    var message: Data?
    for try await next in responses {
      guard message == nil else { throw ConnectError(.unimplemented, "the response has more than one message") }
      message = next
    }
    guard let message else { throw ConnectError(.unimplemented, "the response has no message") }
    return Response(message: message, headers: responses.headers, trailers: responses.trailers)
  }

  /// Calls an RPC with streams of messages in both directions.
  ///
  /// - Parameters:
  ///   - procedure: The names of service and method.
  ///   - messages: The request messages, as for `clientStream(_:_:headers:options:)`.
  ///   - headers: Leading metadata.
  ///   - options: Per-request options.
  /// - Returns: The response messages, which arrive while the request messages are sent.
  /// - Throws: `ConnectError`, `HTTPError`, `CancellationError`, or the error of `messages`.
  public func bidirectionalStream<Messages: AsyncSequence & Sendable>(
    _ procedure: String, _ messages: Messages, headers: HTTPHeaders = [:], options: RequestOptions = RequestOptions()
  ) async throws -> ConnectStream where Messages.Element == Data {
    let envelopes = messages.map { try ConnectEnvelopes.envelope($0) }
    return try await stream(procedure, .stream(envelopes, contentType: nil), headers, options)
  }

  private func stream(
    _ procedure: String, _ body: HTTPBody, _ headers: HTTPHeaders, _ options: RequestOptions
  ) async throws -> ConnectStream {
    let mediaType = "application/connect+\(codec.name)"
    let response = try await client.stream(
      try post(procedure, body, headers, mediaType), options: options.accepts(.any))
    var body = Data()
    if response.status != .ok {
      // The status has a code, even if the body cannot be read.
      body = (try? await response.body.collect(upTo: maximumMessageBytes)) ?? body
      try Task.checkCancellation()
    }
    if var error = Self.problem(response.status, response.headers, mediaType, body) {
      error.headers = response.headers
      throw error
    }
    return ConnectStream(response, maximumMessageBytes)
  }

  private func target(_ procedure: String) throws -> RequestTarget {
    guard !root.contains(where: { "?#".contains($0) }) else {
      throw HTTPError(.invalidRequest, "the base URL of RPCs has a query or a fragment: remove it")
    }
    return "\(raw: root)/\(path: procedure)"
  }

  private func post(
    _ procedure: String, _ body: HTTPBody, _ headers: HTTPHeaders, _ mediaType: String
  ) throws -> HTTPRequest {
    let own: HTTPHeaders = ["Content-Type": mediaType, "Connect-Protocol-Version": "1"]
    return .post(try target(procedure), headers: headers.replacing(with: own), body: body)
  }

  /// The request as a `GET`, whose parameters have the recommended order; `nil` if its URL would be too long.
  private func get(_ procedure: String, _ message: Data, _ headers: HTTPHeaders) throws -> HTTPRequest? {
    var query: Query = ["connect": "v1"]
    var text = codec == .json ? String(validating: message, as: UTF8.self) : nil
    if text == nil {
      query.append("base64", 1)
      text = message.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
    query.append("encoding", codec.name)
    query.append("message", text)
    let request = HTTPRequest.get(try target(procedure), query: query, headers: headers)
    return (request.url?.absoluteString.utf8.count ?? 0) > maximumURLBytes ? nil : request
  }

  /// The error of a response that is not a success.
  private static func problem(
    _ status: HTTPStatus, _ headers: HTTPHeaders, _ mediaType: String, _ body: Data
  ) -> ConnectError? {
    let type = headers["Content-Type"].flatMap { MediaType($0) }?.essence ?? ""
    guard status == .ok else {
      let json = type == "application/json" ? try? JSONValue(parsing: body) : nil
      return ConnectError(json ?? .null, otherwise: ConnectError.Code(status: status))
    }
    guard type == mediaType else {
      let isOther = type.hasPrefix(mediaType.contains("+") ? "application/connect+" : "application/")
      return ConnectError(isOther ? .internal : .unknown, "the response has the type '\(type)', not '\(mediaType)'")
    }
    // The client decodes the codings that it accepts, and removes their names.
    guard headers["Content-Encoding"] ?? "identity" == "identity" else {
      return ConnectError(.internal, "the response has an unknown content coding")
    }
    return nil
  }
}
