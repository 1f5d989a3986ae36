#if canImport(Darwin) || URLSession
  import MartletBase
  import Foundation

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// A request in a session's form.
  struct URLSessionWire: Sendable {
    let request: HTTPRequest
    let origin: Origin
    /// The body, unless it is empty.
    let upload: UploadSource?
    /// The messages of the protocol that the request asks for.
    let messages: MessageUpgrade?
    private let url: URL
    private let fields: [String: String]

    var method: HTTPMethod { request.method }

    /// Whether a response could be a proxy's to CONNECT instead of the server's.
    var mayMeetProxyResponse: Bool {
      #if os(Linux)
        origin.scheme == "https" && ConnectionProbe.hasProxy
      #else
        false
      #endif
    }

    /// Checks that a session can send the request.
    ///
    /// Throws ``HTTPError/Kind/unsupported``, or the problem of the body. `isIdempotent` is the option of the call, if
    /// set. With `messages`, the request opens a WebSocket.
    init(_ request: HTTPRequest, isIdempotent: Bool? = nil, messages: MessageUpgrade? = nil) throws {
      do {
        guard let target = request.absoluteURL else { throw InvalidInput("\(request.target) is not a complete URL") }
        let content = try Self.content(of: request)
        let length = try content?.check() ?? 0
        self.request = request
        self.messages = messages
        origin = target.origin
        url = messages == nil ? target.url : Self.webSocketURL(target.url)
        upload = content.flatMap { content in
          length > 0 ? UploadSource(content, length: length, mayRepeat: isIdempotent ?? request.isIdempotent) : nil
        }
        fields = Self.fields(of: messages == nil ? request : Self.withoutKey(request), length: length)
        try checkSupport(host: target.host)
      } catch {
        throw RequestGate.problem(error, of: request)
      }
    }

    /// The body as a file or as bytes in memory, which a session can send.
    private static func content(of request: HTTPRequest) throws -> HTTPBody.Content? {
      guard let content = request.body?.content else { return nil }
      switch content {
      case .data, .file, .invalid: return content
      case .stream, .pieces, .compressed, .spool, .json:
        // The problem of a part takes precedence.
        _ = try content.check()
        guard let data = try content.gathered() else { throw refusal(of: request) }
        return .data(data)
      }
    }

    /// The system's loader reads a stream on its own thread, and cannot wait for its bytes.
    private static func refusal(of request: HTTPRequest) -> HTTPError {
      #if os(Linux)
        let lanes = "use .curl, or .urlSession with its default loader"
      #else
        let lanes = "others are supported only on Linux, by .curl and .urlSession"
      #endif
      let what = "the system's loader sends only bodies in memory and single files"
      return HTTPError(.unsupported, "\(what); \(lanes)", request: request)
    }

    /// The URL with the scheme `ws` or `wss`, which sessions require.
    private static func webSocketURL(_ url: URL) -> URL {
      URL(string: "ws" + url.absoluteString.dropFirst("http".count)) ?? url
    }

    /// The request without the fields that a WebSocket task adds.
    private static func withoutKey(_ request: HTTPRequest) -> HTTPRequest {
      var request = request
      for name in ["Sec-WebSocket-Key", "Sec-WebSocket-Version"] { request.headers.remove(name) }
      return request
    }

    private func checkSupport(host: String) throws {
      if upload != nil && method == .get { throw unsupported("URLSession cannot send a GET with a body") }
      if request.body?.trailers != nil || request.headers.contains("TE") {
        throw unsupported("the system's loader does not support trailers; on Linux, use .curl or .urlSession")
      }
      if request.headers.contains("Proxy-Authorization") {
        throw HTTPError(
          .invalidRequest,
          "the header 'Proxy-Authorization' would reach \(origin.host): the loader has no proxy for it",
          request: request)
      }
      #if !canImport(FoundationNetworking)
        if request.headers.contains("Connection") {
          throw unsupported("URLSession keeps its connections: it does not send 'Connection: close'")
        }
      #endif
      var probe = URLRequest(url: url)
      probe.httpMethod = method.rawValue
      guard probe.httpMethod == method.rawValue else {
        // Methods are case-sensitive (RFC 9110 §9.1), but not in `URLRequest`.
        throw unsupported("URLSession would send the method '\(method.rawValue)' as '\(probe.httpMethod ?? "GET")'")
      }
      #if canImport(FoundationNetworking)
        if host.hasPrefix("[") {
          throw unsupported("URLSession on Linux cannot connect to the IPv6 literal \(host); use a name")
        }
      #endif
    }

    private func unsupported(_ message: String) -> HTTPError { HTTPError(.unsupported, message, request: request) }

    /// The request for a task, with its own body stream.
    func urlRequest() -> URLRequest {
      var result = URLRequest(url: url)
      result.httpMethod = method.rawValue
      result.timeoutInterval = 1e6
      // Other ways to set fields change the case of their names.
      result.allHTTPHeaderFields = fields
      if let upload { result.httpBodyStream = upload.stream() }
      return result
    }

    private static func fields(of request: HTTPRequest, length: Int64) -> [String: String] {
      var headers = request.headers
      // The loader could not decode a part of an encoded body.
      if headers.contains("Range") && !headers.contains("Accept-Encoding") { headers["Accept-Encoding"] = "identity" }
      // Without a body, `Expect` has no meaning (RFC 9110 §10.1.1).
      if length == 0 { headers.remove("Expect") }
      var fields = headers.joined()
      if length > 0 { fields["Content-Length"] = String(length) }
      #if canImport(FoundationNetworking)
        // A single space removes a field that the loader would add; an empty value would be sent unchanged.
        var unwanted = ["Accept", "Accept-Language", "User-Agent", "Expect"]
        if request.method != .get && request.method != .head { unwanted.append("Content-Type") }
        for name in unwanted where !headers.contains(name) { fields[name] = " " }
        // With its own field the loader would send the body with the chunked coding, despite the length.
        if length > 0 { fields["Transfer-Encoding"] = " " }
      #endif
      return fields
    }
  }

  extension HTTPHeaders {
    /// The fields in the form that Foundation accepts: one line per name (RFC 9110 §5.3, RFC 6265bis §5.8.3).
    ///
    /// Fields with one name in different cases are one field, with the first spelling.
    func joined() -> [String: String] {
      var names: [String: String] = [:]
      var fields: [String: String] = [:]
      for field in self {
        let folded = FieldSyntax.lowercased(field.name)
        let name = names[folded, default: field.name]
        let value = String(FieldSyntax.trimmed(field.value))
        names[folded] = name
        fields[name] = fields[name].map { $0 + (folded == "cookie" ? "; " : ", ") + value } ?? value
      }
      return fields
    }
  }
#endif
