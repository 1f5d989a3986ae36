public import Foundation
public import Martlet

extension HTTPRequest {
  /// The bytes of the request's body; empty without a body.
  ///
  /// For closures of ``StubTransport`` and for ``StubTransport/requests``. A stream that can be read only once is
  /// consumed.
  ///
  /// - Parameter limit: The maximum number of bytes; 64 MiB by default. A larger body throws
  ///   `HTTPError.Kind.bodyTooLarge`.
  /// - Returns: The bytes.
  /// - Throws: `HTTPError`, an error from a stream, or `CancellationError`.
  public func bodyData(upTo limit: Int = 64 << 20) async throws -> Data {
    guard let body else { return Data() }
    var bytes = Data()
    try await body.source(for: self).send { piece in
      guard piece.count <= limit - bytes.count else {
        throw HTTPError(.bodyTooLarge, "the request body exceeds \(limit) bytes")
      }
      bytes += piece
    }
    return bytes
  }

  /// The trailer fields of the request (`HTTPBody.withTrailers`); none without a body.
  ///
  /// For closures of ``StubTransport`` and for ``StubTransport/requests``.
  ///
  /// - Returns: The fields.
  /// - Throws: `HTTPError`, or an error from the closure that creates them.
  public func bodyTrailers() async throws -> HTTPHeaders { try await body?.trailers?.fields() ?? [:] }
}
