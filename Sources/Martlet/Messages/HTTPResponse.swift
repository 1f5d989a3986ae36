public import MartletBase

/// A complete response.
public struct HTTPResponse: Sendable {
  /// Where a response came from.
  @nonexhaustive public enum Source: Sendable, Hashable {
    /// The server.
    case network
    /// A stored response that was still fresh.
    case cache
    /// A stored response that the server confirmed.
    case revalidated
    /// A stored response used instead of a failure: no connection, a timeout or a 5xx status (RFC 5861 §4).
    case fallback
  }

  private var head: Boxed<ResponseHead>

  /// The body, decoded from its content coding.
  public var body: Data

  /// Whether ``body`` was truncated to ``RequestOptions/maximumErrorBodyBytes``.
  ///
  /// This happens only to unaccepted responses and to redirects.
  public internal(set) var isBodyTruncated: Bool {
    get { head.value.isBodyTruncated }
    _modify { yield &head.value.isBodyTruncated }
  }

  /// The original request, with its absolute URL.
  public var request: HTTPRequest

  /// The status code (RFC 9110 §15).
  public var status: HTTPStatus {
    get { head.value.status }
    _modify { yield &head.value.status }
  }

  /// The header fields.
  ///
  /// Iterate over them to read all fields: `for field in response.headers { print(field.name, field.value) }`. Their
  /// order, repetition and spelling are the server's, as far as the transport preserves them. If the body was
  /// decoded (`Content-Encoding`), the fields that described its encoded form are removed.
  public var headers: HTTPHeaders {
    get { head.value.headers }
    _modify { yield &head.value.headers }
  }

  /// The trailer fields after the body (RFC 9110 §6.5); empty if there are none.
  ///
  /// They are never merged into ``headers``. Fields that must not be trailers (framing, routing, request modifiers,
  /// authentication, content format; §6.5.1) are dropped. Only the Linux engine supports trailers; the system's
  /// `URLSession` does not. Over HTTP/2, a response with a `Content-Length` has none. A cache stores none
  /// (RFC 9111 §3).
  public var trailers: HTTPHeaders {
    get { head.value.trailers.fields }
    set { head.value.trailers = .fields(newValue) }
  }

  /// The reason phrase, or `nil` if the transport does not report it.
  public var reasonPhrase: String? {
    get { head.value.reasonPhrase }
    _modify { yield &head.value.reasonPhrase }
  }

  /// The protocol version, such as `1.1` or `2`, or `nil` if the transport does not report it.
  public var httpVersion: HTTPVersion? {
    get { head.value.httpVersion }
    _modify { yield &head.value.httpVersion }
  }

  /// The response's connection, or `nil` if the transport does not report it.
  public var connection: HTTPResponse.Connection? {
    get { head.value.connection }
    _modify { yield &head.value.connection }
  }

  /// Whether the body had a content coding, which was decoded (RFC 9110 §8.4).
  ///
  /// If so, `Content-Encoding` and `Content-Length` are removed from ``headers``. `false` for a stored response.
  public var wasCompressed: Bool { head.value.wasCompressed }

  /// The source of the response.
  public var source: Source {
    get { head.value.source }
    _modify { yield &head.value.source }
  }

  /// The cache's decision and its reason, in plain English; `nil` if no cache was consulted.
  public var cacheExplanation: String? { head.value.cacheReason?.statement }

  /// The cache file that contains the body, or `nil`.
  ///
  /// Set if the response came from a cache on disk and its body is larger than 1 MiB. The file belongs to the cache: do
  /// not change it, and expect it to be removed at any time. A hard link to it (`link`) takes no space and remains.
  public var bodyFile: URL? { head.value.bodyFile }

  /// The failure that the stored response replaces, if ``source`` is ``HTTPResponse/Source/fallback``.
  public var fallbackReason: HTTPError? { head.value.fallbackReason }

  /// The redirects followed, in order.
  public var redirects: [HTTPResponse.Redirect] {
    get { head.value.redirects }
    _modify { yield &head.value.redirects }
  }

  /// The attempts at the last request after redirects, including the successful one.
  public var attempts: [HTTPResponse.Attempt] {
    get { head.value.attempts }
    _modify { yield &head.value.attempts }
  }

  /// The decisions about the request, with their reasons.
  ///
  /// All of them with ``RequestOptions/explains``; otherwise those that go beyond sending the request once.
  public internal(set) var explanation: Explanation {
    get { head.value.explanation }
    _modify { yield &head.value.explanation }
  }

  /// The timing of the call.
  public var timing: HTTPResponse.Timing {
    get { head.value.timing }
    _modify { yield &head.value.timing }
  }

  /// The request as it was last sent, after redirects, with everything that middleware added.
  public var finalRequest: HTTPRequest {
    get { head.value.request }
    _modify { yield &head.value.request }
  }

  /// A one-line note if ``text`` could not use the declared `charset` or has replaced octets, or `nil`.
  ///
  /// With an unknown character set, ``text`` is decoded as UTF-8, otherwise as ISO-8859-1.
  public var textDecodingWarning: String? { decodedText.note }

  /// The client's coders, or `nil` for a response without a client.
  var coders: JSONCoders?

  /// Creates a response, for stubs and tests.
  ///
  /// - Parameters:
  ///   - status: The status.
  ///   - headers: The header fields.
  ///   - body: The body.
  ///   - request: The request of the response.
  public init(
    status: HTTPStatus, headers: HTTPHeaders = [:], body: Data = Data(),
    request: HTTPRequest = .get("http://localhost/")
  ) {
    head = Boxed(ResponseHead(status: status, headers: headers, request: request))
    self.body = body
    self.request = request
  }

  init(_ head: Boxed<ResponseHead>, _ body: Data, asked: HTTPRequest, _ coders: JSONCoders?) {
    self.head = head
    self.body = body
    request = asked
    self.coders = coders
  }

  /// The URL of the response, after redirects.
  ///
  /// It is always absolute. The relative target of a response made for a test is resolved against `http://localhost/`.
  public var url: URL { finalRequest.url ?? finalRequest.localURL }

  /// The media type of the body, or `nil` if it is missing or malformed.
  public var contentType: MediaType? { headers["Content-Type"].flatMap { MediaType($0) } }

  /// A safe filename for the body, as suggested by the server.
  ///
  /// It comes from `Content-Disposition` (RFC 6266, `filename*` before `filename`), otherwise from the last path
  /// component of the URL; `nil` if neither contains one. It is a single path component of at most 255 bytes of UTF-8,
  /// including its extension. It contains no separators (`/`, `\`), no control or invisible characters, no dots or
  /// spaces at either end, and no characters or names that Windows forbids. It therefore never points outside its
  /// folder, but a file with that name may exist, and the server chooses the extension.
  public var suggestedFilename: String? { SafeFilename.suggested(by: headers, for: finalRequest.absoluteURL) }

  /// The body as text.
  ///
  /// It is decoded using the `charset` of `Content-Type`, otherwise a byte order mark, otherwise UTF-8. In UTF-8, U+FFFD
  /// replaces invalid octets, as in the WHATWG Encoding standard. A body that is not valid in another declared `charset`
  /// is decoded as UTF-8 if it is valid, otherwise as ISO-8859-1, which never fails. ``textDecodingWarning`` reports both.
  ///
  /// For a truncated body (``isBodyTruncated``), the incomplete last character is left out.
  public var text: String { decodedText.text }

  private var decodedText: (text: String, encodingName: String, note: String?) {
    TextDecoding.decode(body, contentType: contentType, isTruncated: isBodyTruncated)
  }

  /// Decodes the body as JSON (RFC 8259).
  ///
  /// Neither a time limit nor a cancellation ends the decoding, so limit the size: <doc:JSON>.
  ///
  /// An empty body, such as that of a `204`, is `nil` for an optional type, and an error for others.
  ///
  /// - Parameters:
  ///   - type: The type to decode; an optional type if the body may be empty.
  ///   - decoder: The decoder; by default the client's.
  /// - Returns: The value.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/decoding``, naming the location in the document.
  public func json<T: Decodable>(_ type: T.Type = T.self, decoder: JSONDecoder? = nil) throws -> T {
    let document = body.isEmpty && type is any OptionalType.Type ? Data("null".utf8) : body
    do {
      return try DecodingProblem.decode(type, from: document, with: decoder ?? coders?.decoder ?? JSONDecoder())
    } catch {
      let cause = DecodingProblem.cause(in: body) ?? DecodingProblem.describe(error, in: body)
      throw HTTPError(
        .decoding, "the body cannot be decoded as \(T.self): \(cause)",
        request: finalRequest, response: self, underlying: error)
    }
  }
}

/// A type with a value for a missing document.
private protocol OptionalType {}

extension Optional: OptionalType {}

enum DecodingProblem {
  /// Describes a body that is empty, HTML or XML; `nil` for others.
  static func cause(in body: Data) -> String? {
    let first = body.first { ![0x09, 0x0A, 0x0D, 0x20].contains($0) }
    guard let first else { return "it is empty" }
    return first == UInt8(ascii: "<") ? "it is HTML or XML, such as a proxy or sign-in page" : nil
  }

  /// Decodes JSON; each ``JSONValue`` comes from our own parser, whose time is bounded.
  static func decode<T: Decodable>(_ type: T.Type, from data: Data, with decoder: JSONDecoder) throws -> T {
    if type == JSONValue.self, let value = try JSONParser.value(of: data) as? T { return value }
    return try JSONDocument.decode(type, from: data, with: decoder)
  }

  /// Describes a decoding error on one line.
  ///
  /// The line contains the coding path, but no part of the document.
  static func describe(_ error: any Error, in document: Data) -> String {
    if let problem = error as? JSONParser.Problem { return problem.message }
    guard let error = error as? DecodingError else {
      return InvalidInput.printable(String(describing: type(of: error)))
    }
    switch error {
    case .keyNotFound(let key, let context):
      return "no value for '\(InvalidInput.printable(key.stringValue))' at \(place(context.codingPath))"
    case .typeMismatch(let type, let context): return "expected \(type) at \(place(context.codingPath))"
    case .valueNotFound(let type, let context): return "expected \(type) at \(place(context.codingPath)), found null"
    case .dataCorrupted(let context):
      if let problem = context.underlyingError as? JSONMisfit {
        return "malformed at \(place(context.codingPath)): \(problem.message)"
      }
      guard context.codingPath.isEmpty, context.debugDescription.hasPrefix("The given data was not valid JSON") else {
        return "malformed at \(place(context.codingPath))"
      }
      return malformation(of: document)
    @unknown default: return "malformed"
    }
  }

  /// Distinguishes a malformed document from one with a number that does not fit its type; Foundation does not.
  private static func malformation(of document: Data) -> String {
    func misfit(isLenient: Bool) throws(JSONParser.Problem) -> String? {
      let maximumDepth = JSONProbe.maximumDepth + JSONParser.maximumDepth
      let text = Data(JSONIndex.utf8(document))
      let root: JSONNode = try JSONParser.tree(of: text, isLenient: isLenient, maximumDepth: maximumDepth)
      return root.reversedPathOfLargeNumber.map {
        "a number does not fit its type: the first that Int cannot hold is at \(place($0.reversed()))"
      }
    }
    do throws(JSONParser.Problem) {
      return try misfit(isLenient: false) ?? "a number does not fit its type: each fits Int"
    } catch {
      let malformed = "malformed: \(error.message)"
      // A malformed string fails only a model that reads the string, so a number can be the reason.
      guard let number = try? misfit(isLenient: true) else { return malformed }
      return "\(malformed), or \(number)"
    }
  }

  /// Describes a place in a document, for errors of decoding and encoding.
  static func place(_ codingPath: [any CodingKey]) -> String {
    let keys = codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
    return keys.isEmpty ? "the top level" : InvalidInput.printable(keys)
  }
}
