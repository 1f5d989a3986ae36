public import Martlet
public import MartletBase

extension SigV4 {
  /// Returns a URL that anyone can use for one request until it expires.
  ///
  /// ```swift
  /// let link = try await signer.presigned(.get("https://bucket.s3.eu-central-1.amazonaws.com/\(path: key)"))
  /// ```
  ///
  /// The signature covers the method, the path, the query and the header fields that ``SigV4`` signs, which the later
  /// request must repeat. For S3 it does not cover the body; for other services it covers an empty one. A request with
  /// its own `X-Amz-Content-Sha256` field is signed with that value. A session token is part of the URL, which ends with
  /// the temporary credentials. The URL is a secret.
  ///
  /// - Parameters:
  ///   - request: The request, with a full URL of one of the origins; its body is ignored. `.baseURL` matches no URL
  ///     without a client.
  ///   - duration: The time until the URL expires, from 1 s to 7 days; 15 minutes by default. Fractions of a second
  ///     are dropped.
  ///   - date: The date of the signature; now by default.
  /// - Returns: The URL.
  /// - Throws: `HTTPError.Kind.invalidRequest` for a relative, invalid or foreign URL, a duration outside its range,
  ///   and an invalid region, service or credential; the error of the credentials' source.
  public func presigned(
    _ request: HTTPRequest, for duration: Duration = .seconds(900), at date: Date = Date()
  ) async throws -> URL {
    guard let url = request.absoluteURL else { throw Self.incomplete }
    guard try matches(url, base: nil) else {
      let remedy = origins == .baseURL ? "replace .baseURL with .origin(_:)" : "add its server to the pattern"
      throw HTTPError(.invalidRequest, "the presigned URL is not at an origin of SigV4: \(remedy)")
    }
    guard duration >= .seconds(1), duration <= .seconds(604_800) else {
      throw HTTPError(
        .invalidRequest, "the duration of the presigned URL is \(duration); it must be from 1 s to 7 days")
    }
    guard !CanonicalRequest.isPresigned(url) else {
      throw HTTPError(.invalidRequest, "the URL is already presigned: pass the URL without X-Amz-Signature")
    }
    let credentials = try await current()
    let time = SigningScope.time(date)
    let digest =
      request.headers["X-Amz-Content-Sha256"]
      ?? (scope.isStorage ? Self.unsignedBody : SHA2.sha256([]).hexadecimal)
    let names = CanonicalRequest(request, url, query: [], digest: digest, scope, additionalFields: additionalFields)
      .names
    var added: Query = [
      "X-Amz-Algorithm": SigningScope.algorithm,
      "X-Amz-Credential": "\(credentials.accessKeyID)/\(scope.text(at: time))",
      "X-Amz-Date": time,
      "X-Amz-Expires": duration.components.seconds,
      "X-Amz-Security-Token": credentials.sessionToken,
      "X-Amz-SignedHeaders": names,
    ]
    let canonical = CanonicalRequest(
      request, url, query: CanonicalRequest.items(of: url.query) + CanonicalRequest.items(of: added.encoded),
      digest: digest, scope, additionalFields: additionalFields)
    added.append(
      "X-Amz-Signature", scope.signature(of: canonical.text, at: time, key: credentials.secretAccessKey))
    do throws(InvalidInput) {
      return try url.adding(added).url
    } catch {
      throw HTTPError(.invalidRequest, error.message)
    }
  }
}
