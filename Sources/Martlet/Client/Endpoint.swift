public import MartletBase

/// An operation of an API as a type: its request and its output.
///
/// Only ``target`` is required if the output is `Decodable`, `Data`, `String` or `Void`.
///
/// ```swift
/// struct GetRepo: Endpoint {
///   typealias Output = Repo
///   var owner: String
///   var name: String
///   var target: RequestTarget { "/repos/\(owner)/\(name)" }
/// }
/// ```
/// ```swift
/// let repo = try await client.send(GetRepo(owner: "apple", name: "swift"))
/// ```
///
/// Put what the endpoints of an API share into a protocol that refines this one, with defaults in an extension; see
/// <doc:Endpoints>.
///
/// Implement a requirement that has a default with exactly its types and effects. The compiler accepts a `validate(_:)` that
/// is `async`, but that is another method, which is never called.
public protocol Endpoint: Sendable {
  /// The type of the result.
  associatedtype Output: Sendable

  /// The target of the request.
  var target: RequestTarget { get }
  /// The method; `GET` by default.
  var method: HTTPMethod { get }
  /// Query items; none by default.
  var query: Query { get }
  /// Header fields; none by default.
  var headers: HTTPHeaders { get }
  /// The body; none by default.
  var body: HTTPBody? { get }
  /// Options, between those of the scope and those of the call; all inherited by default.
  var options: RequestOptions { get }
  /// The decoder of a `Decodable` output; the client's if `nil`, the default.
  var decoder: JSONDecoder? { get }

  /// Makes the last changes to the request; an error that it throws ends the call before anything is sent.
  func prepare(_ request: inout HTTPRequest) throws

  /// Throws an error if an accepted response is nevertheless a failure.
  func validate(_ response: HTTPResponse) throws

  /// Creates the output from a response, off the caller's actor.
  func decode(_ response: HTTPResponse) throws -> Output

  /// Maps an error to another error or to an output; throws it unchanged by default.
  ///
  /// The request has failed even with an output: the state and the events of its handle report the error.
  func recover(from error: HTTPError) throws -> Output
}

extension Endpoint {
  public var method: HTTPMethod { .get }
  public var query: Query { [:] }
  public var headers: HTTPHeaders { [:] }
  public var body: HTTPBody? { nil }
  public var options: RequestOptions { RequestOptions() }
  public var decoder: JSONDecoder? { nil }
  public func prepare(_ request: inout HTTPRequest) {}
  public func validate(_ response: HTTPResponse) throws {}
  public func recover(from error: HTTPError) throws -> Output { throw error }

  /// The request that the endpoint describes.
  ///
  /// - Throws: The error of ``prepare(_:)``.
  public func request() throws -> HTTPRequest {
    var request = unprepared
    try prepare(&request)
    return request
  }

  /// The request before ``prepare(_:)``.
  var unprepared: HTTPRequest { HTTPRequest(method, target, query: query, headers: headers, body: body) }
}

extension Endpoint where Output: Decodable {
  /// Decodes the body as JSON, with ``decoder`` or the client's decoder.
  public func decode(_ response: HTTPResponse) throws -> Output {
    try response.json(Output.self, decoder: decoder)
  }
}

extension Endpoint where Output == Data {
  /// Returns the body unchanged.
  public func decode(_ response: HTTPResponse) throws -> Data { response.body }
}

extension Endpoint where Output == String {
  /// Returns the body as text.
  public func decode(_ response: HTTPResponse) throws -> String { response.text }
}

extension Endpoint where Output == Void {
  /// Returns nothing; an accepted response is enough.
  public func decode(_ response: HTTPResponse) throws {}
}

extension Endpoint where Output == HTTPResponse {
  /// Returns the response itself.
  public func decode(_ response: HTTPResponse) throws -> HTTPResponse { response }
}
