import Foundation
import Martlet

#if canImport(CryptoKit)
  import CryptoKit
#endif

/// Puts, gets and lists objects of S3 or of a compatible server: `S3 ENDPOINT put|get BUCKET/KEY FILE`.
///
/// The keys are in `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, for temporary keys, `AWS_SESSION_TOKEN`; the
/// region is in `AWS_REGION`.
@main
struct S3 {
  static func main() async {
    let environment = ProcessInfo.processInfo.environment.filter { !$0.value.isEmpty }
    var words = Array(CommandLine.arguments.dropFirst())
    guard words.count > 2, let endpoint = URL(string: words[0]), let host = endpoint.host(),
      let key = environment["AWS_ACCESS_KEY_ID"], let secret = environment["AWS_SECRET_ACCESS_KEY"],
      words.count == 4 || words[1] == "list"
    else {
      return end(2, "usage: S3 ENDPOINT put|get BUCKET/KEY FILE, or S3 ENDPOINT list BUCKET [PREFIX]; keys in AWS_…")
    }
    let signer = SigV4(
      host: host, region: environment["AWS_REGION"] ?? "us-east-1", key: key, secret: secret,
      token: environment["AWS_SESSION_TOKEN"])
    let client = HTTPClient { $0.exchangeMiddleware = [signer] }
    let place = RequestTarget("\(raw: words[0].hasSuffix("/") ? "\(words[0].dropLast())" : words[0])/\(path: words[2])")
    words.append("")
    do {
      switch words[1] {
      case "put": try await put(URL(filePath: words[3]), to: place, client)
      case "get": try await client.download(.get(place), to: URL(filePath: words[3]))
      case "list": try await list(place, prefix: words[3], client)
      default: end(2, "there is put, get and list, but not \(words[1])")
      }
    } catch {
      end(1, "\(error)")
    }
  }

  /// Uploads a file, which is read twice (once for its hash), and never completely into memory.
  static func put(_ file: URL, to place: RequestTarget, _ client: HTTPClient) async throws {
    let handle = try FileHandle(forReadingFrom: file)
    var hash = SHA256()
    while let piece = try handle.read(upToCount: 1 << 16), !piece.isEmpty { hash.update(data: piece) }
    try await client.put(place, headers: [SigV4.hashField: SigV4.hex(hash.finalize())], body: .file(file))
  }

  static func list(_ bucket: RequestTarget, prefix: String, _ client: HTTPClient) async throws {
    var page: String?
    repeat {
      let query: Query = ["list-type": 2, "prefix": prefix, "continuation-token": page]
      let answer = try await client.get(bucket, query: query).text
      for match in answer.matches(of: /<Key>([^<]*)<\/Key>/) { print(plain(match.1)) }
      page = answer.firstMatch(of: /<NextContinuationToken>([^<]*)</).map { plain($0.1) }
    } while page != nil
  }

  /// Replaces the entities in XML text.
  private static func plain(_ text: Substring) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&")]
      .reduce(String(text)) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
  }

  private static func end(_ status: Int32, _ message: String) {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    exit(status)
  }
}

/// Signs requests with AWS Signature Version 4 for S3.
///
/// As exchange middleware it runs last: it receives the request as it is sent, so a retry gets a new date. It cannot
/// read bodies, so callers must put the hash of a body into ``hashField``; otherwise the request is not signed.
struct SigV4: Middleware {
  static let hashField = "x-amz-content-sha256"

  /// The host for which the keys are valid.
  ///
  /// Requests redirected to another host are not signed.
  var host: String
  var region: String
  var key: String
  var secret: String
  var token: String?
  var now: @Sendable () -> Date = { Date() }

  func intercept(
    _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
  ) async throws -> StreamedResponse {
    guard request.url?.host()?.lowercased() == host.lowercased() else { return try await next(request) }
    return try await next(signed(request, at: now()))
  }

  func signed(_ request: HTTPRequest, at date: Date) -> HTTPRequest {
    let time = date.ISO8601Format(.init(dateSeparator: .omitted, timeSeparator: .omitted))
    let scope = "\(time.prefix(8))/\(region)/s3/aws4_request"
    var request = request
    request.headers["x-amz-date"] = time
    if let token { request.headers["x-amz-security-token"] = token }
    if !request.headers.contains(Self.hashField) {
      request.headers[Self.hashField] = request.body == nil ? Self.sha256("") : "UNSIGNED-PAYLOAD"
    }
    let (text, names) = canonical(request)
    var signature = Data("AWS4\(secret)".utf8)
    for word in scope.split(separator: "/") { signature = Self.hmac(signature, String(word)) }
    signature = Self.hmac(signature, "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(Self.sha256(text))")
    request.headers["Authorization"] =
      "AWS4-HMAC-SHA256 Credential=\(key)/\(scope), SignedHeaders=\(names), Signature=\(Self.hex(signature))"
    return request
  }

  /// Returns the text to sign and the names of the signed fields, which intermediaries have no reason to change.
  func canonical(_ request: HTTPRequest) -> (text: String, names: String) {
    guard let url = request.url, let parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
      return ("", "")
    }
    let isUsualPort = parts.port == nil || parts.port == (parts.scheme == "https" ? 443 : 80)
    var fields = ["host": (parts.encodedHost ?? "") + (isUsualPort ? "" : ":\(parts.port ?? 0)")]
    for field in request.headers {
      let name = field.name.lowercased()
      guard name.hasPrefix("x-amz-") || ["content-md5", "content-type", "date", "range"].contains(name) else {
        continue
      }
      let value = field.value.split(separator: " ").joined(separator: " ")
      fields[name] = fields[name].map { "\($0),\(value)" } ?? value
    }
    let names = fields.keys.sorted()
    let path = parts.percentEncodedPath.removingPercentEncoding ?? parts.percentEncodedPath
    let query = Query(parsing: parts.percentEncodedQuery ?? "")
      .map { [Self.encoded($0.name), Self.encoded($0.value ?? "")] }
      .sorted { $0.lexicographicallyPrecedes($1) }.map { $0.joined(separator: "=") }.joined(separator: "&")
    let lines =
      [request.method.rawValue, path.isEmpty ? "/" : Self.encoded(path, and: "/"), query]
      + names.map { "\($0):\(fields[$0] ?? "")" }
      + ["", names.joined(separator: ";"), request.headers[Self.hashField] ?? ""]
    return (lines.joined(separator: "\n"), names.joined(separator: ";"))
  }

  private static func encoded(_ text: String, and more: String = "") -> String {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    return text.addingPercentEncoding(withAllowedCharacters: CharacterSet(charactersIn: letters + more)) ?? text
  }

  static func sha256(_ text: String) -> String { hex(SHA256.hash(data: Data(text.utf8))) }

  static func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// HMAC-SHA-256 (RFC 2104).
  static func hmac(_ key: Data, _ text: String) -> Data {
    let key = key.count > 64 ? Data(SHA256.hash(data: key)) : key
    let block = [UInt8](key) + [UInt8](repeating: 0, count: 64 - key.count)
    let inner = Data(SHA256.hash(data: Data(block.map { $0 ^ 0x36 }) + Data(text.utf8)))
    return Data(SHA256.hash(data: Data(block.map { $0 ^ 0x5C }) + inner))
  }
}

#if !canImport(CryptoKit)
  /// SHA-256 (FIPS 180-4), with CryptoKit's names.
  ///
  /// Its constants are the first 32 bits of the fractional parts of roots of the first primes.
  struct SHA256 {
    private static let primes = (2...311).filter { number in !(2..<number).contains { number % $0 == 0 } }
    private static let constants = primes.map { bits(cbrt(Double($0))) }
    private static func bits(_ root: Double) -> UInt32 { UInt32((root - root.rounded(.down)) * 4_294_967_296) }

    private var state = primes.prefix(8).map { bits(Double($0).squareRoot()) }
    private var rest: [UInt8] = []
    private var count: UInt64 = 0

    static func hash(data: Data) -> [UInt8] {
      var hash = SHA256()
      hash.update(data: data)
      return hash.finalize()
    }

    mutating func update(data: Data) {
      count += UInt64(data.count)
      rest += data
      var start = 0
      while rest.count - start >= 64 {
        mix(rest[start..<(start + 64)])
        start += 64
      }
      rest.removeFirst(start)
    }

    func finalize() -> [UInt8] {
      var last = self
      last.update(data: Data([0x80] + [UInt8](repeating: 0, count: (119 - rest.count) % 64)))
      last.update(data: Data((0..<8).map { UInt8(truncatingIfNeeded: (count * 8) >> (56 - 8 * UInt64($0))) }))
      return last.state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * UInt32($0))) } }
    }

    private mutating func mix(_ block: ArraySlice<UInt8>) {
      func turn(_ word: UInt32, _ by: UInt32) -> UInt32 { word >> by | word << (32 - by) }
      var words = [UInt32](repeating: 0, count: 64)
      for (index, byte) in block.enumerated() { words[index / 4] = words[index / 4] << 8 | UInt32(byte) }
      for index in 16..<64 {
        let (far, near) = (words[index - 15], words[index - 2])
        let first = turn(far, 7) ^ turn(far, 18) ^ far >> 3
        let second = turn(near, 17) ^ turn(near, 19) ^ near >> 10
        words[index] = words[index - 16] &+ first &+ words[index - 7] &+ second
      }
      var s = state
      for index in 0..<64 {
        let choice = (s[4] & s[5]) ^ (~s[4] & s[6])
        let up = turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)
        let first = s[7] &+ up &+ choice &+ Self.constants[index] &+ words[index]
        let majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2])
        let second = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) &+ majority
        s.removeLast()
        s[3] &+= first
        s.insert(first &+ second, at: 0)
      }
      for index in 0..<8 { state[index] &+= s[index] }
    }
  }
#endif
