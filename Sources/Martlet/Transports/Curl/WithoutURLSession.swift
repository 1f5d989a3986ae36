#if !canImport(Darwin) && !URLSession
  public import MartletBase

  // These declarations report the missing trait when a program is compiled.

  @available(*, unavailable, message: "enable the trait 'URLSession' of the package Martlet, or use CurlTransport")
  public struct URLSessionTransport: Transport {
    @nonexhaustive public enum Loader: Sendable, Hashable {
      case automatic, engine, system
    }

    public init(loader: Loader = .automatic) {}

    public func prepared(for settings: TransportSettings) -> any Transport { CurlTransport() }

    public func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      try await CurlTransport().send(request, context: context)
    }
  }

  @available(*, unavailable, message: "enable the trait 'URLSession' of the package Martlet, or use '.curl'")
  extension Transport where Self == CurlTransport {
    public static var urlSession: CurlTransport { .curl }
    public static func urlSession(loader: Any) -> CurlTransport { .curl }
  }

  @available(*, unavailable, message: "enable the trait 'URLSession' of the package Martlet, or send an HTTPRequest")
  extension HTTPClient {
    public nonisolated func data<Request>(
      for request: Request, options: RequestOptions = RequestOptions()
    ) async throws -> (Data, Data) { (Data(), Data()) }

    public nonisolated func upload<Request>(
      for request: Request, from body: Data, options: RequestOptions = RequestOptions()
    ) async throws -> (Data, Data) { (Data(), Data()) }

    public nonisolated func upload<Request>(
      for request: Request, fromFile file: URL, options: RequestOptions = RequestOptions()
    ) async throws -> (Data, Data) { (Data(), Data()) }

    public nonisolated func bytes<Request>(
      for request: Request, options: RequestOptions = RequestOptions()
    ) async throws -> (ResponseBody, Data) { (ResponseBody(Data()), Data()) }

    public nonisolated func download<Request>(
      for request: Request, options: RequestOptions = RequestOptions()
    ) async throws -> (URL, Data) { (URL(filePath: "/"), Data()) }
  }

  @available(*, unavailable, message: "enable the trait 'URLSession' of the package Martlet, or use 'progress'")
  extension RequestHandle {
    public var foundationProgress: Any { progress }
  }
#endif
