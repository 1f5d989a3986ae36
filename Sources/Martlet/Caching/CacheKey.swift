/// The key of a stored response.
///
/// Each URL has one key with an empty detail; its record lists the other keys of the URL. The detail of the others has
/// the owner and the request fields that selected the response.
struct CacheKey: Sendable, Hashable {
  /// The normalized URL, without userinfo and fragment.
  var url: String
  /// The part that distinguishes keys of the same URL; empty for the first.
  var detail = ""

  /// A name that does not reveal the URL: 40 hexadecimal digits of a SHA-256.
  var digest: String {
    SHA256Stream.text(SHA2.sha256(Array("\(url)\n\(detail)".utf8)).prefix(20))
  }
}
