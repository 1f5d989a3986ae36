/// The key of a stored response.
///
/// Each URL has one key with an empty detail; its record lists the other keys of the URL. The detail of the others has
/// the owner and the request fields that selected the response.
struct CacheKey: Sendable, Hashable {
  /// The normalized URL, without userinfo and fragment.
  let url: String
  /// The part that distinguishes keys of the same URL; empty for the first.
  let detail: String

  init(url: String, detail: String = "") {
    self.url = url
    self.detail = detail
  }

  /// A name that does not reveal the URL: 40 hexadecimal digits of a SHA-256.
  var digest: String {
    let hash = SHA2.sha256(Array("\(url)\n\(detail)".utf8)).prefix(20)
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: hash.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
