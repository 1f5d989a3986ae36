#if os(Linux)
  import CMartletShim

  /// The trailers of one exchange on their way to libcurl, which asks for them as soon as it knows of the body's end.
  final class CurlTrailers: Sendable {
    private let source: TrailerSource
    private let fields = Locked<HTTPHeaders>([:])

    init(_ source: TrailerSource) { self.source = source }

    /// Makes the fields; to be called after the last bytes of the body, and before its end is told.
    func make() async throws {
      let made = try await source.fields()
      fields.withLock { $0 = made }
    }

    private static let ask: martlet_curl_trailers = { list, pointer in
      guard let list, let pointer, let trailers = CurlCallbacks.handle(pointer).transfer?.upload?.trailers else {
        return 1  // CURL_TRAILERFUNC_ABORT
      }
      for field in trailers.fields.withLock({ $0 }) {
        // libcurl leaves out what has no blank there.
        guard let longer = martlet_list_append(list.pointee, "\(field.name): \(FieldSyntax.trimmed(field.value))")
        else {
          return 1
        }
        list.pointee = longer
      }
      return 0  // CURL_TRAILERFUNC_OK
    }

    /// Has libcurl ask for the trailers of a handle's transfer when its body has ended.
    ///
    /// - Returns: libcurl's code.
    static func prepare(_ handle: CurlHandle) -> CInt {
      martlet_easy_set_trailers(handle.easy, ask, Unmanaged.passUnretained(handle).toOpaque())
    }
  }

  extension CurlRouter {
    /// Has a request with trailers sent over HTTP/1.1: over HTTP/2 libcurl would leave them out.
    func prepareForTrailers(_ route: inout CurlRoute, _ wire: CurlRequest) throws {
      guard route.version == .automatic || route.version == .http1_1 else {
        throw HTTPError(
          .unsupported, "libcurl sends trailers of requests over HTTP/1.1 only: leave httpVersion at .automatic",
          request: wire.request)
      }
      route.version = .http1_1
    }
  }
#endif
