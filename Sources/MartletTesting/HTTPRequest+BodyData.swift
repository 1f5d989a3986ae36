public import Foundation
public import Martlet

extension HTTPRequest {
  /// The bytes of its body; none if it has no body.
  ///
  /// For closures of ``StubTransport`` and for ``StubTransport/requests``. A stream that can be read only once is read by
  /// that.
  ///
  /// - Parameter limit: The most bytes; 64 MiB by default. More throw `HTTPError.Kind.bodyTooLarge`.
  /// - Returns: The bytes.
  /// - Throws: `HTTPError`, or what a stream throws.
  public func bodyData(upTo limit: Int = 64 << 20) async throws -> Data {
    guard let body else { return Data() }
    var bytes = Data()
    try await body.source(for: self).send { piece in
      guard piece.count <= limit - bytes.count else {
        throw HTTPError(.bodyTooLarge, "the body of the request has more than \(limit) bytes")
      }
      bytes += piece
    }
    return bytes
  }

  /// The fields that follow its body (`HTTPBody.withTrailers`); none if it has no body.
  ///
  /// For closures of ``StubTransport`` and for ``StubTransport/requests``.
  ///
  /// - Returns: The fields.
  /// - Throws: `HTTPError`, or what making them throws.
  public func bodyTrailers() async throws -> HTTPHeaders { try await body?.trailers?.fields() ?? [:] }
}
