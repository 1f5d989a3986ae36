import Martlet
import MartletBase

/// The region and the service for which a signature is valid, with its key.
struct SigningScope: Sendable {
  static let algorithm = "AWS4-HMAC-SHA256"

  /// The services that encode paths once, and expect the digest of the body in a field.
  private static let storage: Set<String> = ["s3", "s3express", "s3-object-lambda", "s3-outposts"]

  let region: String
  let service: String

  /// Whether the service is S3 or one of its variants.
  var isStorage: Bool { Self.storage.contains(service) }

  /// The problem with the region or the service, if any.
  var problem: String? {
    for (name, value) in [("region", region), ("service", service)] where !Self.isWord(value) {
      return "the \(name) of SigV4 is '\(Printable.text(value))'; write a name such as 'us-east-1' or 's3'"
    }
    return nil
  }

  /// Whether a text can be a part of the scope: visible ASCII without the characters that separate parts.
  static func isWord(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ",") }
  }

  /// A date as in `20130524T000000Z`, in the years 0000 to 9999.
  static func time(_ date: Date) -> String {
    HTTPDate(date).date.ISO8601Format(.init(dateSeparator: .omitted, timeSeparator: .omitted))
  }

  func text(at time: String) -> String { "\(time.prefix(8))/\(region)/\(service)/aws4_request" }

  /// Returns the signature of a canonical request.
  func signature(of canonical: String, at time: String, key: String) -> String {
    let scope = text(at: time)
    let day = scope.split(separator: "/").reduce(Array("AWS4\(key)".utf8)) { Self.hmac($0, String($1)) }
    let digest = SHA2.sha256(Array(canonical.utf8)).hexadecimal
    return Self.hmac(day, "\(Self.algorithm)\n\(time)\n\(scope)\n\(digest)").hexadecimal
  }

  /// HMAC-SHA-256 (RFC 2104).
  static func hmac(_ key: [UInt8], _ text: String) -> [UInt8] {
    let key = key.count > 64 ? SHA2.sha256(key) : key
    let block = key + [UInt8](repeating: 0, count: 64 - key.count)
    return SHA2.sha256(block.map { $0 ^ 0x5C } + SHA2.sha256(block.map { $0 ^ 0x36 } + Array(text.utf8)))
  }
}
