public import MartletBase

// Names that users of other libraries write first. The compiler's error is the name to write instead.

extension HTTPClient {
  @available(*, unavailable, message: "write send(.get(url)), or a verb: get(url), post(url, body:)")
  public nonisolated func request(
    _ target: Any, method: Any? = nil, parameters: Any? = nil, headers: Any? = nil
  ) -> HTTPResponse { HTTPResponse(status: 501) }

  @available(*, unavailable, message: "write send(.get(url), options: .timeout(.seconds(30)))")
  public nonisolated func execute(_ request: Any, timeout: Duration? = nil) async throws -> HTTPResponse {
    HTTPResponse(status: 501)
  }

  @available(*, unavailable, message: "write get(url); the bytes are response.body")
  public nonisolated func data(from url: URL) async throws -> (Data, HTTPResponse) {
    (Data(), HTTPResponse(status: 501))
  }

  @available(*, unavailable, message: "write stream(url); the bytes are response.body")
  public nonisolated func bytes(from url: URL) async throws -> (ResponseBody, HTTPResponse) {
    (ResponseBody(), HTTPResponse(status: 501))
  }

  @available(*, unavailable, message: "write download(url, to: file)")
  public nonisolated func download(from url: URL) async throws -> (URL, HTTPResponse) {
    (url, HTTPResponse(status: 501))
  }

  @available(*, unavailable, message: "write post(url, body: .data(data)), or put")
  public nonisolated func upload(for request: Any, from data: Data) async throws -> (Data, HTTPResponse) {
    (data, HTTPResponse(status: 501))
  }

  @available(*, unavailable, message: "a client needs no shutdown; drain(timeout:) completes running requests")
  public nonisolated func shutdown() async throws {}

  @available(*, unavailable, message: "a client needs no shutdown; drain(timeout:) completes running requests")
  public nonisolated func syncShutdown() throws {}
}

extension HTTPResponse {
  @available(*, unavailable, renamed: "body")
  public var data: Data { body }

  @available(*, unavailable, renamed: "status.rawValue")
  public var statusCode: Int { status.rawValue }

  @available(*, unavailable, message: "write headers[name]")
  public func value(forHTTPHeaderField name: String) -> String? { headers[name] }

  @available(*, unavailable, message: "write json(type)")
  public func decode<T: Decodable>(_ type: T.Type) throws -> T { try json(type) }
}

extension HTTPRequest {
  @available(*, unavailable, message: "write HTTPRequest(.get, url), or .get(url)")
  public init(url: Any, method: Any? = nil) { self.init(.get, "") }

  @available(*, unavailable, message: "write headers[name] = value")
  public mutating func setValue(_ value: String?, forHTTPHeaderField name: String) { headers[name] = value }

  @available(*, unavailable, renamed: "method")
  public var httpMethod: String? {
    get { method.rawValue }
    set { _ = newValue }
  }

  @available(*, unavailable, message: "write body = .data(data)")
  public var httpBody: Data? {
    get { nil }
    set { _ = newValue }
  }
}

extension HTTPHeaders {
  @available(*, unavailable, message: "write append(value, for: name), or headers[name] = value to replace")
  public mutating func add(name: String, value: String) { append(value, for: name) }

  @available(*, unavailable, message: "write a dictionary literal, whose names can repeat, or a list of Field")
  public init(_ pairs: [(String, String)]) { self.init() }
}

extension HTTPBody {
  @available(*, unavailable, renamed: "text(_:)")
  public static func string(_ text: String) -> HTTPBody { .text(text) }

  @available(*, unavailable, message: "write .data(Data(bytes))")
  public static func bytes(_ bytes: [UInt8]) -> HTTPBody { .data(Data(bytes)) }
}

extension RequestOptions {
  @available(*, unavailable, message: "write .timeout(.seconds(30))")
  public static func timeout(_ seconds: Double) -> RequestOptions { RequestOptions() }
}

extension TimeoutPolicy {
  @available(*, unavailable, message: "write timeout.total = .seconds(20)")
  public static func seconds(_ seconds: Double) -> TimeoutPolicy { TimeoutPolicy() }
}
