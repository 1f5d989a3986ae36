#if canImport(Darwin) || URLSession
  public import Foundation

  #if canImport(FoundationNetworking)
    public import FoundationNetworking
  #endif

  /// For code written for `URLSession`. The client's policies apply; as with `URLSession`, no status is an error.
  extension HTTPClient {
    /// Sends a `URLRequest`, like `URLSession.data(for:)`.
    ///
    /// - Parameters:
    ///   - request: The request; see ``HTTPRequest/init(_:options:)`` for its properties.
    ///   - options: Per-request options, which override those of the `URLRequest`.
    /// - Returns: The body and the response.
    /// - Throws: ``HTTPError``, `CancellationError`, or an error from middleware.
    public nonisolated func data(
      for request: URLRequest, options: RequestOptions = RequestOptions()
    ) async throws -> (Data, HTTPURLResponse) {
      let (request, options) = try request.converted(options)
      let response = try await send(request, options: options)
      return (response.body, try .made(from: response))
    }

    /// Sends a `URLRequest` with a body, like `URLSession.upload(for:from:)`.
    ///
    /// - Parameters:
    ///   - request: The request, whose own body is ignored.
    ///   - body: The bytes of the body.
    ///   - options: Per-request options, which override those of the `URLRequest`.
    /// - Returns: The body of the response, and the response.
    /// - Throws: The errors of ``data(for:options:)``.
    public nonisolated func upload(
      for request: URLRequest, from body: Data, options: RequestOptions = RequestOptions()
    ) async throws -> (Data, HTTPURLResponse) {
      try await upload(request, .data(body, contentType: nil), options)
    }

    /// Sends a `URLRequest` with the contents of a file, like `URLSession.upload(for:fromFile:)`.
    ///
    /// - Parameters:
    ///   - request: The request, whose own body is ignored.
    ///   - file: The file.
    ///   - options: Per-request options, which override those of the `URLRequest`.
    /// - Returns: The body of the response, and the response.
    /// - Throws: The errors of ``data(for:options:)``, and ``HTTPError/Kind/fileFailed``.
    public nonisolated func upload(
      for request: URLRequest, fromFile file: URL, options: RequestOptions = RequestOptions()
    ) async throws -> (Data, HTTPURLResponse) {
      try await upload(request, .file(file, contentType: nil), options)
    }

    private nonisolated func upload(
      _ request: URLRequest, _ body: HTTPBody, _ options: RequestOptions
    ) async throws -> (Data, HTTPURLResponse) {
      var request = request
      (request.httpBody, request.httpBodyStream) = (nil, nil)
      var (converted, options) = try request.converted(options)
      converted.body = body
      let response = try await send(converted, options: options)
      return (response.body, try .made(from: response))
    }

    /// Sends a `URLRequest` and returns while the body is still arriving, like `URLSession.bytes(for:)`.
    ///
    /// ``ResponseBody`` delivers the bytes in chunks; ``ResponseBody/lines`` is the sequence of its lines. See
    /// ``stream(_:options:)-(HTTPRequest,_)`` for the end of the request.
    ///
    /// - Parameters:
    ///   - request: The request; see ``HTTPRequest/init(_:options:)`` for its properties.
    ///   - options: Per-request options, which override those of the `URLRequest`.
    /// - Returns: The body and the response.
    /// - Throws: The errors of ``data(for:options:)``.
    public nonisolated func bytes(
      for request: URLRequest, options: RequestOptions = RequestOptions()
    ) async throws -> (ResponseBody, HTTPURLResponse) {
      let (request, options) = try request.converted(options)
      let response = try await stream(request, options: options)
      return (response.body, try .made(from: response.whole(Data(), asked: request, coders: nil)))
    }

    /// Downloads the response to a `URLRequest` to a file, like `URLSession.download(for:)`.
    ///
    /// - Parameters:
    ///   - request: The request; see ``HTTPRequest/init(_:options:)`` for its properties.
    ///   - options: Per-request options, which override those of the `URLRequest`.
    /// - Returns: A private file in the temporary folder, which the caller moves or removes, and the response.
    /// - Throws: The errors of ``download(_:to:options:progress:)-(HTTPRequest,_,_,_)``. Unlike with `URLSession`, a
    ///   status other than 2xx throws.
    public nonisolated func download(
      for request: URLRequest, options: RequestOptions = RequestOptions()
    ) async throws -> (URL, HTTPURLResponse) {
      let (request, options) = try request.converted(options)
      let file = try await download(request, options: DownloadOptions { $0.request = options })
      return (file.url, try .made(from: file.response))
    }
  }

  extension HTTPRequest {
    /// Creates a request from a `URLRequest`: method, URL, header fields and body.
    ///
    /// - Parameter request: The request. A property that needs options (see ``init(_:options:)``) must have its default.
    /// - Throws: ``HTTPError/Kind/invalidRequest`` for a missing URL, a body stream, or a property that needs options.
    ///   The errors of ``init(_:options:)``.
    public init(_ request: URLRequest) throws {
      var options = RequestOptions()
      try self.init(request, options: &options)
      guard options.isEmpty else {
        let names = request.customized.joined(separator: ", ")
        throw HTTPError(.invalidRequest, "the URLRequest has options (\(names)): use HTTPRequest(_:options:)")
      }
    }

    /// Creates a request and its options from a `URLRequest`.
    ///
    /// | Property | Becomes |
    /// |---|---|
    /// | `url`, `httpMethod`, `allHTTPHeaderFields`, `httpBody` | the request |
    /// | `cachePolicy` | ``RequestOptions/cache``; the policy that bypasses remote caches adds `Cache-Control: no-cache`
    /// |
    /// | `timeoutInterval` | ``TimeoutPolicy/connect`` and ``TimeoutPolicy/idle``, unless it is the default of 60 s |
    /// | `httpShouldHandleCookies` | `false` is ``CookiePolicy/off`` |
    ///
    /// A body stream cannot be sent twice. `mainDocumentURL`, `networkServiceType`, `allowsCellularAccess`,
    /// `httpShouldUsePipelining`, and all properties that `URLRequest` has only on Apple platforms, such as
    /// `requiresDNSSECValidation`, have no equivalent for one request. Each of them throws unless it has its default.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - options: Receives the options of the `URLRequest`; other options are unchanged.
    /// - Throws: ``HTTPError/Kind/invalidRequest`` for a missing URL or a body stream, ``HTTPError/Kind/unsupported`` for
    ///   another property, which the message names.
    public init(_ request: URLRequest, options: inout RequestOptions) throws {
      guard let url = request.url else { throw HTTPError(.invalidRequest, "the URLRequest has no URL") }
      guard request.httpBodyStream == nil else {
        throw HTTPError(
          .invalidRequest, "httpBodyStream of the URLRequest cannot be sent twice: use HTTPBody.stream or httpBody")
      }
      if let name = request.unsupported.first {
        throw HTTPError(.unsupported, "\(name) of the URLRequest has no equivalent for one request: leave its default")
      }
      self.init(HTTPMethod(request.httpMethod ?? "GET"), RequestTarget(url))
      for (name, value) in request.allHTTPHeaderFields ?? [:] { headers[name] = value }
      body = request.httpBody.map { HTTPBody.data($0, contentType: nil) }
      if let policy = request.martletCachePolicy { options.cache = policy }
      let bypassesRemoteCaches = request.cachePolicy == .reloadIgnoringLocalAndRemoteCacheData
      if bypassesRemoteCaches, !headers.contains("Cache-Control") { headers["Cache-Control"] = "no-cache" }
      if let limit = request.limit {
        (options.timeout.connect, options.timeout.idle, options.timeout.firstByte) = (limit, limit, nil)
      }
      if !request.httpShouldHandleCookies { options.cookies = .off }
    }
  }

  extension URLRequest {
    /// The interval of a new request, which counts as unset.
    private static let defaultInterval: TimeInterval = 60

    /// The request, and its options below the given ones.
    fileprivate func converted(_ above: RequestOptions) throws -> (HTTPRequest, RequestOptions) {
      var own = RequestOptions()
      let request = try HTTPRequest(self, options: &own)
      return (request, above.over(own).over(.accepts(.any)))
    }

    /// The properties that become options, and differ from their defaults.
    fileprivate var customized: [String] {
      [
        (martletCachePolicy != nil, "cachePolicy"), (limit != nil, "timeoutInterval"),
        (!httpShouldHandleCookies, "httpShouldHandleCookies"),
      ].compactMap { $0.0 ? $0.1 : nil }
    }

    /// The properties without an equivalent that differ from their defaults.
    fileprivate var unsupported: [String] {
      // The defaults differ between platforms: on Linux, a new request uses pipelining.
      let new = url.map { URLRequest(url: $0) } ?? self
      var properties = [
        (mainDocumentURL != new.mainDocumentURL, "mainDocumentURL"),
        (networkServiceType != new.networkServiceType, "networkServiceType"),
        (allowsCellularAccess != new.allowsCellularAccess, "allowsCellularAccess"),
        ((self as any Pipelining).usesPipelining != (new as any Pipelining).usesPipelining, "httpShouldUsePipelining"),
      ]
      #if canImport(Darwin)
        properties += [
          (allowsExpensiveNetworkAccess != new.allowsExpensiveNetworkAccess, "allowsExpensiveNetworkAccess"),
          (allowsConstrainedNetworkAccess != new.allowsConstrainedNetworkAccess, "allowsConstrainedNetworkAccess"),
          (assumesHTTP3Capable != new.assumesHTTP3Capable, "assumesHTTP3Capable"),
          (attribution != new.attribution, "attribution"),
          (requiresDNSSECValidation != new.requiresDNSSECValidation, "requiresDNSSECValidation"),
          (allowsPersistentDNS != new.allowsPersistentDNS, "allowsPersistentDNS"),
        ]
        if #available(macOS 15.2, iOS 18.2, tvOS 18.2, watchOS 11.2, visionOS 2.2, *) {
          properties.append((cookiePartitionIdentifier != nil, "cookiePartitionIdentifier"))
        }
        if #available(macOS 26.1, iOS 26.1, tvOS 26.1, watchOS 26.1, visionOS 26.1, *) {
          let isChanged = allowsUltraConstrainedNetworkAccess != new.allowsUltraConstrainedNetworkAccess
          properties.append((isChanged, "allowsUltraConstrainedNetworkAccess"))
        }
      #endif
      return properties.compactMap { $0.0 ? $0.1 : nil }
    }

    fileprivate var martletCachePolicy: Martlet.CachePolicy? {
      switch cachePolicy {
      case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: .neverRead
      case .returnCacheDataElseLoad: .preferCached
      case .returnCacheDataDontLoad: .onlyCached
      case .reloadRevalidatingCacheData: .alwaysRevalidate
      default: nil
      }
    }

    /// The time limit, at least 1 ms and at most 30 years; `nil` for the default.
    fileprivate var limit: Duration? {
      guard timeoutInterval > 0, timeoutInterval != Self.defaultInterval else { return nil }
      return .milliseconds(Int64(min(max(timeoutInterval, 0.001), 1e9) * 1000))
    }
  }

  extension HTTPURLResponse {
    fileprivate static func made(from response: HTTPResponse) throws -> HTTPURLResponse {
      let made = HTTPURLResponse(
        url: response.url, statusCode: response.status.rawValue,
        httpVersion: response.httpVersion.map { "HTTP/\($0)" }, headerFields: response.headers.joined())
      guard let made else { throw HTTPError(.protocolViolation, "the response cannot be a HTTPURLResponse") }
      return made
    }
  }

  /// Reads a deprecated property without a warning.
  private protocol Pipelining {
    var usesPipelining: Bool { get }
  }

  extension URLRequest: Pipelining {
    @available(*, deprecated) fileprivate var usesPipelining: Bool { httpShouldUsePipelining }
  }
#endif
