/// What a stored response is found by.
///
/// One URL has one key without a detail, under which stands what else is stored for it. Everything else has a detail:
/// who asked, and the request's fields that the response was chosen by.
struct CacheKey: Sendable, Hashable {
  /// The URL without userinfo and fragment, normalised.
  let url: String
  /// What sets it apart from the others of the same URL; empty for the first.
  let detail: String

  init(url: String, detail: String = "") {
    self.url = url
    self.detail = detail
  }

  /// A name that tells nothing of the URL: 40 hexadecimal digits of a SHA-256.
  var digest: String {
    let hash = SHA2.sha256(Array("\(url)\n\(detail)".utf8)).prefix(20)
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: hash.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
