import Foundation
import Martlet
import MartletSigV4

/// Puts, gets and lists objects of S3 or of a compatible server: `S3 ENDPOINT put|get BUCKET/KEY FILE`.
///
/// `S3 ENDPOINT link BUCKET/KEY SECONDS` prints a URL with which anyone can get an object for that time.
///
/// The keys are in `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, for temporary keys, `AWS_SESSION_TOKEN`; the
/// region is in `AWS_REGION`.
@main
struct S3 {
  static func main() async {
    let environment = ProcessInfo.processInfo.environment.filter { !$0.value.isEmpty }
    var words = Array(CommandLine.arguments.dropFirst())
    guard words.count > 2, URL(string: words[0])?.host() != nil,
      let key = environment["AWS_ACCESS_KEY_ID"], let secret = environment["AWS_SECRET_ACCESS_KEY"],
      words.count == 4 || words[1] == "list"
    else {
      return end(
        2,
        "usage: S3 ENDPOINT put|get BUCKET/KEY FILE, S3 ENDPOINT link BUCKET/KEY SECONDS, "
          + "or S3 ENDPOINT list BUCKET [PREFIX]; keys in AWS_…")
    }
    let signer = SigV4(
      .origin(words[0]), region: environment["AWS_REGION"] ?? "us-east-1", service: "s3",
      credentials: .init(
        accessKeyID: key, secretAccessKey: secret, sessionToken: environment["AWS_SESSION_TOKEN"]))
    let client = HTTPClient { $0.exchangeMiddleware = [signer] }
    let place = RequestTarget("\(raw: words[0].hasSuffix("/") ? "\(words[0].dropLast())" : words[0])/\(path: words[2])")
    words.append("")
    do {
      switch words[1] {
      case "put": try await client.put(place, body: .file(URL(filePath: words[3])))
      case "get": try await client.download(.get(place), to: URL(filePath: words[3]))
      case "link": print(try await signer.presigned(.get(place), for: .seconds(Int(words[3]) ?? 0)))
      case "list": try await list(place, prefix: words[3], client)
      default: end(2, "there is put, get, link and list, but not \(words[1])")
      }
    } catch {
      end(1, "\(error)")
    }
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
