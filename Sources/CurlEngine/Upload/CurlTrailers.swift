import MartletBase
import CMartletShim

/// The trailers of one request, which libcurl requests at the end of the body.
package final class CurlTrailers: Sendable {
  /// A name, and a value as ``WireText``.
  package typealias Field = (name: String, value: String)

  private let source: @Sendable () async throws -> [Field]
  private let fields = Locked<[Field]>([])

  package init(_ source: @escaping @Sendable () async throws -> [Field]) { self.source = source }

  /// Creates the fields.
  ///
  /// Call it after the last bytes of the body, and before its end is reported.
  func make() async throws {
    let made = try await source()
    fields.withLock { $0 = made }
  }

  private static let ask: martlet_curl_trailers = { list, pointer in
    guard let list, let pointer, let trailers = CurlCallbacks.handle(pointer, { $0.transfer?.upload?.trailers }) else {
      return 1  // CURL_TRAILERFUNC_ABORT
    }
    for field in trailers.fields.withLock({ $0 }) {
      // libcurl omits a line without a space there.
      let line = "\(field.name): \(FieldSyntax.trimmed(field.value))"
      guard let longer = CurlHandle.append(line, to: list.pointee) else { return 1 }
      list.pointee = longer
    }
    return 0  // CURL_TRAILERFUNC_OK
  }

  /// Registers the trailers of a handle's transfer; returns libcurl's code.
  static func prepare(_ handle: CurlHandle) -> CInt {
    martlet_easy_set_trailers(handle.easy, ask, Unmanaged.passUnretained(handle).toOpaque())
  }
}
